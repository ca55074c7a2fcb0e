"""Inputs in groups: each once and in order, as many as memory holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from seqloom.config import PictureConfig, TextConfig
from seqloom.errors import InputError
from seqloom.fields import PictureField, TextField, Values
from seqloom.fields.file_fields import FileCache
from seqloom.prediction.inputs import InputReader

COUNT, ROW = 10, 6  # pictures, and the bytes of each


class Counted(PictureField):
    """Pictures of six pixels, of which one row is remembered; it tells which files were read."""

    def __init__(self) -> None:
        super().__init__(PictureConfig(height=2, width=3, colour=False))
        self.read: list[str] = []
        self._recent = FileCache(self._row, most=1)

    def _row(self, cell: str) -> Values:
        self.read.append(cell)
        return super()._row(cell)


@pytest.fixture(scope="module", name="names")
def names_(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Pictures, the first black and each lighter than the one before."""
    folder = tmp_path_factory.mktemp("pictures")
    names = [str(folder / f"{number}.png") for number in range(COUNT)]
    for level, name in enumerate(names):
        Image.new("L", (3, 2), level).save(name)
    return names


@given(size=st.integers(1, COUNT + 2), held=st.integers(1, ROW * (COUNT + 2)))
def test_files_are_in_groups_by_their_bytes(names: list[str], size: int, held: int) -> None:
    """Every file is read once; a group ends with the row by which it has enough."""
    field = Counted()
    groups = list(InputReader(field, 1).groups(iter(names), size, held=held))
    assert field.read == names
    assert [line for group in groups for line in group.lines] == list(range(COUNT))
    most = min(size, -(-held // ROW))
    assert [len(group.cells) for group in groups[:-1]] == [most] * (len(groups) - 1)
    assert len(groups[-1].cells) <= most
    for group in groups:
        assert [each.number for each in group.encoded] == list(range(len(group.cells)))
        levels = [int(each.values.max()) for each in group.encoded]
        assert levels == list(group.lines)


def test_one_group_where_all_is_asked_for(names: list[str]) -> None:
    """However much it holds; without inputs it is empty."""
    assert InputReader(Counted(), 1).read_all(names).lines == range(COUNT)
    assert InputReader(Counted(), 1).read_all([]).encoded == []


@pytest.mark.parametrize("size", [1, 3, 20])
def test_what_comes_before_a_fault_is_read(names: list[str], size: int) -> None:
    """Blank inputs count as lines; the fault has the number of its input."""
    inputs = [names[0], " ", names[1], "missing.png", names[2]]
    groups = list(InputReader(Counted(), 1).groups(inputs, size, held=ROW))
    read = [
        (group.lines[each.number], int(each.values.max()))
        for group in groups
        for each in group.encoded
    ]
    assert read == [(0, 0), (2, 1)]
    fault = groups[-1].fault
    assert isinstance(fault, InputError)
    assert fault.line == 4


def test_texts_are_in_groups_by_number() -> None:
    """Their bytes do not matter."""
    field = TextField.learn(TextConfig(unit="character"), ["ab"], seed=1)
    groups = list(InputReader(field, 9).groups(["a", "", "ab", "b"], 3, held=1))
    assert [group.cells for group in groups] == [["a", "", "ab"], ["b"]]
    assert [[each.number for each in group.encoded] for group in groups] == [[0, 2], [0]]
