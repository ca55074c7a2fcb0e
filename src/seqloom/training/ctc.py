"""The CTC loss, beside a decoder's loss (S3.5) or alone (S1.1).

At each step of the encoder a layer gives a distribution over the target's symbols and a blank. A
path is collapsed to an output by merging repeats and dropping blanks; the likelihood of an output
is the sum over all paths that collapse to it.

Graves et al. 2006, Connectionist Temporal Classification.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from seqloom.errors import DataError
from seqloom.fields import EMPTY, END
from seqloom.model import Memory

CURE = "lower model.front.halvings, or learn without CTC"

__all__ = ["ctc_losses", "minimum_steps"]


def ctc_losses(
    aligner: Callable[[Tensor], Tensor], memory: Memory, target: Int[Tensor, "B T"]
) -> Float[Tensor, "B"]:
    """The negative log-likelihood of each target without its `<end>`, summed over all its
    alignments.

    DataError if a source has too few steps for any alignment.
    """
    if memory.states is None or memory.mask is None:
        raise DataError("there are no steps to align the target with", remedy=CURE)
    lengths = target.ne(EMPTY).sum(dim=1) - 1
    steps = memory.mask.sum(dim=1)
    short = (steps < minimum_steps(target)).nonzero().flatten().tolist()
    if short:
        raise DataError(
            f"{int(lengths[short[0]])} symbols do not fit {int(steps[short[0]])} steps of the "
            "source",
            remedy=CURE,
        )
    scores = aligner(memory.states)
    exact = scores.to(torch.promote_types(scores.dtype, torch.float32)).log_softmax(-1)
    losses: Tensor = functional.ctc_loss(
        exact.transpose(0, 1),
        target.masked_fill(target.eq(END), EMPTY),
        steps,
        lengths,
        blank=EMPTY,
        reduction="none",
    )
    return losses


def minimum_steps(target: Int[Tensor, "B T"]) -> Int[Tensor, "B"]:
    """The fewest steps that can write each target: one per symbol, and a blank between equal
    neighbours.
    """
    real = target.ne(EMPTY) & target.ne(END)
    alike = (target[:, 1:] == target[:, :-1]) & real[:, 1:]
    return real.sum(dim=1) + alike.sum(dim=1)
