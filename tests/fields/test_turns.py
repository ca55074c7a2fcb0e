"""Several texts as one sequence: `<turn>` between them, the newest kept (S1.3, S8)."""

from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import TextConfig, TurnsConfig
from seqloom.errors import ConfigError
from seqloom.fields import (
    END,
    START,
    UNK,
    TextField,
    TurnsField,
    join_turns,
    learn_field,
    load_field,
    split_turns,
)

CELLS = [join_turns(["ab c", "c ba"]), "b a", join_turns(["", "a b", "c"])]
UNITS = ["character", "word", "symbol", "byte"]
TURNS = st.lists(st.text(alphabet="abc ", max_size=6), min_size=1, max_size=5)


@cache
def field_of(unit: str, *, most: int = 0, spelling: int = 0) -> TurnsField:
    options = {"unit": unit, "most_turns": most, "spelling": spelling}
    return TurnsField.learn(TurnsConfig.model_validate(options), CELLS, seed=1)


@cache
def text_of(unit: str) -> TextField:
    config = TextConfig.model_validate({"unit": unit})
    return TextField.learn(config, [turn for cell in CELLS for turn in split_turns(cell)], seed=1)


@given(st.lists(st.text(), min_size=1))
def test_turns_come_back_from_their_cell(turns: list[str]) -> None:
    """Whatever is in them: brackets, quotes, line ends, lists of their own."""
    assert split_turns(join_turns(turns)) == turns


@pytest.mark.parametrize("text", ["hello", "[value] is", "[", '["a"', "[a, b]", "", '{"a": 1}'])
def test_what_is_no_list_is_one_turn(text: str) -> None:
    field = field_of("character")
    assert split_turns(text) == [text]
    assert field.fault(text) is None


@pytest.mark.parametrize("cell", ["[1, 2]", '["a", null]', '[{"text": "a"}]', "[]", '["", " "]'])
def test_lists_of_anything_else_are_refused(cell: str) -> None:
    assert field_of("character").fault(cell) is not None


@pytest.mark.parametrize("unit", UNITS)
@given(turns=TURNS)
def test_a_row_is_the_rows_of_its_turns(unit: str, turns: list[str]) -> None:
    """With `<turn>` between them in place of `<end>`; one turn is read as the text that it is."""
    field = field_of(unit)
    text = text_of(unit)
    (row,) = field.rows([join_turns(turns)])
    parts = [list(part) for mark, part in groupby(row[:-1].tolist(), START.__eq__) if not mark]
    assert row[-1] == END
    assert (row == START).sum() == len(turns) - 1
    wanted = [text.encode(turn).tolist() for turn in turns]
    assert parts == [ids for ids in wanted if ids]
    assert field.encode(join_turns(turns)).tolist() == row[:-1].tolist()


@pytest.mark.parametrize("unit", UNITS)
@given(turns=TURNS)
def test_no_text_gives_a_separator_and_cells_come_back(unit: str, turns: list[str]) -> None:
    """`decode(encode(cell)) == normalise(cell)`; even where a text is `<turn>` to the letter."""
    field = field_of(unit)
    said = [*turns, "<turn>", "<start>"]
    ids = field.encode(join_turns(said))
    assert (ids == START).sum() == len(said) - 1
    assert field.tokens(ids).count("<turn>") >= len(said) - 1
    known = join_turns(turns)
    if UNK not in field.encode(known):
        assert field.decode(field.encode(known)) == field.normalize(known)


@given(turns=TURNS, most=st.integers(1, 12))
def test_the_newest_turns_stay(turns: list[str], most: int) -> None:
    """As many whole ones as fit; of a last turn that does not fit, its end (S1.6)."""
    field = field_of("character")
    (row,) = field.rows([join_turns(turns)])
    kept = field.truncate(row, most)
    fitting = [turns[first:] for first in range(len(turns))]
    whole = next((some for some in fitting if len("|".join(some)) <= most), None)
    wanted = field.rows([join_turns(whole)])[0] if whole is not None else row[-most - 1 :]
    assert kept.tolist() == wanted.tolist()


@given(turns=TURNS, most=st.integers(1, 4))
def test_no_more_turns_are_read_than_configured(turns: list[str], most: int) -> None:
    every, newest = field_of("character"), field_of("character", most=most)
    (row,), (wanted,) = newest.rows([join_turns(turns)]), every.rows([join_turns(turns[-most:])])
    assert row.tolist() == wanted.tolist()


def test_separators_have_no_letters() -> None:
    """Where symbols are spelt, a row is a table, and `<turn>` is as empty in it as `<end>`."""
    field = field_of("symbol", spelling=6)
    (row,) = field.rows([join_turns(["ab c", "c"])])
    assert row.shape == (5, 7)
    assert row[:, 0].tolist()[2::2] == [START, END]
    assert not row[2, 1:].any()
    assert field.tokens(row) == ["ab", "c", "<turn>", "c", "<end>"]
    assert field.truncate(row, 2)[:, 0].tolist() == row[3:, 0].tolist()


def test_a_saved_field_is_the_same(tmp_path: Path) -> None:
    field = field_of("word", most=3)
    field.save(tmp_path)
    loaded = load_field(tmp_path)
    assert isinstance(loaded, TurnsField)
    assert (loaded.config, loaded.fingerprint) == (field.config, field.fingerprint)
    for one, two in zip(field.rows(CELLS), loaded.rows(CELLS), strict=True):
        assert np.array_equal(one, two)
    text = learn_field(TextConfig(unit="word"), ["ab c", "c ba", "b a"], seed=1)
    assert field.fingerprint != text.fingerprint


def test_further_words_come_from_every_turn() -> None:
    """The old ids stay, and so does the separator."""
    field = field_of("word")
    more = field.extend([join_turns(["new", "words"])])
    assert more.size == field.size + 2
    before = field.encode(CELLS[0])
    assert more.encode(CELLS[0]).tolist() == before.tolist()
    assert more.tokens(more.encode(join_turns(["new", "words"]))) == ["new", "<turn>", "words"]


def test_turns_need_a_vocabulary_with_end(tmp_path: Path) -> None:
    """Without `<end>`, the mark between turns would take the place of a word."""
    words = tmp_path / "words.txt"
    words.write_text("a\nb\n", encoding="utf-8")
    options = {"unit": "symbol", "vocabulary": str(words)}
    TurnsField.learn(TurnsConfig.model_validate(options), ['["a", "b"]'], seed=1)
    listed = TurnsConfig.model_validate({**options, "specials": "listed"})
    with pytest.raises(ConfigError, match="does not list <end>"):
        TurnsField.learn(listed, ['["a", "b"]'], seed=1)
