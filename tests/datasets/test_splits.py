"""Written data sets can be read back, and nothing of the user's is overwritten."""

from dataclasses import replace
from pathlib import Path

import pytest

from seqloom.datasets import BUILTIN
from seqloom.datasets.splits import Splits, write_splits
from seqloom.errors import DataError

SPLITS = Splits(
    name="toy",
    train=[("un", "one"), ("deux", "two")],
    valid=[("trois", "three")],
    test=[("été", "summer")],
    columns=("French", "English"),
)
CREDITED = replace(
    SPLITS,
    attribution="Written by several.",
    credits={"un": "A", "deux": "B", "trois": "C", "été": "D"},
)


def rows(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in path.read_text("utf-8").rstrip("\n").split("\n")]


def test_tables_have_a_header_and_the_rows_in_order(tmp_path: Path) -> None:
    written = write_splits(SPLITS, tmp_path / "new" / "folder")
    assert [path.name for path in written] == ["train.tsv", "valid.tsv", "test.tsv"]
    assert sorted(tmp_path.rglob("*.*")) == sorted(written)
    for path, part in zip(written, (SPLITS.train, SPLITS.valid, SPLITS.test), strict=True):
        assert rows(path) == [("source", "target"), *part]


def test_credits_become_a_third_column_and_the_licence_a_file(tmp_path: Path) -> None:
    train, _, test, notice = write_splits(CREDITED, tmp_path)
    assert rows(train) == [
        ("source", "target", "attribution"),
        ("un", "one", "A"),
        ("deux", "two", "B"),
    ]
    assert rows(test)[1] == ("été", "summer", "D")
    assert notice.name == "ATTRIBUTION.txt"
    assert notice.read_text("utf-8") == "Written by several.\n"


def test_writing_twice_is_fine_and_other_content_is_never_overwritten(tmp_path: Path) -> None:
    write_splits(SPLITS, tmp_path)
    write_splits(SPLITS, tmp_path)
    (tmp_path / "train.tsv").unlink()
    (tmp_path / "test.tsv").write_text("mine\n")
    with pytest.raises(DataError, match=r"test\.tsv: exists already"):
        write_splits(SPLITS, tmp_path)
    assert (tmp_path / "test.tsv").read_text() == "mine\n"
    assert not (tmp_path / "train.tsv").exists()


def test_a_folder_that_cannot_be_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="file: cannot be written"):
        write_splits(SPLITS, tmp_path / "file")


def test_a_tab_in_a_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="tab"):
        write_splits(replace(SPLITS, train=[("a\tb", "c")]), tmp_path)


def test_the_registry_names_its_data_sets() -> None:
    seen = {"french", "dates", "languages", "parts", "digits", "melody", "clips", "cats"}
    assert set(BUILTIN) == seen | {"sizes", "places", "counting", "missing"}
    assert BUILTIN["dates"]().name == "dates"
