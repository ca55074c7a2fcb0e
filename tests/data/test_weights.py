"""A column of weights: read from every format, kept by the corpus, refused with its place."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyarrow import parquet

from seqloom.config import DataConfig, TextConfig
from seqloom.data import Columns, Corpus, Data, Reason, Report, fingerprint, read_rows
from seqloom.errors import DataError, RunError
from seqloom.fields import TextField
from tests.data.support import sentence

ROWS = [("a b", "x", 0.5), ("c", "y", 2.0), ("d", "z", 0.0)]
NAMED = {"source": "de", "target": "en", "weight": "how"}


def weights(data: Data, **options: str | bool) -> list[tuple[str, str, float]]:
    config = DataConfig.model_validate(options)
    return [(row.source, row.target, row.weight) for row in read_rows(data, config, Report())]


def write(path: Path) -> Path:
    """The rows, in the format that the name asks for, with a header where there is one."""
    names = ("de", "en", "how")
    match path.suffix:
        case ".tsv" | ".csv":
            comma = "\t" if path.suffix == ".tsv" else ","
            lines = [names, *ROWS]
            path.write_text("".join(f"{comma.join(map(str, line))}\n" for line in lines))
        case ".jsonl":
            rows = [dict(zip(names, row, strict=True)) for row in ROWS]
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        case _:
            columns = dict(zip(names, zip(*ROWS, strict=True), strict=True))
            parquet.write_table(pa.table({n: list(v) for n, v in columns.items()}), path)
    return path


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "parquet"])
def test_every_format_gives_the_same(ending: str, tmp_path: Path) -> None:
    """By name and, where the header is announced, by position; without, each row counts 1."""
    path = write(tmp_path / f"rows.{ending}")
    assert weights(path, **NAMED) == ROWS
    assert weights(path, header="yes", weight="3") == ROWS
    assert weights(path, header="yes") == [(*row[:2], 1.0) for row in ROWS]


def test_rows_in_memory() -> None:
    assert weights(ROWS, weight="3") == ROWS
    assert sentence([("a", "b")], weight="3") == (
        "<pairs>:1: is not a row of texts or numbers; give (source, target, weight), or pass "
        "options={'data': {'skip_bad': True}}"
    )


@pytest.mark.parametrize(
    ("cell", "wrong"),
    [
        ("-1", "the weight '-1' is no number of 0 or more"),
        ("nan", "the weight 'nan' is no number of 0 or more"),
        ("inf", "the weight 'inf' is no number of 0 or more"),
        ("much", "the weight 'much' is no number of 0 or more"),
        ("", "the weight is missing"),
        (" ", "the weight is missing"),
    ],
)
def test_a_bad_weight_has_its_place_and_a_cure(cell: str, wrong: str, tmp_path: Path) -> None:
    """Strict: one sentence with file:line; skipping: the row is counted under its reason."""
    path = tmp_path / "rows.tsv"
    path.write_text(f"a\tx\t1\nb\ty\t{cell}\nc\tz\t2\n")
    cure = "write a number such as 0.5, or pass options={'data': {'skip_bad': True}}"
    assert sentence(path, weight="3") == f"{path}:2: {wrong}; {cure}"
    report = Report()
    config = DataConfig(weight="3", skip_bad=True)
    assert [row.weight for row in read_rows(path, config, report)] == [1.0, 2.0]
    assert {r: str(d.first) for r, d in report.dropped.items()} == {Reason.WEIGHT: f"{path}:2"}


@pytest.mark.parametrize("value", ["null", "true", '"much"', "-0.5", "[1]", "NaN"])
def test_a_bad_weight_in_json(value: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"de": "a", "en": "x", "how": {value}}}\n')
    assert sentence(path, **NAMED).startswith(f"{path}:1: the weight ")


def test_a_column_that_cannot_be_a_weight(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"de": ["a"], "en": ["x"], "how": [[1.0]]}), path)
    assert sentence(path, **NAMED) == (
        f"{path}: column 'how' holds list<element: double>, no number; choose a column of numbers"
    )
    (tmp_path / "a").write_text("a\n")
    (tmp_path / "b").write_text("x\n")
    both = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    assert sentence(both, weight="3") == (
        f"{both}: two text files have no column for weights; "
        "put all three columns into one TSV file"
    )
    (tmp_path / "rows.tsv").write_text("a\tx\n")
    assert "there is no column 3 among 2 columns" in sentence(tmp_path / "rows.tsv", weight="3")


def columns(**options: str) -> Columns:
    field = TextField.learn(TextConfig(unit="byte"), [], seed=1)
    return Columns(field, field, DataConfig.model_validate(options))


def corpus(rows: list[tuple[str, str, float]], directory: Path) -> Corpus:
    used = columns(weight="3")
    report = Report()
    return Corpus.build(
        read_rows(rows, used.config, report),
        used,
        directory=directory,
        report=report,
        fingerprint=fingerprint(rows, used),
    )


def test_the_corpus_keeps_them(tmp_path: Path) -> None:
    """As they were, and one that was changed is not used."""
    built = corpus(ROWS, tmp_path / "corpus")
    assert built.weights.tolist() == [weight for _, _, weight in ROWS]
    assert Corpus.open(tmp_path / "corpus").weights.tolist() == built.weights.tolist()
    for wrong in ([1.0, -1.0, 1.0], [1.0, np.nan, 1.0]):
        np.array(wrong).tofile(tmp_path / "corpus" / "weights")
        with pytest.raises(RunError, match="weights: its bytes have changed"):
            Corpus.open(tmp_path / "corpus")


def test_the_fingerprint_knows_them(tmp_path: Path) -> None:
    """Another weight, or another column for them, is other data."""
    other = [(*ROWS[0][:2], 0.6), *ROWS[1:]]
    path = write(tmp_path / "rows.tsv")
    prints = [
        fingerprint(ROWS, columns(weight="3")),
        fingerprint(other, columns(weight="3")),
        fingerprint(path, columns(**NAMED)),
        fingerprint(path, columns(**{**NAMED, "weight": ""})),
    ]
    assert len(set(prints)) == len(prints)


def test_weights_that_are_all_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="every row has the weight 0; give one at least"):
        corpus([("a", "b", 0.0), ("c", "d", 0.0)], tmp_path / "corpus")
