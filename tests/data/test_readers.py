"""Readers of files: one for each ending, and those that a user adds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.config import DataConfig
from seqloom.data import Report, is_stream, is_tagged, read_rows
from seqloom.data.readers import READERS, FileReader, Record, reader_of
from seqloom.data.report import Fault, FileLocation, Reason
from seqloom.errors import ConfigError, DataError


class ArrowReader(FileReader):
    """Reads lines such as `a -> b`."""

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            place = FileLocation(str(path), number)
            cells = line.split(" -> ")
            faulty = Fault(Reason.COLUMNS, place, "there is no arrow", "draw one")
            yield Record(place, cells) if len(cells) == 2 else faulty


def test_a_reader_of_a_users_own_is_chosen_by_its_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are checked, counted and refused as those of any other format."""
    monkeypatch.setattr(READERS, "_parts", dict(READERS._parts))
    READERS.part("arrows")(ArrowReader)
    path = tmp_path / "pairs.arrows"
    path.write_text("a -> b\nnothing\nc -> d\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"pairs\.arrows:2: there is no arrow; draw one"):
        list(read_rows(path, DataConfig(), Report()))
    report = Report()
    rows = list(read_rows(path, DataConfig(skip_bad=True), report))
    assert [(row.source, row.target, row.place.line) for row in rows] == [
        ("a", "b", 1),
        ("c", "d", 3),
    ]
    assert (report.kept, report.total_dropped) == (2, 1)


def test_a_built_in_format_cannot_be_replaced() -> None:
    with pytest.raises(ConfigError, match="the file format 'csv' is defined in seqloom"):
        READERS.part("csv")(ArrowReader)


def test_an_ending_chooses_the_reader_whatever_its_case_and_packing() -> None:
    kinds = {name: type(reader_of(Path(name))).__name__ for name in (
        "a.tsv", "a.TSV.gz", "a", "a.unknown", "a.csv", "a.jsonl", "a.json.gz", "a.parquet",
        "a.po", "a.tmx", "a.conllu", "a.bio", "a.txt",
    )}  # fmt: skip
    assert list(kinds.values()) == [
        *["TsvReader"] * 4, "CsvReader", "JsonReader", "JsonReader", "ParquetReader", "PoReader",
        "TmxReader", "ConlluReader", "ConllReader", "TextReader",
    ]  # fmt: skip
    tagged = {ending for ending in READERS.kinds() if is_tagged(f"a.{ending}")}
    assert tagged == {"conllu", "conll", "bio", "iob", "iob2", "tagged"}
    assert [ending for ending in READERS.kinds() if is_stream(f"a.{ending}")] == ["txt"]
    assert not is_stream("a.txt,b.txt")
