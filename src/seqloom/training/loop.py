"""The training loop: yields updates; saving, validation and stopping are left to the caller."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from seqloom.errors import DivergedError, RunError
from seqloom.model import Network
from seqloom.nn.truncation import truncate_gradients
from seqloom.randomness import key
from seqloom.training.distributed.ranks import SINGLE_PROCESS, Ranks, ReducedLoss
from seqloom.training.loss import Example, LossOptions, Sums, backward
from seqloom.training.optimizer import Optimizer
from seqloom.training.precision import precision_of
from seqloom.training.truncated_bptt import backward_truncated

__all__ = ["Portion", "Update", "fit"]


class Portion(NamedTuple):
    """One rank's part of an update, and the real target tokens of all ranks together."""

    examples: list[Example]
    tokens: int
    describe: Callable[[], str]  # names its rows in errors
    backward: Callable[[Example, LossOptions], Sums] | None = (
        None  # in a stream, whose state is carried over
    )


@dataclass(frozen=True)
class Update:
    """The figures of one update."""

    step: int  # number of updates, including this one
    loss: float  # with label smoothing, without penalties; per token, or as `training.loss` says
    tokens: int
    gradient_norm: float
    rate: float
    seconds: float
    skipped: bool
    stop: bool = False  # whether a rank was asked to stop

    def figures(self) -> dict[str, Any]:
        """The values to log."""
        return {name: value for name, value in asdict(self).items() if name != "stop"}


def fit(
    optimizer: Optimizer,
    portion: Callable[[int], Portion],
    *,
    seed: int,
    start: int = 0,
    ranks: Ranks = SINGLE_PROCESS,
) -> Iterator[Update]:
    """Updates number `start`, `start + 1`, ... up to the configured number.

    The generator is seeded at each update from (seed, step, rank), so resuming between two updates
    changes nothing. When rank 0's caller stops iterating, all ranks end; when it changes the
    optimizer's scale, all follow. Both travel with the all-reduce of the next gradients, so an
    update takes one exchange.
    """
    awaited = False  # whether other ranks wait for this one
    try:
        for step in range(start, optimizer.config.updates):
            awaited = True
            began = time.perf_counter()
            torch.manual_seed(key(seed, "dropout", step, ranks.rank))
            work = portion(step)
            found = _gradients(optimizer, work, ranks)
            awaited = False
            if found.ended:
                return
            loss, optimizer.scale = found.loss, found.scale
            norm = optimizer.gradient_norm()
            finite = math.isfinite(loss) and math.isfinite(norm)
            rate = optimizer.update(step, norm) if finite else optimizer.skip()
            if optimizer.skipped > optimizer.config.skip_nonfinite:
                raise _divergence_error(optimizer.model, step + 1, loss, work)
            seconds = time.perf_counter() - began
            awaited = step + 1 < optimizer.config.updates
            yield Update(step + 1, loss, work.tokens, norm, rate, seconds, not finite, found.stop)
    finally:
        if awaited and ranks.world > 1 and ranks.rank == 0:
            optimizer.zero()
            with suppress(RunError):
                ranks.sum_gradients(optimizer.model, ReducedLoss(0.0, stop=False, ended=True))


def _gradients(optimizer: Optimizer, work: Portion, ranks: Ranks) -> ReducedLoss:
    """Compute the gradients, summed over all ranks; return the loss without penalties."""
    config, tokens = optimizer.config, float(work.tokens)
    optimizer.zero()
    model = optimizer.model.train()
    loss = 0.0
    cost = LossOptions(config.label_smoothing, tokens, precision_of(config), config.agreement)
    for each in work.examples:
        if work.backward is not None:
            sums = work.backward(each, cost)
        elif config.truncate:
            sums = _backward_truncated(model, each, cost, steps=config.truncate)
        else:
            sums = backward(model, each, cost)
        loss += sums.loss
    found = ReducedLoss(loss, ranks.stop_requested, scale=optimizer.scale)
    if ranks.world > 1:
        found = ranks.sum_gradients(model, found)
    if config.l1 or config.l2:
        optimizer.penalize()
    return found._replace(loss=found.loss / tokens)


def _backward_truncated(model: Network, example: Example, cost: LossOptions, *, steps: int) -> Sums:
    """As `backward`, with truncated backpropagation through time."""
    if model.decoder is not None:
        return backward_truncated(model, example, cost, steps=steps)[0]
    with truncate_gradients(steps):
        return backward(model, example, cost)


def _divergence_error(model: nn.Module, step: int, loss: float, work: Portion) -> DivergedError:
    """The error that names the step, the first nonfinite part, and the rows."""
    parameters = dict(model.named_parameters())
    weights = [f"weight {name}" for name, value in parameters.items() if not _is_finite(value)]
    gradients = [
        f"gradient of {name}"
        for name, value in parameters.items()
        if value.grad is not None and not _is_finite(value.grad)
    ]
    where = [*weights, *gradients, "loss"][0]
    return DivergedError(
        f"update {step}: the {where} is not finite (loss {loss:.4g}; {work.describe()})",
        remedy="lower training.rate, or set training.skip_nonfinite to leave such updates out",
    )


def _is_finite(values: torch.Tensor) -> bool:
    return bool(values.isfinite().all())
