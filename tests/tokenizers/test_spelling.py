"""Symbols with their letters: what is written is what is read (S1.3)."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig, TagsConfig, TextConfig
from seqloom.data import Columns, Corpus, FileLocation, Report, Row
from seqloom.errors import ConfigError, RunError
from seqloom.fields import EMPTY, END, START, UNK, Symbols, TextField, learn_field, load_field

TEXTS = ["the cat sat", "a cataract of cats", "sat"]
PLAIN = TextConfig(unit="symbol", min_count=2)
SPELT = PLAIN.model_copy(update={"spelling": 8})


def spelt() -> TextField:
    return TextField.learn(SPELT, TEXTS, seed=1)


def letters(field: TextField, row: np.ndarray) -> str:
    """The letters of a row, by the file that the field writes."""
    alphabet = ["", "?", "<", ">", *field._state().facts["letters"]]
    return "".join(alphabet[number] for number in row)


@given(st.lists(st.text("acst", min_size=1, max_size=12), min_size=1, max_size=6))
def test_a_row_is_the_ids_without_spelling_and_the_letters_between_marks(words: list[str]) -> None:
    """Whole words up to six letters here; of longer ones the first three and the last three."""
    field, text = spelt(), " ".join(words)
    (row,) = field.rows([text])
    plain = TextField.learn(PLAIN, TEXTS, seed=1)
    assert row.shape == (len(words) + 1, 9)
    assert row[:, 0].tolist() == plain.rows([text])[0].tolist()
    short = [word if len(word) <= 6 else word[:3] + word[-3:] for word in words]
    assert [letters(field, each) for each in row[:-1, 1:]] == [f"<{word}>" for word in short]
    assert row[-1].tolist() == [END, *[EMPTY] * 8]
    assert (field.cell(row), field.tokens(row)) == (plain.cell(row[:, 0]), plain.tokens(row[:, 0]))


def test_unknown_words_are_told_apart_by_their_letters() -> None:
    (row,) = spelt().rows(["cats zap"])
    assert row[:2, 0].tolist() == [UNK, UNK]
    assert letters(spelt(), row[0, 1:]) == "<cats>"
    assert letters(spelt(), row[1, 1:]) == "<?a?>"
    assert row[0, 1] == START


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    field = spelt()
    field.save(tmp_path)
    loaded = load_field(tmp_path)
    assert (
        loaded.fingerprint == field.fingerprint != TextField.learn(PLAIN, TEXTS, seed=1).fingerprint
    )
    assert loaded.items == field.items == Symbols(5, 8, 4 + len(set("".join(TEXTS))))
    assert (loaded.rows(TEXTS)[1] == field.rows(TEXTS)[1]).all()
    facts = json.loads((tmp_path / "field.json").read_text())
    (tmp_path / "field.json").write_text(json.dumps({**facts, "letters": ["ab"]}))
    with pytest.raises(RunError, match="restore"):
        load_field(tmp_path)


def test_an_extended_field_knows_new_letters_and_keeps_the_old_ids() -> None:
    field = spelt()
    wider = field.extend(["zap zap"])
    old, new = field.rows(["cats"])[0], wider.rows(["cats"])[0]
    assert (old == new).all()
    assert letters(wider, wider.rows(["zap"])[0][0, 1:]) == "<zap>"


@pytest.mark.parametrize(
    "options", [{"unit": "word", "spelling": 8}, {"unit": "symbol", "spelling": 2}]
)
def test_only_symbols_are_spelt_and_by_a_letter_at_least(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="only symbols are spelt"):
        TextField.learn(TextConfig.model_validate(options), ["a b"], seed=1)


def test_a_corpus_gives_spelt_rows_back(tmp_path: Path) -> None:
    """Padding is empty in every column."""
    field = spelt()
    tags = learn_field(TagsConfig(), ["D N V"], seed=1)
    cells = [("the cat sat", "D N V"), ("sat", "V")]
    rows = [Row(*each, FileLocation("a.bio", number)) for number, each in enumerate(cells, 1)]
    used = Columns(field, tags, DataConfig())
    built = Corpus.build(rows, used, directory=tmp_path / "c", report=Report(), fingerprint="")
    batch = built.batch(np.array([1, 0]))
    assert batch.source.shape == (2, 4, 9)
    assert (batch.source[1] == field.rows([cells[0][0]])[0]).all()
    assert (batch.source[0, :2] == field.rows([cells[1][0]])[0]).all()
    assert not batch.source[0, 2:].any()
    flat, places = built.flat("source", closing=1)
    assert places.tolist() == [0, 0, 0, 1]
    assert (flat == np.concatenate([field.rows([each])[0][:-1] for each, _ in cells])).all()
