"""Short training runs with the toolkit, in a temporary folder."""

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
    """Random strings of letters, and their reversals."""
    chosen = random.Random(seed)
    texts = [
        "".join(chosen.choices("abcdefghij", k=chosen.randint(shortest, longest)))
        for _ in range(count)
    ]
    return [(text, text[::-1]) for text in texts]


@contextmanager
def trained(pairs: Sequence[tuple[Any, str]], options: Mapping[str, Any]) -> Iterator[Predictor]:
    """Train a small GRU model with these options; it is removed afterwards."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        chosen = merge(SMALL, dict(options))
        train([*pairs], run, valid=[*pairs[:20]], model="gru", options=chosen, watch=False)
        yield load(run)


def learn(
    pairs: Sequence[tuple[str, str]], inputs: Sequence[str], options: Mapping[str, Any]
) -> list[str]:
    """Train such a model and return its outputs for the inputs."""
    with trained(pairs, options) as model:
        return [output.text for output in model.predict([*inputs])]


def learn_seeds(
    pairs: Sequence[tuple[str, str]], test: Sequence[tuple[str, str]], options: Mapping[str, Any],
    seeds: int,
) -> list[list[str]]:  # fmt: skip
    """Train such a model for each seed from 1; return its outputs for the test sources."""
    sources = [source for source, _ in test]
    return [learn(pairs, sources, {**options, "seed": seed}) for seed in range(1, seeds + 1)]


def share_words(shares: Sequence[float]) -> str:
    """The mean of several seeds' shares with, in brackets, the smallest and largest."""
    mean = f"{sum(shares) / len(shares):.0%}"
    return mean + f" ({min(shares):.0%}–{max(shares):.0%})" * (len(shares) > 1)


def share_correct(outputs: Sequence[str], pairs: Sequence[tuple[str, str]]) -> float:
    """The share of outputs that match exactly."""
    right = [output == target for output, (_, target) in zip(outputs, pairs, strict=True)]
    return sum(right) / len(right)
