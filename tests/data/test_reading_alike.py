"""RELIABILITY B5: every command reads the same table alike, in every format and column form.

No model is trained: what the readers of each command yield is compared.
"""

import csv
import io
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest

from seqloom.cli.commands.look import InputOptions
from seqloom.config import ColumnsConfig, DataConfig, split_column
from seqloom.data import InputFile, Report, input_cells, read_rows
from seqloom.fields import ColumnsField
from seqloom.serving.inputs import texts
from seqloom.surveys import survey
from seqloom.tasks import task_of
from tests.counts import count
from tests.prediction.untrained import untrained

Table = list[list[str]]
LETTERS = ["a", "B", "ß", "é", "日", "🙂", " ", "'", ",", ";", '"', "[", "{", "1", "<end>", "\\n"]


def cell(random_: random.Random) -> str:
    """A text that is not blank, without tabs and line ends."""
    text = "".join(random_.choices(LETTERS, k=random_.randint(1, 8)))
    return f"{text.strip()}x"


def write_tsv(place: Path, header: list[str] | None, rows: Table) -> Path:
    lines = [*([header] if header else []), *rows]
    place.write_text("".join("\t".join(row) + "\n" for row in lines), encoding="utf-8")
    return place


def write_csv(place: Path, header: list[str] | None, rows: Table) -> Path:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([*([header] if header else []), *rows])
    place.write_text(stream.getvalue(), encoding="utf-8")
    return place


def write_jsonl(place: Path, header: list[str] | None, rows: Table) -> Path:
    values = [dict(zip(header, row, strict=True)) if header else row for row in rows]
    place.write_text("".join(json.dumps(each) + "\n" for each in values), encoding="utf-8")
    return place


def write_parquet(place: Path, header: list[str] | None, rows: Table) -> Path:
    names = header or [f"column {number}" for number in range(len(rows[0]))]
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]), place
    )
    return place


Write = Callable[[Path, list[str] | None, Table], Path]
FORMATS: dict[str, Write] = {
    "tsv": write_tsv,
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "txt": write_tsv,
}


def column_forms(
    random_: random.Random, header: list[str] | None, width: int
) -> tuple[DataConfig, list[int], int]:
    """Options that name some columns, and where these are."""
    order = random_.sample(range(width), width)
    sources, target = order[: random_.randint(1, min(3, width - 1))], order[-1]
    names = [header[index] if header else str(index + 1) for index in range(width)]
    source, _ = split_column(",".join(names[index] for index in sources))
    config = DataConfig(source=source or "", target=names[target], columns=len(sources) > 1)
    return config, sources, target


def expected_cell(row: list[str], sources: list[int]) -> str:
    cells = [row[index] for index in sources]
    return cells[0] if len(cells) == 1 else json.dumps(cells, ensure_ascii=False)


@pytest.mark.parametrize("seed", range(count(50, 500)))
def test_every_command_reads_the_same_cells(seed: int, tmp_path: Path) -> None:
    random_ = random.Random(seed)
    name = random_.choice(sorted(FORMATS))
    width = random_.randint(2, 5)
    header = [f"{letter}_name" for letter in "pqrst"[:width]] if random_.random() < 0.5 else None
    rows = [[cell(random_) for _ in range(width)] for _ in range(random_.randint(1, 9))]
    header = None if name == "txt" else header
    config, sources, target = column_forms(random_, header, width)
    path = FORMATS[name](tmp_path / f"table.{name}", header, rows)
    wanted = [(expected_cell(row, sources), row[target]) for row in rows]

    model = untrained()
    model = replace(model, config=model.config.model_copy(update={"data": config}))
    train = [(row.source, row.target) for row in read_rows(str(path), config, Report())]
    assert train == wanted, "train"
    assert survey(str(path), config, seed=1).sample == wanted, "check"
    cells = [source for source, _ in wanted]
    if config.columns:
        units = ColumnsConfig(units=("character",) * len(sources))
        model = replace(model, source=ColumnsField.learn(units, cells, seed=1))
    judged = task_of(model.config).data_rows(model, str(path), None, Report())
    assert [(row.source, row.target) for row in judged] == wanted, "evaluate and score"
    assert list(InputFile(path, config).cells()) == cells, "predict"
    assert InputOptions(file=path).rows(config) == wanted, "look"
    names = header or [str(number + 1) for number in range(width)]
    used = {names[index] for index in sources}
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    served = [{key: value for key, value in each.items() if key in used} for each in objects]
    assert texts(model, served) == cells, "serve"
    assert list(input_cells(objects, config)) == cells, "Python"
    tuples = [tuple(row[index] for index in sources) for row in rows]
    if header or max(sources) >= len(sources) or sources == [*range(len(sources))]:
        assert list(input_cells(tuples, config)) == cells, "Python, in order"
