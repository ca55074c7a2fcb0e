"""What is wrong with a model that has learnt nothing, and what to try (S6.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.data import Corpus
from seqloom.fields.specials import EMPTY
from seqloom.runs.progress import Validation

__all__ = [
    "Diagnosis",
    "diagnose",
    "number_guess_loss",
    "quantile_guess_loss",
    "symbol_guess_loss",
]

CHUNK_SIZE = 1 << 20  # symbols that are counted at a time
DIVERGENCE = (
    1.3,
    0.3,
)  # the training loss has risen if it is above its lowest by this factor and summand


@dataclass(frozen=True)
class Diagnosis:
    """A failing that has a name, and a sentence about it with what to try."""

    name: str
    sentence: str


def diagnose(validations: Sequence[Validation], guessing: float) -> Diagnosis | None:
    """The gravest failing of a run with these results, if any.

    `guessing` is the held-out loss of a model that looks at nothing.
    """
    newest, lowest = validations[-1], min(validations, key=lambda each: each.training)
    if newest.training > DIVERGENCE[0] * lowest.training + DIVERGENCE[1]:
        return Diagnosis(
            "diverged",
            f"the training loss rose from {lowest.training:.2f} at update {lowest.step:,} to "
            f"{newest.training:.2f}: training diverges; lower training.rate, lengthen "
            "training.warmup, or lower training.clip_norm",
        )
    if newest.outputs == 1:
        return Diagnosis(
            "same output",
            "the model gives the same output to every input: it does not use its source; train "
            "longer (training.updates), try another training.rate, and check that source and "
            "target belong together",
        )
    best = min(each.loss for each in validations)
    if best >= guessing:
        return Diagnosis(
            "no better than guessing",
            f"the held-out loss of {best:.2f} is no better than {guessing:.2f}, that of guessing "
            "by what is usual; train longer (training.updates), raise "
            "training.rate, or give more rows",
        )
    return None


def symbol_guess_loss(train: Corpus, valid: Corpus, count: int) -> float:
    """The loss per held-out symbol, in nats, of guessing by the share of each of `count` symbols
    among those of the training targets."""
    learnt, asked = (_count_symbols(each.targets, count) for each in (train, valid))
    learnt += 1.0
    asked[EMPTY] = 0.0  # labels that training did not have
    return float(-(asked * np.log(learnt / learnt.sum())).sum() / max(1.0, asked.sum()))


def number_guess_loss(train: Corpus, valid: Corpus) -> float:
    """The squared error per held-out row of guessing the mean of the training targets."""
    return float(np.square(valid.targets - train.targets.mean(axis=0)).sum(axis=1).mean())


def quantile_guess_loss(train: Corpus, valid: Corpus, quantiles: Sequence[float]) -> float:
    """The loss of forecasting the training targets' mean and quantiles, whatever came before."""
    learnt, asked = train.targets, valid.targets
    loss = np.square(asked - learnt.mean(axis=0))
    for share in quantiles:
        off = asked - np.quantile(learnt, share, axis=0)
        loss = loss + np.maximum(share * off, (share - 1) * off)
    return float(loss.mean())


def _count_symbols(symbols: NDArray[np.integer], kinds: int) -> NDArray[np.float64]:
    """How often each symbol comes, a stretch at a time, since counting widens what it counts."""
    found = np.zeros(kinds)
    for start in range(0, len(symbols), CHUNK_SIZE):
        found += np.bincount(symbols[start : start + CHUNK_SIZE], minlength=kinds)
    return found
