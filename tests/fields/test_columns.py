"""Several columns as one source: each is cut by its own unit, and comes back from its tokens."""

from pathlib import Path

import pytest

from seqloom.config import ColumnsConfig
from seqloom.fields import ColumnsField, join_turns, load_field

LEMMAS = ["lopen", "maken", "zien"]
CELLS = [join_turns(row) for row in zip(LEMMAS, ["V;PST;3", "V;PRS", "V|PST"], strict=True)]


def learnt(*units: str) -> ColumnsField:
    config = ColumnsConfig.model_validate({"units": units})
    return ColumnsField.learn(config, CELLS, seed=1)


def test_each_column_is_cut_by_its_own_unit_behind_its_separator() -> None:
    field = learnt("character", "feature")
    (row,) = field.rows([join_turns(["zien", "V;PST;3"])])
    assert field.tokens(row) == [*"zien", "<column 2>", "V", "PST", "3", "<end>"]
    assert field.cell(row) == join_turns(["zien", "V PST 3"])
    assert (row < field.items.count).all()
    (strange,) = field.rows([join_turns(["zxen", "V;FUT"])])
    assert field.tokens(strange) == ["z", "<unk>", *"en", "<column 2>", "V", "<unk>", "<end>"]


def test_columns_of_one_unit_share_a_vocabulary_and_others_do_not() -> None:
    """The same letter is one symbol in two texts, and another one as a feature."""
    shared = learnt("character", "character")
    (row,) = shared.rows([join_turns(["a", "a"])])
    assert row[0] == row[2]
    apart = ColumnsField.learn(
        ColumnsConfig(units=("character", "feature")), [join_turns(["a", "a"])], seed=1
    )
    (row,) = apart.rows([join_turns(["a", "a"])])
    assert row[0] != row[2]


@pytest.mark.parametrize("units", [("character", "feature"), ("byte", "word"), ("symbol", "byte")])
def test_a_field_is_saved_whole(units: tuple[str, ...], tmp_path: Path) -> None:
    field = learnt(*units)
    field.save(tmp_path)
    again = load_field(tmp_path)
    assert [row.tolist() for row in again.rows(CELLS)] == [
        row.tolist() for row in field.rows(CELLS)
    ]


def test_old_ids_stay_when_a_field_grows(tmp_path: Path) -> None:
    field = learnt("character", "feature")
    more = [*CELLS, join_turns(["qq", "N;SG"])]
    grown = field.extend(more)
    assert [row.tolist() for row in grown.rows(CELLS)] == [
        row.tolist() for row in field.rows(CELLS)
    ]
    (row,) = grown.rows(more[-1:])
    assert grown.tokens(row) == ["q", "q", "<column 2>", "N", "SG", "<end>"]
    grown.save(tmp_path)
    assert load_field(tmp_path).rows(more[-1:])[0].tolist() == row.tolist()


@pytest.mark.parametrize("most", range(1, 12))
def test_the_longest_column_is_cut_first(most: int) -> None:
    """No row is longer than asked, every column keeps its separator, and short ones stay whole."""
    field = learnt("character", "feature")
    (row,) = field.rows([join_turns(["lopenlopen", "V;PST"])])
    cut = field.truncate(row, most)
    assert len(cut) <= max(most, 2) + field.closing
    assert field.tokens(cut)[-1] == "<end>"
    if most >= 6:
        assert field.tokens(cut)[-4:] == ["<column 2>", "V", "PST", "<end>"]


@pytest.mark.parametrize(
    "cell", ["lopen", '["lopen"]', '["lopen", 3]', '["a", "b", "c"]', '["", " "]']
)
def test_a_cell_that_is_not_a_text_for_each_column_is_a_fault(cell: str) -> None:
    assert learnt("character", "feature").fault(cell) is not None
    assert learnt("character", "feature").fault(CELLS[0]) is None
