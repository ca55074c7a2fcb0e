"""Cross-entropy over real positions, with the output layer worked in chunks (SPEC S6.1).

The matrix of logits is the largest thing in training: a row for each target position, a column for
each word. It is never held whole: a chunk's loss and gradient are done before the next is begun.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.fields import EMPTY, START
from seqloom.model import Decoder, SequenceModel, Source

__all__ = ["Example", "Sums", "backward", "measure", "row_log_probabilities"]

CHUNK = 1_024  # positions


class Example(NamedTuple):
    """A batch as tensors; both sides end in `<end>` and are padded with `<empty>`."""

    source: Source
    target: Int[Tensor, "B T"]


class Sums(NamedTuple):
    """Totals over the real positions of a batch, in nats."""

    loss: float  # with label smoothing
    negative_log_probability: float
    tokens: int


def backward(model: SequenceModel, example: Example, *, smoothing: float, divisor: float) -> Sums:
    """Add the gradient of (summed loss / divisor) to every parameter's `grad`."""
    hidden, targets = _hidden(model, example)
    loss = negative = 0.0
    gradients = []
    for leaf, target in _chunks(hidden.detach(), targets):
        leaf.requires_grad_()
        losses, log_probabilities = _cross_entropy(model.decoder.write(leaf), target, smoothing)
        total = losses.sum()
        (total / divisor).backward()
        gradients.append(_gradient(leaf))
        loss += float(total.detach())
        negative -= float(log_probabilities.sum())
    hidden.backward(torch.cat(gradients))
    return Sums(loss, negative, len(targets))


@torch.no_grad()
def measure(model: SequenceModel, example: Example, *, smoothing: float) -> Sums:
    """The same totals without gradients; the model should be in evaluation mode."""
    hidden, targets = _hidden(model, example)
    loss = negative = 0.0
    for part, target in _chunks(hidden, targets):
        losses, log_probabilities = _cross_entropy(model.decoder.write(part), target, smoothing)
        loss += float(losses.sum())
        negative -= float(log_probabilities.sum())
    return Sums(loss, negative, len(targets))


@torch.no_grad()
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


def _hidden(model: SequenceModel, example: Example) -> tuple[Tensor, Tensor]:
    """The decoder's vectors under teacher forcing at real positions, and the targets."""
    memory = model.encoder.encode(example.source)
    features, _ = model.decoder.read(_inputs(example.target), model.decoder.start(memory))
    targets = example.target.flatten()
    real = targets.ne(EMPTY).nonzero().squeeze(1)
    return features.hidden.flatten(0, 1).index_select(0, real), targets[real]


def _gradient(leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def _inputs(target: Tensor) -> Tensor:
    """`<start>` and then the target without its last symbol."""
    return torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)


def _chunks(hidden: Tensor, targets: Tensor) -> list[tuple[Tensor, Tensor]]:
    return list(zip(hidden.split(CHUNK), targets.split(CHUNK), strict=True))


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
            gradient[torch.arange(len(targets)), targets] -= 1 - smoothing
            ctx.save_for_backward(gradient)
        return losses, picked

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(gradients[0][:, None]), None, None
