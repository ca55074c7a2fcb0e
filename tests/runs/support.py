"""What the tests of runs share: tiny tasks and models, watchers that interfere, comparisons."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqloom.api.train import train
from seqloom.api.training_result import TrainingResult
from seqloom.data import Data
from seqloom.errors import Interrupted
from seqloom.runs.progress import SilentObserver
from seqloom.store import Checkpoint, RunDirectory
from seqloom.training import Update

__all__ = [
    "PAIRS",
    "PRESETS",
    "Crash",
    "Listening",
    "Options",
    "Watching",
    "assert_same",
    "at",
    "crash",
    "history",
    "interrupt",
    "last",
    "options",
    "sitting",
    "tensors",
    "trained",
    "write_pairs",
]

PAIRS = [(f"{a}{b}{c}", f"{c}{b}{a}") for a in "abcd" for b in "efgh" for c in "ijkl"]
PRESETS = ("lstm", "transformer")

Options = dict[str, Any]
Action = Callable[[Update], None]


class Crash(Exception):
    """Ends a run as a power cut would, as far as the run can tell."""


class Watching(SilentObserver):
    """Does something at every update."""

    def __init__(self, updated: Action) -> None:
        self._updated = updated

    def on_update(self, update: Update) -> None:
        self._updated(update)


def at(step: int, action: Callable[[], object]) -> Watching:
    """Does something once, after this many updates."""

    def updated(update: Update) -> None:
        if update.step == step:
            action()

    return Watching(updated)


def interrupt() -> None:
    """What Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


def crash() -> None:
    raise Crash


def options(preset: str = "transformer", *, dropout: float = 0.2, **training: Any) -> Options:
    """A model of a few hundred weights that makes a dozen updates alone, unless told otherwise."""
    if preset == "lstm":
        stack = {"kind": "recurrent", "layers": 1, "dropout": dropout}
        encoder, decoder = {**stack, "width": 8}, {**stack, "width": 12}
    else:
        stack = {"kind": "transformer", "width": 8, "inner": 16, "heads": 2, "layers": 1}
        encoder = decoder = {**stack, "dropout": dropout}
    short = {"updates": 12, "batch_tokens": 128, "validate_every": 4, "warmup": 2}
    alone = {"workers": 1, "curves": False}
    return {
        "data": {"valid_share": 0.2, "valid_rows": 8},
        "model": {"embedding": 8, "encoder": encoder, "decoder": decoder},
        "training": {**short, **alone, **training},
        "search": {"max_extra": 2},
    }


def sitting(run: Path, chosen: Options, *, until: int, data: Data = PAIRS) -> None:
    """Train until Ctrl-C after this many updates; after the last one, its validation is left."""
    try:
        train(data, run, options=chosen, watch=at(until, interrupt))
    except Interrupted as stopped:
        assert f"step {until} is saved" in str(stopped)  # noqa: PT017
        if until >= chosen["training"]["updates"]:
            train(data, run, options=chosen)
    else:
        assert until >= chosen["training"]["updates"]


def write_pairs(path: Path, pairs: list[tuple[str, str]] = PAIRS) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


def last(run: Path) -> Checkpoint:
    step = RunDirectory(run).latest_checkpoint()
    assert step is not None
    return step


def history(run: Path) -> list[dict[str, Any]]:
    """The held-out results up to the newest step."""
    results: list[dict[str, Any]] = last(run).progress()["validations"]
    return results


def tensors(step: Checkpoint) -> dict[str, dict[str, Tensor]]:
    return {name: step.load(name) for name in step.names()}


def assert_same(run: Path, other: Path) -> None:
    """Both ended in the same step, bit for bit: weights, optimiser, average, held-out results."""
    one, two = last(run), last(other)
    assert one.number == two.number
    assert history(run) == history(other)
    mine, theirs = tensors(one), tensors(two)
    assert mine.keys() == theirs.keys() >= {"model", "optimizer"}
    for name, values in mine.items():
        assert values.keys() == theirs[name].keys()
        assert values or name == "optimizer"  # which plain gradient descent does without
        for key, value in values.items():
            assert torch.equal(value, theirs[name][key]), f"{name}: {key}"


def trained(run: Path, chosen: Options) -> TrainingResult:
    return train(PAIRS, run, options=chosen)


class Listening(SilentObserver):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_message(self, sentence: str) -> None:
        self.heard.append(sentence)
