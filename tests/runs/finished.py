"""A tiny run that has learnt something, trained once for all tests that only use it."""

from pathlib import Path

from seqloom.api.train import train
from tests.runs.support import PAIRS, options

__all__ = ["make_run"]


def make_run(folder: Path, preset: str = "transformer") -> Path:
    """Enough updates for outputs that end and differ."""
    chosen = options(preset, dropout=0.0, updates=60, validate_every=30, rate=2e-2, average="none")
    train(PAIRS, folder / preset, options=chosen)
    return folder / preset
