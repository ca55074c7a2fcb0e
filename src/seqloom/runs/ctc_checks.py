"""What CTC, alone or beside a decoder, asks of the configuration and of the rows (S1.1, S3.5)."""

import numpy as np

from seqloom.config import Config
from seqloom.data import Corpus
from seqloom.errors import ConfigError, DataError

__all__ = ["check_ctc_config", "check_ctc_lengths"]


def check_ctc_config(config: Config) -> None:
    """ConfigError where alignments cannot be learnt from as configured."""
    model, alone = config.model, config.model.decoder.is_ctc
    if alone and model.ctc:
        raise ConfigError(
            f"model.ctc = {model.ctc:g} is a share of a decoder's loss, and "
            "model.decoder.kind = 'ctc' has no other",
            remedy="set model.ctc=0",
        )
    if config.training.truncate:
        asked = "model.decoder.kind = 'ctc'" if alone else f"model.ctc = {model.ctc:g}"
        raise ConfigError(
            f"{asked} needs whole targets",
            remedy="set training.truncate=0"
            if alone
            else "set training.truncate=0, or model.ctc=0",
        )


def check_ctc_lengths(config: Config, corpus: Corpus) -> None:
    """DataError at the first row with fewer steps than its symbols need."""
    alone, heard = config.model.decoder.is_ctc, config.model.front.hears
    if not (alone or heard):
        return
    steps = config.model.front.count_steps(corpus.lengths.source)
    items, rows = corpus.flat("target", closing=1)
    alike = (items[1:] == items[:-1]) & (rows[1:] == rows[:-1])
    symbols = np.bincount(rows, minlength=len(corpus))
    blanks = np.bincount(rows[1:][alike], minlength=len(corpus))
    short = np.flatnonzero(steps < symbols + blanks)
    if len(short):
        row = int(short[0])
        without = "choose model.decoder.kind=recurrent" if alone else "set model.ctc=0"
        need = symbols[row] + blanks[row]
        blank = f", which take {need:,} steps with a blank between equal ones," * bool(blanks[row])
        raise DataError(
            f"the target has {symbols[row]:,} symbols{blank} and the "
            f"{'recording' if heard else 'source'} only {steps[row]:,} steps to align them with",
            place=corpus.place(row),
            remedy=f"lower model.front.halvings, or {without}"
            if heard
            else f"cut the source into smaller units (source.unit=character), or {without}",
        )
