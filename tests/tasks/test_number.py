"""Numbers from end to end."""

import math
import random
from pathlib import Path
from typing import Any

from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.tasks import Evaluation

SHORT: dict[str, Any] = {"workers": 1, "curves": False, "average": "none", "samples": 0}


def counted(rows: int, *, seed: int) -> list[tuple[str, str]]:
    """Texts of one to twenty words, and the logarithm of how many."""
    chance = random.Random(seed)
    lengths = [chance.randint(1, 20) for _ in range(rows)]
    words = ["the", "a", "cat", "dog", "sat", "ran"]
    return [(" ".join(chance.choices(words, k=n)), f"{math.log(n):.6f}") for n in lengths]


def test_the_logarithm_of_the_number_of_words_is_learnt(tmp_path: Path) -> None:
    """At least 95 % of the spread of rows never seen is explained (S1.1, text to number)."""
    options = {
        "target": "number",
        "source": {"unit": "word"},
        "model": {"embedding": 8, "encoder": {"width": 16}, "decoder": {"pool": "max"}},
        "training": {**SHORT, "updates": 150, "batch_tokens": 512, "rate": 2e-2, "warmup": 10},
    }
    train(counted(300, seed=1), tmp_path, valid=counted(50, seed=2), options=options)
    found = evaluate(load(tmp_path), counted(100, seed=3))
    assert isinstance(found, Evaluation)
    assert found.scores[0].name == "R²"
    assert found.scores[0].value >= 0.95
    assert found.baselines["mean"].value <= 0
    assert 0 < found.baselines["linear"].value < 0.95
