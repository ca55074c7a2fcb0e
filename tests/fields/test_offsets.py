"""Where tokens stand in the text as it was written: in order, all of it, and the token itself
wherever nothing was rewritten."""

import itertools
import json
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.config import TextConfig, TurnsConfig
from seqloom.config.columns import ColumnsConfig
from seqloom.fields import MarkedText, TextField
from seqloom.fields.columns import ColumnsField
from seqloom.fields.turns import TurnsField, join_turns
from seqloom.tokenizers.offsets import Offsets, TextAlignment

SENTENCES = [
    "the cat sat on the mat , and the dog ?",
    "l'homme dit: \u00abbonjour\u00bb ! it's a don't",
    "A b c d e f g \u4e2d\u6587 \u05e9\u05dc\u05d5\u05dd",
] * 4
UNITS = ("byte", "character", "word", "symbol", "subword")
texts = st.text(
    st.one_of(
        st.sampled_from("abc  \n\tABC\u0130\u03a3.,!?'-<>_\ue000\u2581\u00a0"),
        st.sampled_from("e\u0301\u0323a\u030a\u1100\u1161\u11a8\ufb01\u2460\uff21\U0001f600\u4e2d"),
        st.characters(codec="utf-8"),
    ),
    max_size=30,
)


def field_of(unit: str, **options: object) -> TextField:
    config = TextConfig.model_validate({"unit": unit, "size": 400, "min_count": 1, **options})
    return TextField.learn(config, SENTENCES, seed=1)


FIELDS = {
    (unit, form, lowercase): field_of(unit, normalize=form, lowercase=lowercase)
    for unit in UNITS
    for form in ("none", "NFC", "NFKC")
    for lowercase in (False, True)
}


def check_order(text: str, offsets: Sequence[Offsets]) -> None:
    """The offsets never go back, lie in the text, and leave out nothing but white space."""
    covered: set[int] = set()
    for (start, end), (next_start, next_end) in itertools.pairwise(offsets):
        assert start <= next_start
        assert end <= next_end
    for start, end in offsets:
        assert 0 <= start <= end <= len(text)
        covered.update(range(start, end))
    left = "".join(char for place, char in enumerate(text) if place not in covered)
    assert not left.strip(), (text, offsets, left)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("form", ["none", "NFC", "NFKC"])
@pytest.mark.parametrize("unit", UNITS)
@settings(max_examples=60)
@given(text=texts)
def test_offsets_cover_the_text_as_it_was_written_in_order(
    unit: str, form: str, lowercase: bool, text: str
) -> None:
    field = FIELDS[unit, form, lowercase]
    offsets = field.offsets(text)
    (row,) = field.rows([text])
    assert len(offsets) == len(row)
    check_order(text, offsets)
    assert offsets[-1] == (len(text), len(text))


@pytest.mark.parametrize("unit", UNITS)
@settings(max_examples=60)
@given(text=texts)
def test_the_text_at_a_tokens_offsets_is_the_token_where_nothing_was_rewritten(
    unit: str, text: str
) -> None:
    field = FIELDS[unit, "none", False]
    for token, (start, end) in zip(field.encode(text).tolist(), field.offsets(text), strict=False):
        own = field.decode([token])
        piece = text[start:end]
        if own == "<unk>":
            assert piece
        elif unit == "byte" or (unit == "subword" and token < 260):
            assert bytes([token - 4]) in piece.encode()
        else:
            assert piece == own or (unit == "subword" and piece in (f" {own}", own.strip(" ")))


@pytest.mark.parametrize("unit", UNITS)
@settings(max_examples=60)
@given(text=texts)
def test_offsets_in_an_output_are_those_of_its_tokens(unit: str, text: str) -> None:
    field = FIELDS[unit, "none", False]
    (row,) = field.rows([text])
    written, offsets = field.decode(row), field.decoded_offsets(row)
    assert len(offsets) == len(row)
    check_order(written, offsets)
    for token, (start, end) in zip(row.tolist(), offsets, strict=True):
        if unit in ("character", "word", "symbol") and token > 3:
            assert written[start:end] == field.decode([token])


def test_offsets_go_through_every_kind_of_rewriting() -> None:
    field = FIELDS["character", "NFKC", True]
    text = "\ufb01n e\u0301t\u0130 \u1112\u1161\u11ab"  # a ligature, a mark, a dot, three letters
    clean = field.normalize(text)
    assert clean == unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    found = [text[start:end] for start, end in field.offsets(text)[:-1]]
    assert found == [
        "\ufb01", "\ufb01", "n", " ", "e\u0301", "t", "\u0130", "\u0130", " ",
        "\u1112\u1161\u11ab",
    ]  # fmt: skip


