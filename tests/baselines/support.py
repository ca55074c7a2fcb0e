"""Rows as a run keeps them, for tests of baselines."""

from pathlib import Path

from seqloom.baselines.labels import TrainingRows, baselines
from seqloom.config import ColumnConfig, DataConfig, TextConfig
from seqloom.data import Columns, Corpus, Report, read_rows
from seqloom.fields import learn_field

__all__ = ["REVIEWS", "WORDS", "guesses", "known"]

WORDS = TextConfig(unit="symbol")
REVIEWS = [
    ("good good film", "+"),
    ("good plot", "+"),
    ("bad film", "-"),
    ("film", "+"),
]


def known(
    rows: list[tuple[str, str]], folder: Path, source: ColumnConfig, target: ColumnConfig
) -> TrainingRows:
    """Rows as a run keeps them."""
    fields = [
        learn_field(config, [row[side] for row in rows], seed=1)
        for side, config in enumerate((source, target))
    ]
    config = DataConfig(header="no")
    report = Report()
    Corpus.build(
        read_rows(rows, config, report),
        Columns(fields[0], fields[1], config),
        directory=folder / "train",
        report=report,
        fingerprint="",
    )
    return TrainingRows.open(folder / "train", fields[0], fields[1])


def guesses(learnt: TrainingRows, sources: list[str]) -> dict[str, list[str]]:
    """What every rule that fits gives for these sources."""
    return baselines(learnt, learnt.source.rows(sources))
