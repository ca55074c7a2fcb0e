"""A vocabulary that grows (S6.7): what was known stays, what was unknown comes back whole."""

from pathlib import Path

import pytest

from seqloom.config import TextConfig
from seqloom.fields import UNK, TextField, load_text

OLD = ["the cat sat.", "a dog, a cat", "the mat was flat"] * 20
NEW = ["the zebra, quick!", "a cat sat «there» zebra"] * 3
UNITS = ("character", "word", "subword", "byte")
each_unit = pytest.mark.parametrize("unit", UNITS)


def learnt(unit: str, **options: int) -> TextField:
    config = TextConfig.model_validate({"unit": unit, "size": 400, **options})
    return TextField.learn(config, OLD, seed=1)


@each_unit
def test_old_texts_have_the_ids_they_had(unit: str) -> None:
    field = learnt(unit)
    grown = field.extend(NEW)
    for text in OLD:
        assert grown.encode(text).tolist() == field.encode(text).tolist()
    assert grown.tokens(range(field.size)) == field.tokens(range(field.size))


@each_unit
def test_new_texts_come_back(unit: str) -> None:
    """Bytes and subwords can write every text, so nothing is added to them."""
    field = learnt(unit)
    grown = field.extend(NEW)
    for text in NEW:
        assert grown.decode(grown.encode(text)) == text
        assert UNK not in grown.encode(text)
    assert (grown.size > field.size) == (unit in ("character", "word"))
    assert grown.extend(NEW).fingerprint == grown.fingerprint


@each_unit
def test_it_is_saved_like_any_other(unit: str, tmp_path: Path) -> None:
    """Also where it has outgrown the size that it was learnt with."""
    field = learnt(unit, **({} if unit in ("subword", "byte") else {"size": 12}))
    grown = field.extend(NEW)
    grown.save(tmp_path / "field")
    assert load_text(tmp_path / "field").fingerprint == grown.fingerprint
    assert grown.config.size >= grown.size


def test_rare_symbols_stay_unknown() -> None:
    """`min_count` holds for new symbols too."""
    grown = learnt("word", min_count=4).extend(NEW)
    assert UNK not in grown.encode("zebra")
    assert UNK in grown.encode("quick")
