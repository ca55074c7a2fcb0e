"""RELIABILITY C5: each architecture learns to copy, to reverse and to sort."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import merge
from tests.counts import count

pytestmark = pytest.mark.faults

FULL = count(0, 1) == 1
LETTERS = "abcdefgh"[: count(4, 8)]
TASKS: dict[str, Callable[[str], str]] = {
    "copy": lambda text: text,
    "reverse": lambda text: text[::-1],
    "sort": lambda text: "".join(sorted(text)),
}
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer", {}),
    "fast": ("fast", {}),
    "tiny": ("tiny", {}),
    "lstm": ("lstm", {}),
    "gru": ("gru", {}),
    "elman": ("elman", {}),
    "ssru": ("lstm", {"encoder": {"unit": "ssru"}, "decoder": {"unit": "ssru"}}),
    "gru reset after": (
        "gru",
        {"encoder": {"unit": {"reset": "after"}}, "decoder": {"unit": {"reset": "after"}}},
    ),
    "lstm without attention": ("lstm", {"decoder": {"attention": "none"}}),
    "lstm one network": (
        "lstm",
        {
            "encoder": {"kind": "vectors"},
            "decoder": {"first_state": "read", "attention": "none"},
        },
    ),
    "lstm fed": ("lstm", {"decoder": {"attention": {"feed": True}}}),
    "gru previous state": (
        "gru",
        {"decoder": {"attention": {"score": "additive", "query": "previous"}}},
    ),
    "gru local": ("gru", {"decoder": {"attention": {"kind": "local", "window": 3}}}),
    "decoder only": (
        "transformer",
        {"encoder": {"kind": "vectors"}, "decoder": {"source": "read"}},
    ),
    "rotary": (
        "transformer",
        {"encoder": {"positions": "rotary"}, "decoder": {"positions": "rotary"}},
    ),
    "learned positions, gated, norm after": (
        "transformer",
        {
            side: {
                "positions": {"kind": "learned", "most": 32},
                "activation": "gated",
                "norm": "after",
            }
            for side in ("encoder", "decoder")
        },
    ),
}
CASES = [(name, task) for name in ARCHITECTURES for task in TASKS]
WIDTH = 64
SURE = 0.001  # nats a letter on held-out strings, at which learning may stop


def sized(preset: str, model: dict[str, Any]) -> dict[str, Any]:
    """The architecture with small layers and no dropout: eight letters are quickly learnt."""
    recurrent = preset not in ("transformer", "fast", "tiny")
    for side, times in (("encoder", 1), ("decoder", 2 if recurrent else 1)):
        if model.get(side, {}).get("kind") == "vectors":
            continue
        size = {"dropout": 0.0, "width": times * WIDTH}
        model = merge(model, {side: size if recurrent else {**size, "inner": 4 * WIDTH}})
    return merge({"share_vocabulary": False, "embedding": WIDTH}, model)


def pairs(task: str) -> list[tuple[str, str]]:
    """Different strings of two letters or more in a random order."""
    chance = random.Random(1)
    texts: set[str] = set()
    while len(texts) < count(700, 20_000):
        texts.add("".join(chance.choices(LETTERS, k=chance.randint(2, count(5, 7)))))
    shuffled = sorted(texts)
    chance.shuffle(shuffled)
    return [(text, TASKS[task](text)) for text in shuffled]


@pytest.mark.parametrize(("name", "task"), CASES if FULL else [("gru", "reverse")])
def test_an_architecture_learns_a_task(name: str, task: str, tmp_path: Path) -> None:
    """At least 99 % of strings it has never seen are exactly right."""
    rows = pairs(task)
    unseen, held_out, known = rows[:100], rows[100:300], rows[300:]
    preset, model = ARCHITECTURES[name]
    character = {"unit": "character"}
    options = {
        "source": character,
        "target": character,
        "model": sized(preset, model),
        "training": {
            "updates": count(200, 3_000),
            "warmup": 100,
            "validate_every": 200,
            "monitor": "loss",
            "target": count(0, 1) * SURE,
            "patience": 0,
            "batch_tokens": count(512, 1_024),
            "label_smoothing": 0.0,
            "average": "moving",
            "average_decay": 0.99,
            "workers": 1,
        },
    }
    train(known, tmp_path / "run", valid=held_out, model=preset, options=options)
    found = load(tmp_path / "run").predict([source for source, _ in unseen])
    right = sum(output.text == target for output, (_, target) in zip(found, unseen, strict=True))
    assert right >= 0.99 * len(unseen)
