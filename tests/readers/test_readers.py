"""Readers of files: one for each ending."""

from pathlib import Path

import pytest

from seqloom.data import is_stream, is_tagged
from seqloom.errors import ConfigError
from seqloom.readers import READERS, reader_of
from tests.extending.support import toy_parts


def test_a_built_in_format_cannot_be_replaced() -> None:
    with (
        toy_parts("arrow_format") as parts,
        pytest.raises(ConfigError, match="the file format 'csv' is defined in seqloom"),
    ):
        READERS.part("csv")(parts.arrow_format.ArrowReader)


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
