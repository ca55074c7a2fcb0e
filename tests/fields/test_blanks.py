"""S8, fill-in: gaps are marked, read as one token each, and filled in where they were."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import BlanksConfig, TextConfig
from seqloom.errors import RunError
from seqloom.fields import (
    BLANK,
    END,
    SPECIAL_SYMBOLS,
    BlanksField,
    MarkedText,
    TextField,
    learn_target,
    load_field,
)

TEXTS = ["I am very hungry, I could eat half a pig.", "you are  not", "l'homme est là."]


def text(unit: str, min_count: int = 1) -> TextField:
    config = TextConfig.model_validate({"unit": unit, "min_count": min_count})
    return TextField.learn(config, TEXTS * min_count, seed=1)


def test_the_three_inputs_of_the_text() -> None:
    """S10: a gap is one token, wherever it stands, and the rest stays as it is."""
    field = text("word")
    marked = MarkedText(field, "___")
    for line in ("I am __", "I am __ very hungry.", "I am __ very hungry, I could eat half a pig."):
        (row,) = marked.rows([line])
        whole = field.rows([line.replace("__", "not")])[0]
        places = np.flatnonzero(row == BLANK)
        assert places.tolist() == [2]
        assert row.tolist() == [
            BLANK if n == 2 else token for n, token in enumerate(whole.tolist())
        ]
        assert marked.fill(line, [int(whole[2])]) == line.replace("__", "not")


@pytest.mark.parametrize("unit", ["character", "word", "symbol"])
@given(data=st.data())
def test_marking_tokens_and_filling_them_in_gives_the_text_back(
    unit: str, data: st.DataObject
) -> None:
    """For every unit and any tokens, also behind markers that are plain text."""
    field = text(unit)
    marked = MarkedText(field, "[?]")
    ids = field.encode(data.draw(st.sampled_from(TEXTS)))
    fillable = BlanksField.from_source(BlanksConfig(), field).fillable
    places = [n for n, token in enumerate(ids) if fillable[token] and data.draw(st.booleans())]
    gapped = np.append(ids, END)
    gapped[places] = BLANK
    cell = marked.cell(gapped[:-1])
    assert (marked.fault(cell) is None) == bool(places)
    assert np.array_equal(marked.rows([cell])[0], gapped)
    filled = marked.fill(cell, ids[places].tolist())
    assert filled.split() == field.decode(ids).split() or unit == "word"  # where marks stand apart
    assert "".join(filled.split()) == "".join(field.decode(ids).split())
    assert marked.tokens(gapped)[:-1].count("[?]") == len(places)


def test_what_counts_as_a_marker() -> None:
    """Two or more equal characters; any other marker as it is; after a backslash plain text."""
    field = text("symbol")
    for marker, line, gaps in (
        ("___", "I __ very _____ a ___", 3),
        ("___", r"I \___ very ___", 1),
        ("_", "_ am _", 2),
        ("<mask>", "I <mask> a", 1),
    ):
        (row,) = MarkedText(field, marker).rows([line])
        assert int((row == BLANK).sum()) == gaps, line
    assert (
        MarkedText(field, "___").fill(r"a \___ ___", field.encode("pig.").tolist()) == "a ___ pig."
    )


def test_an_input_without_a_gap_or_with_half_a_token() -> None:
    marked = MarkedText(text("symbol"), "___")
    assert str(marked.fault("I am hungry")) == (
        "there is no blank to fill in; write ___ where a token is missing"
    )
    assert str(marked.fault("I am <mask> hungry")) == str(marked.fault("I am hungry"))
    assert str(marked.fault("I am___ hungry")).startswith("a blank stands for a whole symbol; put")
    assert marked.fault("I am ___ hungry") is None


def test_rare_words_are_unknown_and_the_gap_is_not() -> None:
    """A gap is told from an unknown word where words must come several times."""
    marked = MarkedText(text("word", min_count=2), "___")
    (row,) = marked.rows(["I never ___"])
    assert row.tolist()[-2:] == [BLANK, END]
    assert int((row == BLANK).sum()) == 1


def test_what_can_be_in_a_gap() -> None:
    """Neither special symbols nor the spacing between words; of characters, spaces too."""
    for unit, barred in (("word", 2), ("symbol", 0), ("character", 0)):
        field = text(unit)
        fillable = BlanksField.from_source(BlanksConfig(), field).fillable
        assert not fillable[: len(SPECIAL_SYMBOLS)].any()
        blank = [n for n in range(len(SPECIAL_SYMBOLS), field.size) if not fillable[n]]
        assert len(blank) == barred
        assert all(not field.decode([token]).strip() for token in blank)


OLD = """{"format": 1,
"config": {"kind": "gaps", "marker": "?", "share": 0.15, "kept": 0.0, "replaced": 0.0},
"symbols": ["a", "b"],
"text": {"kind": "text", "unit": "character", "algorithm": "unigram", "size": 100, "min_count": 1,
"normalize": "NFC", "lowercase": false, "spelling": 0},
"sha256": "a9edbbf37f43f42f3a2b49b59a3699a72cc83ff4701d58027cf478d48786cb35"}
"""


def test_a_field_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    """0.1.0 wrote this file; its hash, which caches and ensembles go by, stays what it was."""
    (tmp_path / "field.json").write_text(OLD, encoding="ascii")
    field = load_field(tmp_path)
    assert field.config == BlanksConfig(marker="?")
    assert field.fingerprint == json.loads(OLD)["sha256"]
    field.save(tmp_path / "again")
    assert json.loads((tmp_path / "again" / "field.json").read_text())["config"]["kind"] == "blanks"
    assert load_field(tmp_path / "again").fingerprint == field.fingerprint


def test_a_saved_field_is_the_same(tmp_path: Path) -> None:
    """RELIABILITY, files: also its fingerprint; a damaged one is refused with its place."""
    field = learn_target(BlanksConfig(marker="?"), [], source=text("word"), seed=1)
    field.save(tmp_path)
    again = load_field(tmp_path)
    assert isinstance(again, BlanksField)
    assert again.fingerprint == field.fingerprint
    assert again.describe() == "blanks for one word each, marked ?"
    for mine, theirs in zip(field.rows(TEXTS), again.rows(TEXTS), strict=True):
        assert np.array_equal(mine, theirs)
    facts = tmp_path / "field.json"
    facts.write_text(facts.read_text().replace('"text": {', '"other": {'))
    with pytest.raises(RunError, match=r"field\.json: does not say how its text is cut"):
        load_field(tmp_path)
