"""Requirements of CTC, position-wise teachers and agreement losses on the configuration, and of CTC
on the rows (S1.1, S3.5).
"""

import numpy as np

from seqloom.config import Config
from seqloom.data import Corpus
from seqloom.errors import ConfigError, DataError
from seqloom.remedies import Setting

__all__ = ["check_agreement", "check_ctc_config", "check_ctc_lengths", "check_teaching"]


def check_teaching(config: Config) -> None:
    """Raise ConfigError if teachers of positions do not fit the configuration."""
    training, target = config.training, config.target
    if training.teaching.runs:
        _refuse(
            {
                "training.truncate": bool(training.truncate) and not target.is_aligned,
                **_other_losses(config),
                "target.kind": target.kind in ("series", "number", "blanks"),
            },
            "training.teaching.runs",
            "teachers of single positions",
            remedy="distill whole outputs alone",
        )


def check_agreement(config: Config) -> None:
    """Raise ConfigError if the agreement loss does not fit the configuration."""
    training = config.training
    if training.agreement:
        _refuse(
            {
                "training.truncate": bool(training.truncate),
                "training.teaching.runs": bool(training.teaching.runs),
                **_other_losses(config),
                "target.kind": not config.target.is_text,
            },
            "training.agreement",
            "rows that are read twice",
            remedy="set training.agreement=0",
        )


def _other_losses(config: Config) -> dict[str, bool]:
    """The options that select another loss."""
    model = config.model
    return {
        "training.forcing": config.training.forcing.free_running is not None,
        "data.lines": config.data.lines == "stream",
        "model.ctc": bool(model.ctc) or model.decoder.is_ctc,
    }


def _refuse(told: dict[str, bool], place: str, reason: str, *, remedy: str) -> None:
    for name, wrong in told.items():
        if wrong:
            raise ConfigError(
                f"{name} does not go with {reason}",
                place=Setting(place),
                remedy=f"change {name}, or {remedy}",
            )


def check_ctc_config(config: Config) -> None:
    """Raise ConfigError if CTC does not fit the configuration."""
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
    """Raise DataError at the first row with fewer steps than its symbols require."""
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
