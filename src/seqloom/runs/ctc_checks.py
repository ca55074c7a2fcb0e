"""What learning from alignments asks of the configuration and of the rows (S3.5)."""

import numpy as np

from seqloom.config import Config, SoundFrontEndConfig
from seqloom.data import Corpus
from seqloom.errors import ConfigError, DataError

__all__ = ["check_ctc_config", "check_ctc_lengths"]


def check_ctc_config(config: Config) -> None:
    """ConfigError where alignments cannot be learnt from as configured."""
    if config.model.ctc and config.training.truncate:
        raise ConfigError(
            f"model.ctc = {config.model.ctc:g} needs whole targets",
            remedy="set training.truncate=0, or model.ctc=0",
        )


def check_ctc_lengths(config: Config, corpus: Corpus) -> None:
    """DataError at the first row with fewer steps than its symbols need."""
    front = config.model.front
    if not config.model.ctc or not isinstance(front, SoundFrontEndConfig):
        return
    steps = corpus.lengths.source
    for _ in range(front.halvings):
        steps = (steps + 1) // 2
    items, rows = corpus.flat("target", closing=1)
    alike = (items[1:] == items[:-1]) & (rows[1:] == rows[:-1])
    symbols = np.bincount(rows, minlength=len(corpus))
    needed = symbols + np.bincount(rows[1:][alike], minlength=len(corpus))
    short = np.flatnonzero(steps < needed)
    if len(short):
        row = int(short[0])
        raise DataError(
            f"the target has {symbols[row]:,} symbols and the recording only {steps[row]:,} "
            "steps to align them with",
            place=corpus.place(row),
            remedy="lower model.front.halvings, or set model.ctc=0",
        )
