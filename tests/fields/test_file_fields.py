"""Files that cells name are read once while they are in use."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seqloom.config import DataConfig, PictureConfig, TextConfig
from seqloom.data import Columns, Report, read_rows, usable_rows
from seqloom.errors import DataError
from seqloom.fields import PictureField, TextField, Values
from seqloom.fields.file_fields import FileCache


class Counted:
    """Reads a file as so many bytes, and counts how often."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, name: str) -> Values:
        self.read.append(Path(name).name)
        return np.frombuffer(Path(name).read_bytes(), np.uint8)


def files(folder: Path, sizes: dict[str, int]) -> list[str]:
    for name, size in sizes.items():
        (folder / name).write_bytes(b"x" * size)
    return [str(folder / name) for name in sizes]


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    """By its size or its time."""
    reader = Counted()
    recent = FileCache(reader, most=10)
    (name,) = files(tmp_path, {"a": 3})
    assert recent(name) is recent(name)
    (tmp_path / "a").write_bytes(b"other")
    assert recent(name).tobytes() == b"other"
    (tmp_path / "a").write_bytes(b"third")
    os.utime(name, ns=(1, 1))
    assert recent(name).tobytes() == b"third"
    assert reader.read == ["a"] * 3


def test_what_was_asked_for_longest_ago_is_forgotten_first(tmp_path: Path) -> None:
    """The rows that are kept have so many bytes at most, or are the last alone."""
    reader = Counted()
    recent = FileCache(reader, most=10)
    a, b, c, large = files(tmp_path, {"a": 4, "b": 4, "c": 4, "large": 11})
    for name in (a, b, a, c, a, b, large, large, b, b, large):
        recent(name)
    assert reader.read == ["a", "b", "c", "b", "large", "b", "large"]


def test_what_is_not_there_is_said_each_time(tmp_path: Path) -> None:
    field = PictureField(PictureConfig(height=2, width=2))
    name = str(tmp_path / "late.png")
    assert field.fault(name) is not None
    Image.new("L", (2, 2)).save(name)
    assert field.fault(name) is None


def test_a_file_outside_of_the_folder_is_refused_where_that_is_asked(tmp_path: Path) -> None:
    """By its path, by `..` or by a link; the row, the column and the cure, or it is counted."""
    inside, outside = tmp_path / "data", tmp_path / "secret.png"
    inside.mkdir()
    for path in (outside, inside / "own.png"):
        Image.new("L", (2, 2)).save(path)
    (inside / "link.png").symlink_to(outside)
    names = ["own.png", "../secret.png", str(outside), "link.png", "../data/own.png"]
    table = inside / "rows.tsv"
    table.write_text("".join(f"{name}\tword\n" for name in names))
    columns = Columns(
        PictureField(PictureConfig(height=2, width=2)),
        TextField.learn(TextConfig(unit="word"), ["word"], seed=1),
        DataConfig(files=True, inside=True),
    )
    rows = read_rows(table, columns.config, Report())
    with pytest.raises(
        DataError, match=r"rows\.tsv:2: source: .*secret\.png lies outside of the folder of"
    ):
        list(usable_rows(rows, columns, Report()))
    lenient, report = DataConfig(files=True, inside=True, skip_bad=True), Report()
    assert [row.place.line for row in read_rows(table, lenient, report)] == [1, 5]
    assert report.total_dropped == 3
    assert len(list(read_rows(table, DataConfig(files=True), Report()))) == len(names)
