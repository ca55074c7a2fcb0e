"""Cross-entropy over real positions, with the output layer worked in chunks (SPEC S6.1).

The matrix of logits is the largest thing in training: a row for each target position, a column for
each word. It is never held whole: a chunk's loss and gradient are done before the next is begun.
"""

from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.fields import EMPTY, START
from seqloom.model import Decoder, HeadedModel, Network, SequenceModel, Source

__all__ = ["Example", "Precision", "Sums", "backward", "measure", "row_log_probabilities"]

CHUNK = 1_024  # positions

Precision = Literal["float32", "bfloat16"]


class Example(NamedTuple):
    """A batch as tensors; texts end in `<end>`. Ids are padded with `<empty>`, numbers with NaN."""

    source: Source
    target: Int[Tensor, "B T"] | Float[Tensor, "B T C"]
    factors: Float[Tensor, "B T"] | None = None  # how much each position counts; 1, if not given


class Sums(NamedTuple):
    """Totals over the real positions of a batch, in nats."""

    loss: float  # with label smoothing and factors
    negative_log_probability: float
    tokens: int  # positions that count


def backward(
    model: Network,
    example: Example,
    *,
    smoothing: float,
    divisor: float,
    precision: Precision = "float32",
) -> Sums:
    """Add the gradient of (summed loss / divisor) to every parameter's `grad`."""
    if isinstance(model, HeadedModel):
        with _products_in(precision):
            total, sums = _judged(model, example, smoothing)
        (total / divisor).backward()
        return sums
    with _products_in(precision):
        hidden, targets, factors = _hidden(model, example)
    loss = negative = 0.0
    gradients = []
    for leaf, target, factor in _chunks(hidden.detach(), targets, factors):
        leaf.requires_grad_()
        with _products_in(precision):
            logits = model.decoder.write(leaf)
        losses, log_probabilities = _cross_entropy(logits.to(factor.dtype), target, smoothing)
        total = (losses * factor).sum()
        (total / divisor).backward()
        gradients.append(_gradient(leaf))
        loss += float(total.detach())
        negative -= float(log_probabilities.sum())
    if hidden.requires_grad:
        hidden.backward(torch.cat(gradients))
    return Sums(loss, negative, len(targets))


@torch.no_grad()
def measure(model: Network, example: Example, *, smoothing: float) -> Sums:
    """The same totals without gradients; the model should be in evaluation mode."""
    if isinstance(model, HeadedModel):
        return _judged(model, example, smoothing)[1]
    hidden, targets, factors = _hidden(model, example)
    loss = negative = 0.0
    for part, target, factor in _chunks(hidden, targets, factors):
        losses, log_probabilities = _cross_entropy(model.decoder.write(part), target, smoothing)
        loss += float((losses * factor).sum())
        negative -= float(log_probabilities.sum())
    return Sums(loss, negative, len(targets))


def row_log_probabilities(
    decoder: Decoder[Any], state: Any, target: Int[Tensor, "R T"]
) -> Float[Tensor, "R T"]:
    """The log-probability of each given token after those before it; 0 at padding (SPEC S7.4)."""
    features, _ = decoder.read(_inputs(target), state)
    result = features.hidden.new_zeros(target.shape)
    real = target.ne(EMPTY)
    parts = [
        decoder.write(hidden).log_softmax(-1).gather(1, token[:, None]).squeeze(1)
        for hidden, token in _chunks(features.hidden[real], target[real])
    ]
    result[real] = torch.cat(parts)
    return result


def _hidden(model: SequenceModel, example: Example) -> tuple[Tensor, Tensor, Tensor]:
    """The decoder's vectors under teacher forcing at positions that count; targets and factors."""
    memory = model.encoder.encode(example.source)
    features, _ = model.decoder.read(_inputs(example.target), model.decoder.start(memory))
    return _counting(features.hidden, example, _dtype(model))


def _judged(model: HeadedModel, example: Example, smoothing: float) -> tuple[Tensor, Sums]:
    """The summed loss of a head's judgements, and the totals."""
    judged = model.head(model.encoder.encode(example.source))[:, : example.target.shape[1]]
    judged, targets, factors = _counting(judged, example, _dtype(model))
    judged = judged.to(factors.dtype)
    total = (model.head.losses(judged, targets, smoothing=smoothing) * factors).sum()
    plain = model.head.losses(judged.detach(), targets, smoothing=0.0).sum()
    return total, Sums(float(total.detach()), float(plain), len(targets))


def _counting(values: Tensor, example: Example, kind: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """What stands at the positions that count: of these values, of targets and of factors."""
    targets, factors = example.target.flatten(0, 1), example.factors
    counts = targets.isfinite().all(-1) if targets.is_floating_point() else targets.ne(EMPTY)
    if factors is None:
        factors = example.target.new_ones((), dtype=kind).expand(example.target.shape[:2])
    else:
        counts = counts & factors.flatten().ne(0)
    places = counts.nonzero().squeeze(1)
    chosen = values.flatten(0, 1).index_select(0, places)
    return chosen, targets[places], factors.flatten()[places].to(kind)


def _dtype(model: Network) -> torch.dtype:
    return next(model.parameters()).dtype


def _gradient(leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def _inputs(target: Tensor) -> Tensor:
    """`<start>` and then the target without its last symbol."""
    return torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)


def _chunks(*tensors: Tensor) -> list[tuple[Tensor, ...]]:
    """The same stretches of each."""
    return list(zip(*(tensor.split(CHUNK) for tensor in tensors), strict=True))


def _products_in(precision: Precision) -> AbstractContextManager[None]:
    """Matrix products of the block in fewer bits, if so asked; sums and norms stay as they are."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")


def _cross_entropy(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    return _CrossEntropy.apply(logits, targets, smoothing)  # type: ignore[no-untyped-call, no-any-return]


class _CrossEntropy(torch.autograd.Function):
    """Smoothed cross-entropy of each row, and the log-probability of its target.

    The gradient is made where the log-probabilities were, so nothing else is kept for it.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        log_probabilities = logits.log_softmax(-1)
        picked = log_probabilities.gather(1, targets[:, None]).squeeze(1)
        losses = -(1 - smoothing) * picked
        if smoothing:
            losses = losses - smoothing * log_probabilities.mean(-1)
        ctx.mark_non_differentiable(picked)
        if ctx.needs_input_grad[0]:
            gradient = log_probabilities.exp_()
            if smoothing:
                gradient.sub_(smoothing / logits.shape[1])
            gradient[torch.arange(len(targets), device=targets.device), targets] -= 1 - smoothing
            ctx.save_for_backward(gradient)
        return losses, picked

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(gradients[0][:, None]), None, None
