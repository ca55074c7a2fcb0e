"""Reading in blocks gives what reading row by row gives: rows, tallies and errors (B1)."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seqloom.config import DataConfig
from seqloom.data import Report, Row, read_rows
from seqloom.data.blocks.rows import BlockSource
from seqloom.errors import DataError
from seqloom.parallel import BlockResults
from seqloom.readers import blocks
from seqloom.surveys import survey
from tests.counts import count

PIECES = [b"a", b"b c", b"\t", b"\t", b"\n", b"\n", b"\r\n", b"\r", b" ", b"", b'"', b"\xc3\xa9"]
RARE = [b"\0", b"\xff", b"\xe3\x80\x80", b"x" * 90, b"\t\t", b"\n\n", b"source\ttarget\n", b"\xef"]
Outcome = tuple[list[Row], list[str], str]


def random_table(chance: Random) -> bytes:
    """Mostly pairs, with whatever a file may hold in between."""
    parts = []
    for _ in range(chance.randrange(60)):
        if chance.random() < 0.9:
            parts.append(b"%d\tword %d\n" % (chance.randrange(50), chance.randrange(9)))
        else:
            parts.append(chance.choice(PIECES if chance.random() < 0.7 else RARE))
    return b"".join(parts)


def outcome(rows: Iterator[Row], report: Report) -> Outcome:
    """The rows, the tally and the error of a reading."""
    found: list[Row] = []
    try:
        found.extend(rows)
    except DataError as error:
        return [], [], str(error)
    return found, report.lines(), ""


def read_in_blocks(data: str, config: DataConfig, report: Report) -> Iterator[Row]:
    source = BlockSource(data, config)
    for block in source.blocks():
        found = Report()
        yield from source.parse(block, found).each()
        report.add(found)
    source.check_any(report)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 40)


@pytest.mark.parametrize("kind", ["tsv", "tsv.gz", "txt", "parallel", "cut.tsv.gz"])
@pytest.mark.parametrize("skip_bad", [True, False])
def test_blocks_read_as_rows_do(kind: str, skip_bad: bool, tmp_path: Path) -> None:
    chance = Random(f"{kind}{skip_bad}")
    config = DataConfig(skip_bad=skip_bad, max_line=60)
    for _ in range(count(50, 3_000)):
        content, name = random_table(chance), str(tmp_path / f"table.{kind}")
        packed = gzip.compress(content, mtime=0)
        if kind == "parallel":
            (tmp_path / "a").write_bytes(content.replace(b"\t", b" "))
            (tmp_path / "b").write_bytes(random_table(chance) if chance.random() < 0.2 else content)
            name = f"{tmp_path / 'a'},{tmp_path / 'b'}"
        else:
            packed = packed[: -chance.randrange(1, 40)] if kind.startswith("cut") else packed
            Path(name).write_bytes(packed if kind.endswith("gz") else content)
        whole, pieces = Report(), Report()
        expected = outcome(read_rows(name, config, whole), whole)
        assert outcome(read_in_blocks(name, config, pieces), pieces) == expected, content


@pytest.mark.parametrize("options", [{"weight": "3"}, {"source": ""}, {"target": "1"}])
def test_other_columns_read_alike(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("".join(f"s{n}\tt{n}\t{n % 5}\n" for n in range(200)))
    whole, pieces, config = Report(), Report(), DataConfig(**options)
    expected = outcome(read_rows(str(path), config, whole), whole)
    assert expected[0]
    assert outcome(read_in_blocks(str(path), config, pieces), pieces) == expected


class Squares:
    """Squares numbers, cannot square 7 in another process, and counts."""

    def __init__(self) -> None:
        self.done = 0

    def process(self, block: int) -> int:
        self.done += 1
        if block < 0:
            raise DataError(f"{block} is below 0")
        return block * block

    def finish(self) -> int:
        return self.done


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_come_in_order(processes: int) -> None:
    results = BlockResults(Squares(), range(50), processes=processes)
    assert list(results) == [n * n for n in range(50)]
    assert sum(results.gathered) == 50


@pytest.mark.parametrize("processes", [1, 2])
def test_the_first_error_in_order_is_raised(processes: int) -> None:
    def failing() -> Iterator[int]:
        yield from (1, 2, 3, 4, -5, 6, -7)
        raise DataError("later")

    results = BlockResults(Squares(), failing(), processes=processes)
    assert [next(results) for _ in range(4)] == [1, 4, 9, 16]
    with pytest.raises(DataError, match="-5 is below"):
        next(results)


def test_a_survey_does_not_depend_on_its_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("".join(f"s {n % 90}\tt {n % 70}\n" for n in range(300)))
    few = survey(str(path), DataConfig(), seed=1)
    monkeypatch.setattr(blocks, "BLOCK", 1 << 20)
    whole = survey(str(path), DataConfig(), seed=1)
    assert few.lines() == whole.lines()
    assert few.sample == whole.sample
    assert few.facts == whole.facts
