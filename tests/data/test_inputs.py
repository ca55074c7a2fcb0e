"""Inputs are read as training read them: whatever the file, the same source cells."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from seqloom.config import DataConfig
from seqloom.data import InputFile, Report, read_rows
from seqloom.errors import DataError

ROWS = [("lopen", "loopt", "V;3"), ("maken", "maakt", "V;3"), ("zien", "ziet", 'V "3"')]
BY_POSITION = DataConfig(source="1,3", target="2", turns=True)
BY_NAME = DataConfig(source="lemma,tags", target="form", turns=True)
HEADER = ("lemma", "form", "tags")


def table(place: Path, rows: Sequence[tuple[str, ...]]) -> Path:
    place.write_text("".join("\t".join(row) + "\n" for row in rows))
    return place


def cells(path: Path, config: DataConfig) -> list[str]:
    return list(InputFile(path, config).cells())


def learnt(path: Path, config: DataConfig) -> list[str]:
    return [row.source for row in read_rows(str(path), config, Report())]


def test_every_form_of_the_same_rows_gives_the_cells_that_training_read(tmp_path: Path) -> None:
    whole = table(tmp_path / "rows.tsv", ROWS)
    expected = learnt(whole, BY_POSITION)
    alone = table(tmp_path / "sources.tsv", [(lemma, tags) for lemma, _, tags in ROWS])
    lines = table(tmp_path / "lines.txt", [(lemma, tags) for lemma, _, tags in ROWS])
    wide = table(tmp_path / "wide.txt", ROWS)
    for path in (whole, alone, lines, wide):
        assert cells(path, BY_POSITION) == expected, path.name
    named = table(tmp_path / "named.tsv", [HEADER, *ROWS])
    objects = tmp_path / "rows.jsonl"
    objects.write_text("".join(json.dumps(dict(zip(HEADER, r, strict=True))) + "\n" for r in ROWS))
    assert cells(named, BY_NAME) == cells(objects, BY_NAME) == expected


def test_a_gold_column_is_not_part_of_the_input(tmp_path: Path) -> None:
    pairs = table(tmp_path / "pairs.tsv", [("a b", "c d"), ("e", "f")])
    assert cells(pairs, DataConfig(source="1", target="2")) == ["a b", "e"]
    assert cells(pairs, DataConfig(source="2", target="1")) == ["c d", "f"]


def test_blank_rows_keep_their_place_and_bare_lines_are_inputs(tmp_path: Path) -> None:
    bare = tmp_path / "lines.txt"
    bare.write_text("one\n\ntwo\n")
    assert cells(bare, DataConfig()) == ["one", "", "two"]


def test_columns_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    lines = table(tmp_path / "lines.txt", [("a", "b", "c")])
    with pytest.raises(DataError, match=r"lines.txt:1: has 3 columns, and the run reads columns"):
        cells(lines, BY_NAME)
    missing = table(tmp_path / "rows.tsv", [("lemma", "form"), ("a", "b")])
    with pytest.raises(DataError, match="there is no column 'tags'"):
        cells(missing, BY_NAME)


def test_which_columns_are_read_is_said_once(tmp_path: Path) -> None:
    told: list[str] = []
    lines = table(tmp_path / "lines.txt", ROWS)
    assert len(list(InputFile(lines, BY_POSITION, notice=told.append).cells())) == 3
    assert told == [f"{lines}:1: has tabs; reading column 1,3"]
