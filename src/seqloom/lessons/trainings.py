"""Short trainings with the toolkit itself, in a folder that is removed afterwards."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import merge
from seqloom.prediction.predictor import Predictor

__all__ = ["SMALL", "learn", "learn_seeds", "share_correct", "share_words", "strings", "trained"]

SMALL = {
    "model": {
        "embedding": 32,
        "encoder": {"width": 32, "layers": 1},
        "decoder": {"width": 64},
    },
    "training": {"samples": 0, "workers": 1, "validate_every": 1_000_000},
}


def strings(count: int, *, shortest: int, longest: int, seed: int = 1) -> list[tuple[str, str]]:
    """Strings of letters, and the same backwards."""
    chosen = random.Random(seed)
    texts = [
        "".join(chosen.choices("abcdefghij", k=chosen.randint(shortest, longest)))
        for _ in range(count)
    ]
    return [(text, text[::-1]) for text in texts]


@contextmanager
def trained(pairs: Sequence[tuple[Any, str]], options: Mapping[str, Any]) -> Iterator[Predictor]:
    """A small GRU model with these options that has learnt from the pairs; it is not kept."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        chosen = merge(SMALL, dict(options))
        train([*pairs], run, valid=[*pairs[:20]], model="gru", options=chosen, watch=False)
        yield load(run)


def learn(
    pairs: Sequence[tuple[str, str]], inputs: Sequence[str], options: Mapping[str, Any]
) -> list[str]:
    """What such a model writes for the inputs."""
    with trained(pairs, options) as model:
        return [output.text for output in model.predict([*inputs])]


def learn_seeds(
    pairs: Sequence[tuple[str, str]], test: Sequence[tuple[str, str]], options: Mapping[str, Any],
    seeds: int,
) -> list[list[str]]:  # fmt: skip
    """What each of several such models writes for the sources of the test, from seed 1 on."""
    sources = [source for source, _ in test]
    return [learn(pairs, sources, {**options, "seed": seed}) for seed in range(1, seeds + 1)]


def share_words(shares: Sequence[float]) -> str:
    """Shares of several seeds as their mean and, in brackets, the smallest and the largest."""
    mean = f"{sum(shares) / len(shares):.0%}"
    return mean + f" ({min(shares):.0%}–{max(shares):.0%})" * (len(shares) > 1)


def share_correct(outputs: Sequence[str], pairs: Sequence[tuple[str, str]]) -> float:
    """The share of outputs that are right to the letter."""
    right = [output == target for output, (_, target) in zip(outputs, pairs, strict=True)]
    return sum(right) / len(right)
