"""Parts of a user's own, one module each, and runs that are made of nothing else."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from seqloom.config import merge
from seqloom.registry import FAMILIES
from tests.runs.support import PAIRS, options

__all__ = ["FOLDER", "KINDS", "MEMBERS", "RUNS", "ToyRun", "forget_parts", "toy_parts"]

FOLDER = Path(__file__).parent / "parts"
MEMBERS: dict[str, list[tuple[str, str]]] = {
    "arrow_format": [("file format", "arrows")],
    "bag_decoder": [("decoder", "bag")],
    "colour_field": [("kind of source", "colour"), ("kind of column", "colour")],
    "distance_score": [("attention score", "distance")],
    "favourite_search": [("search", "favourite")],
    "leaky_unit": [("unit", "leaky")],
    "length_metric": [("metric", "length ratio")],
    "long_ranking": [("ranking", "long")],
    "median_baseline": [("baseline", "median rating")],
    "sawtooth_schedule": [("schedule", "sawtooth")],
    "sign_optimizer": [("optimizer", "signs")],
    "stars_field": [("kind of target", "stars"), ("kind of column", "stars")],
    "stars_task": [("task", "stars"), ("metric", "within one star")],
    "triangle_positions": [("kind of positions", "triangle")],
}
"""The members that each module registers, by family and kind."""


@contextmanager
def toy_parts(*names: str) -> Iterator[Any]:
    """The modules of parts, all or these, as attributes; forgotten afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        with forget_parts(patch):
            yield SimpleNamespace(**{name: import_module(name) for name in names or MEMBERS})


@contextmanager
def forget_parts(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within the block no part of a user's is known at first, and none of it afterwards."""
    with patch.context() as inner:
        for family in FAMILIES.values():
            family.load()
            for members in ("_options", "parts"):
                own = copy(getattr(family, members))
                for kind in [kind for kind in own if not family.is_built_in(kind)]:
                    del own[kind]
                inner.setattr(family, members, own)
        for name in MEMBERS:
            inner.delitem(sys.modules, name, raising=False)
        try:
            yield
        finally:
            for name in MEMBERS:
                sys.modules.pop(name, None)


class ToyRun(NamedTuple):
    """What a run is trained on and with, an input for it, and the parts that it must record."""

    rows: list[tuple[str, str]]
    options: dict[str, Any]
    cell: str
    parts: dict[str, dict[str, str]]


SHORT = options(updates=8, validate_every=4, rate=0.01)
SHORT["search"] = {"max_ratio": 0.5, "max_extra": 1}  # few outputs, which exact search soon has
COLOURS = [
    (f"#{red:02x}{green:02x}40", str(1 + (red + green) // 128))
    for red in range(0, 256, 32)
    for green in range(0, 256, 32)
]
RUNS = {
    "recurrent": ToyRun(
        PAIRS,
        {
            **SHORT,
            "model": {
                "embedding": 8,
                "encoder": {
                    "kind": "recurrent", "width": 4, "layers": 1, "direction": "both",
                    "unit": {"kind": "leaky", "share": 0.25},
                },
                "decoder": {
                    "kind": "recurrent", "width": 8, "layers": 1, "unit": "leaky",
                    "attention": {"score": "distance"},
                },
            },
            "training": {
                **SHORT["training"],
                "optimizer": {"kind": "signs", "momentum": 0.5},
                "decay": "sawtooth",
            },
            "search": {
                **SHORT["search"],
                "method": {"kind": "favourite", "worth": 1.5},
                "ranking": {"kind": "long", "bonus": 2.0},
            },
        },
        "aei",
        {
            "unit": {"leaky": "leaky_unit"},
            "attention score": {"distance": "distance_score"},
            "optimizer": {"signs": "sign_optimizer"},
            "schedule": {"sawtooth": "sawtooth_schedule"},
            "search": {"favourite": "favourite_search"},
            "ranking": {"long": "long_ranking"},
        },
    ),
    "bag": ToyRun(
        PAIRS,
        merge(
            {**SHORT, "model": {"decoder": {"kind": "bag"}}},
            {
                "model": {
                    "embedding": 7,
                    "encoder": {
                        **SHORT["model"]["encoder"],
                        "positions": {"kind": "triangle", "period": 4},
                    },
                }
            },
        ),
        "aei",
        {
            "decoder": {"bag": "bag_decoder"},
            "kind of positions": {"triangle": "triangle_positions"},
        },
    ),
    "stars": ToyRun(
        COLOURS,
        {
            "data": SHORT["data"],
            "source": {"kind": "colour", "gamma": 2.0},
            "target": {"kind": "stars", "most": 4},
            "training": {**SHORT["training"], "updates": 60, "validate_every": 30, "rate": 0.05},
        },
        "#ff8040",
        {
            "kind of source": {"colour": "colour_field"},
            "kind of target": {"stars": "stars_field"},
            "kind of column": {"colour": "colour_field", "stars": "stars_field"},
            "task": {"stars": "stars_task"},
        },
    ),
}  # fmt: skip
KINDS = tuple(RUNS)