def test_words_that_are_not_known_are_those_that_were_written() -> None:
    field = FIELDS["word", "NFC", True]
    text = "The  Zeppelin sat, l'Homme!"
    names = field.tokens(field.rows([text])[0])
    found = [text[start:end] for start, end in field.offsets(text)]
    assert found[names.index("<unk>")] == "Zeppelin"
    assert [word for word in found if word.strip()] == [
        "The", "Zeppelin", "sat", ",", "l'", "Homme", "!",
    ]  # fmt: skip


def test_characters_spelt_in_bytes_are_whole_at_each_of_their_bytes() -> None:
    field = FIELDS["subword", "NFC", False]
    text = "the \u0436 cat"
    names = field.tokens(field.encode(text))
    at = [text[start:end] for start, end in field.offsets(text)]
    assert [at[place] for place, name in enumerate(names) if name.startswith("<0x")] == [
        "\u0436", "\u0436",
    ]  # fmt: skip


def test_a_rule_that_looks_further_than_a_character_still_covers_all() -> None:
    text = "abc\u00e9"
    alignment = TextAlignment.of_normalized(text, lambda part: "xy" if part == text else part)
    assert alignment is not None
    assert [alignment.original((0, 1)), alignment.original((1, 2))] == [(0, 4), (0, 4)]


@settings(max_examples=100)
@given(turns=st.lists(texts, min_size=1, max_size=4), newest=st.integers(0, 3))
def test_turns_are_lines_of_one_text(turns: list[str], newest: int) -> None:
    config = TurnsConfig(unit="word", min_count=1, most_turns=newest)
    field = TurnsField.learn(config, [join_turns(SENTENCES)], seed=1)
    cell = join_turns(turns)
    offsets, text = field.offsets(cell), field.plain_text(cell)
    (row,) = field.rows([cell])
    assert text == "\n".join(turns)
    assert len(offsets) == len(row)
    read = "\n".join(turns[-newest:])
    begin = len(text) - len(read)
    check_order(read, [(start - begin, end - begin) for start, end in offsets])
    for name, (start, end) in zip(field.tokens(row), offsets, strict=True):
        assert (name == "<turn>") == (text[start:end] == "\n" and name not in ("\\n", "<unk>"))


@settings(max_examples=100)
@given(word=texts, tags=st.lists(st.sampled_from(["V", "PST", "3"]), max_size=4))
def test_columns_are_lines_of_one_text(word: str, tags: list[str]) -> None:
    config = ColumnsConfig.model_validate(
        {"kind": "columns", "units": ["character", "feature"], "min_count": 1}
    )
    field = ColumnsField.learn(config, [json.dumps(["abc", "V;PST;3"])], seed=1)
    listed = ";; ".join(tags) + ";"
    cell = json.dumps([word, listed])
    text, offsets = field.plain_text(cell), field.offsets(cell)
    (row,) = field.rows([cell])
    assert text == f"{word}\n{listed}"
    assert len(offsets) == len(row)
    check_order(text.replace(";", " "), offsets)
    separator = field.tokens(row).index("<column 2>")
    assert text[slice(*offsets[separator])] == "\n"
    assert [text[start:end] for start, end in offsets[separator + 1 : -1]] == tags


def test_columns_that_are_cut_keep_their_separators() -> None:
    config = ColumnsConfig.model_validate(
        {"kind": "columns", "units": ["character", "character"], "min_count": 1}
    )
    field = ColumnsField.learn(config, [json.dumps(["abcdef", "abc"])], seed=1)
    (row,) = field.rows([json.dumps(["abcdef", "abc"])])
    for most in range(3, 12):
        cut = field.truncate(row, most)
        both = field.truncate(np.column_stack([row, np.arange(len(row))]).astype(np.int32), most)
        assert both[:, 0].tolist() == cut.tolist() == row[both[:, 1]].tolist()
        assert field.tokens(cut).count("<column 2>") == 1
        assert len(cut) <= max(4, most + 1)


@settings(max_examples=100)
@given(left=texts, right=texts)
def test_blanks_are_their_markers(left: str, right: str) -> None:
    field = MarkedText(FIELDS["word", "NFC", False], "___")
    cell = f"{left} \\___ ____ {right}"
    if field.fault(cell) is not None:
        return
    (row,) = field.rows([cell])
    offsets = field.offsets(cell)
    assert len(offsets) == len(row)
    check_order(cell, offsets)
    marked = [cell[start:end] for start, end in offsets if "_" in cell[start:end]]
    assert "____" in marked
    assert any(piece.startswith("\\_") for piece in marked)
