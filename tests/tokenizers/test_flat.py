"""Thousands of texts at once have the ids that each has by itself."""

from random import Random

import numpy as np
import pytest

from seqloom.config.columns import TextConfig
from seqloom.fields import learn_field
from seqloom.tokenizers import chunks
from tests.counts import count

WORDS = [
    "the",
    "l'",
    "l'eau",
    "it's",
    "don’t",
    "dis-moi",
    "3.5",
    "?",
    "« oui »",
    "日本語",
    "é",
    "E\u0301",
]
GAPS = [" "] * 9 + ["  ", "\u00a0", "\t", "\n", "", " \u202f"]


def random_text(chance: Random) -> str:
    parts = []
    for _ in range(chance.randrange(1, 9)):
        parts += [chance.choice([*WORDS, *(f"w{n}" for n in range(30))]), chance.choice(GAPS)]
    return "".join(parts) if chance.random() < 0.5 else "".join(parts).strip()


@pytest.mark.parametrize("unit", ["byte", "character", "word", "symbol", "subword"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_flat_rows_are_the_rows(
    unit: str, lowercase: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_CHUNKS", 60)
    chance = Random(unit)
    texts = [random_text(chance) for _ in range(400)]
    config = TextConfig(unit=unit, lowercase=lowercase, size=400 if unit == "subword" else 40)
    field = learn_field(config, texts[:200], seed=1)
    parts = [texts[start : start + 40] for start in range(0, 400, 40)]
    parts += [[random_text(chance) for _ in range(40)] for _ in range(count(0, 490))]
    for some in [*parts, ["w1 \n w2", "w1 w2", "", "\n"]]:
        flat = field.flat_rows(some)
        assert [row.tolist() for row in flat.rows()] == [row.tolist() for row in field.rows(some)]
    assert not len(field.flat_rows([]).values)
    assert np.array_equal(field.flat_rows([""]).values, field.rows([""])[0])
