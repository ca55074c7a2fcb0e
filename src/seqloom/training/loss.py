"""Cross-entropy over real positions, with the output layer computed in chunks (S6.1).

The matrix of logits is the largest thing in training: a row for each target position, a column for
each word. It is never held as a whole: each chunk's loss and gradient are computed before the next.

Weights of target positions in the loss (S6.1, S6.4).

Losses are summed over positions and divided by the tokens of the batch; any other average is this
sum with a factor for each position.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from seqloom.fields import EMPTY
from seqloom.model import (
    Decoder,
    Head,
    Network,
    Source,
    TargetFeatures,
    TokenScorer,
)
from seqloom.model.networks import shift_right
from seqloom.nn.half_layers import half_losses
from seqloom.randomness import key
from seqloom.training.ctc import ctc_losses
from seqloom.training.precision import Precision, matmul_precision
from seqloom.training.scheduled_sampling import ScheduledSampling, read_own_outputs
from seqloom.training.soft_targets import SoftTargets

__all__ = [
    "Example",
    "LossInputs",
    "LossKind",
    "LossOptions",
    "PositionWeights",
    "Sums",
    "backward",
    "backward_from_features",
    "extend_factors",
    "measure",
    "position_scores",
    "row_log_probabilities",
    "select_positions",
]

CHUNK = 256  # positions: with ten thousand words, the logits fit a cache
HALF_CHUNK = 1_024  # in bfloat16, where fewer chunks mean fewer sums of the matrix's gradient


class Example(NamedTuple):
    """A batch as tensors. Texts end in `<end>`; ids are padded with `<empty>`, numbers with NaN."""

    source: Source
    target: Int[Tensor, "B T"] | Float[Tensor, "B T C"]
    factors: Float[Tensor, "B T"] | None = None  # weight of each position; 1 if None
    sampling: ScheduledSampling | None = None  # plain teacher forcing if None
    soft: SoftTargets | None = None  # (B, T, K), from teachers

    def twice(self) -> "Example":
        """The batch concatenated with itself."""
        source = Source(*(torch.cat([each, each]) for each in self.source))
        factors = None if self.factors is None else self.factors.repeat(2, 1)
        return Example(source, self.target.repeat(2, *[1] * (self.target.ndim - 1)), factors)


class LossInputs(NamedTuple):
    """The positions in the loss: features or outputs, their labels and weights."""

    hidden: Float[Tensor, "N D"]
    labels: Int[Tensor, "N"] | Float[Tensor, "N C"]
    factors: Float[Tensor, "N"]
    ctc_loss: Float[Tensor, ""] | None = None  # the summed CTC loss, if there is one
    soft: SoftTargets | None = None


class Sums(NamedTuple):
    """Totals over the real positions of a batch, in nats."""

    loss: float  # with label smoothing and factors
    negative_log_probability: float
    tokens: int  # positions in the loss

    def plus(self, other: "Sums") -> "Sums":
        """The sum of both totals."""
        return Sums(
            self.loss + other.loss,
            self.negative_log_probability + other.negative_log_probability,
            self.tokens + other.tokens,
        )


class LossOptions(NamedTuple):
    """Options of a loss over features."""

    smoothing: float
    divisor: float
    precision: Precision = "float32"
    agreement: float = 0.0  # weight of R-Drop

    @property
    def chunk(self) -> int:
        """The number of positions whose logits are held at once."""
        return HALF_CHUNK if self.precision == "bfloat16" else CHUNK


def backward(model: Network, example: Example, cost: LossOptions) -> Sums:
    """Add the gradient of (summed loss / divisor) to every parameter's `grad`.

    Label smoothing: Szegedy et al. 2016, Rethinking the Inception Architecture for Computer Vision.
    """
    if cost.agreement:
        return _backward_twice(model, example, cost)
    head = model.direct_head
    if _sums_alignments(model):
        with matmul_precision(cost.precision):
            total, sums = _alignment_loss(model, example)
        (total / cost.divisor).backward()
        return sums
    with matmul_precision(cost.precision):
        found = _loss_inputs(model, example)
        direct = None if head is None else _head_loss(head, found, cost.smoothing)
    if direct is not None:
        total, sums = direct
        (total / cost.divisor).backward()
        return sums
    return backward_from_features(model, found, cost)


def _backward_twice(model: Network, example: Example, cost: LossOptions) -> Sums:
    """As `backward`, with R-Drop: each row is read twice with different dropout, and the divergence
    of both distributions at a position is added to the loss.

    Liang et al. 2021, R-Drop: Regularized Dropout for Neural Networks.
    """
    with matmul_precision(cost.precision):
        found = _loss_inputs(model, example.twice())
    rows = len(found.labels) // 2  # both readings of a position are in one chunk
    first = torch.arange(rows).split(cost.chunk // 2)
    order = torch.cat([torch.cat([part, part + rows]) for part in first])
    hidden, labels, factors = (each[order.to(each.device)] for each in found[:3])
    paired = LossInputs(hidden, labels, factors)
    sums = backward_from_features(model, paired, cost._replace(divisor=2 * cost.divisor))
    return Sums(sums.loss / 2, sums.negative_log_probability / 2, sums.tokens // 2)


def backward_from_features(model: Network, found: LossInputs, cost: LossOptions) -> Sums:
    """As `backward`, from features back to the leaves they were computed from."""
    hidden, targets, factors, aligned, soft = found
    writer = _token_scorer(model)
    loss, negative = 0.0 if aligned is None else float(aligned.detach()), 0.0
    gradients = []
    taught = None if soft is None else iter(soft.split(cost.chunk))
    for leaf, target, factor in _chunks(hidden.detach(), targets, factors, size=cost.chunk):
        leaf.requires_grad_()
        half = None
        with matmul_precision(cost.precision):
            logits = writer.write(leaf)
            if taught is None:
                scaled = factor / cost.divisor
                half = half_losses(logits, target, scaled, cost.smoothing, cost.agreement)
        if half is not None:
            total, log_probabilities = half[0] * cost.divisor, half[1]
            logits.backward(logits.detach())
        else:
            logits = logits.to(factor.dtype)
            losses, log_probabilities = _cross_entropy(logits, target, cost.smoothing)
            if taught is not None:
                losses = next(taught).mix(losses, logits)
            if cost.agreement:
                losses = losses + cost.agreement * _divergence(logits)
            total = (losses * factor).sum()
            (total / cost.divisor).backward()
        gradients.append(_gradient(leaf))
        loss += float(total.detach())
        negative -= float(log_probabilities.sum())
    made = [(hidden, torch.cat(gradients))]
    if aligned is not None:
        made.append((aligned, torch.full_like(aligned, 1 / cost.divisor)))
    learnt = [(value, gradient) for value, gradient in made if value.requires_grad]
    if learnt:
        torch.autograd.backward([value for value, _ in learnt], [each for _, each in learnt])
    return Sums(loss, negative, len(targets))


@torch.no_grad()
def measure(model: Network, example: Example, *, smoothing: float) -> Sums:
    """The loss totals without gradients; the model should be in evaluation mode."""
    if _sums_alignments(model):
        return _alignment_loss(model, example)[1]
    found, head = _loss_inputs(model, example), model.direct_head
    if head is not None:
        return _head_loss(head, found, smoothing)[1]
    hidden, targets, factors, aligned, _ = found
    writer = _token_scorer(model)
    loss, negative = 0.0 if aligned is None else float(aligned), 0.0
    for part, target, factor in _chunks(hidden, targets, factors):
        losses, log_probabilities = _cross_entropy(writer.write(part), target, smoothing)
        loss += float((losses * factor).sum())
        negative -= float(log_probabilities.sum())
    return Sums(loss, negative, len(targets))


def row_log_probabilities(
    decoder: Decoder[Any], state: Any, target: Int[Tensor, "R T"]
) -> Float[Tensor, "R T"]:
    """The log-probability of each token given those before it; 0 at padding (S7.4)."""
    features, _ = decoder.read(shift_right(target), state)
    result = features.hidden.new_zeros(target.shape)
    real = target.ne(EMPTY)
    parts = [
        decoder.write(hidden).log_softmax(-1).gather(1, token[:, None]).squeeze(1)
        for hidden, token in _chunks(features.hidden[real], target[real])
    ]
    result[real] = torch.cat(parts)
    return result


@torch.no_grad()
def position_scores(model: Network, example: Example) -> Float[Tensor, "N V"]:
    """The logits at each position in the loss, under teacher forcing."""
    found = _loss_inputs(model, example).hidden
    return found if model.direct_head is not None else _token_scorer(model).write(found)


def select_positions(
    model: Network,
    reading: TargetFeatures,
    factors: Float[Tensor, "B T"] | None,
    soft: SoftTargets | None = None,
) -> LossInputs:
    """Select the positions of a batch that are in the loss."""
    hidden, labels, counts = reading
    dtype = _dtype(model)
    if factors is None:
        every = hidden.new_ones((), dtype=dtype).expand(counts.shape)
    else:
        every = factors
        counts = counts & every.ne(0)
    places = counts.flatten().nonzero().squeeze(1)
    return LossInputs(
        hidden.flatten(0, 1).index_select(0, places),
        labels.flatten(0, 1)[places],
        every.flatten()[places].to(dtype),
        soft=None if soft is None else soft.select(places),
    )


def _token_scorer(model: Network) -> TokenScorer:
    if model.token_scorer is None:
        raise TypeError("this model has no output layer over a vocabulary")
    return model.token_scorer


def _loss_inputs(model: Network, example: Example) -> LossInputs:
    """Run the model under teacher forcing, or with the example's scheduled sampling."""
    memory, target = model.encoder.encode(example.source), example.target
    if example.sampling is None:
        reading = model.teacher_force(memory, target)
        found = select_positions(model, reading, example.factors, example.soft)
    else:
        reading = read_own_outputs(model, memory, target, example.sampling)
        found = select_positions(model, reading, extend_factors(example.factors, reading.labels))
    if model.aligner is None:
        return found
    share = model.aligner.share
    losses = ctc_losses(model.aligner, memory, target)
    aligned = share * (losses * _row_factors(example, losses)).sum()
    return found._replace(factors=(1 - share) * found.factors, ctc_loss=aligned)


def _head_loss(head: Head, found: LossInputs, smoothing: float) -> tuple[Tensor, Sums]:
    """The summed loss of a head's outputs, and the totals."""
    targets, factors = found.labels, found.factors
    outputs = found.hidden.to(factors.dtype)
    losses = head.losses(outputs, targets, smoothing=smoothing)
    if found.soft is not None:
        losses = found.soft.mix(losses, outputs)
    total = (losses * factors).sum()
    plain = head.losses(outputs.detach(), targets, smoothing=0.0).sum()
    return total, Sums(float(total.detach()), float(plain), len(targets))


def _sums_alignments(model: Network) -> bool:
    return model.decoder is not None and model.decoder.sums_alignments


def _alignment_loss(model: Network, example: Example) -> tuple[Tensor, Sums]:
    """The summed CTC loss of targets, and the totals."""
    if model.decoder is None:
        raise TypeError("a head writes nothing that could be aligned")
    losses = ctc_losses(model.decoder, model.encoder.encode(example.source), example.target)
    total = (losses * _row_factors(example, losses)).sum()
    plain = float(losses.detach().sum())
    return total, Sums(float(total.detach()), plain, int(example.target.ne(EMPTY).sum()))


def _row_factors(example: Example, losses: Float[Tensor, "B"]) -> Float[Tensor, "B"]:
    """The weight of each row: the mean over its positions."""
    if example.factors is None:
        return torch.ones_like(losses)
    real = example.target.ne(EMPTY)
    factors = example.factors[:, : real.shape[1]] * real
    return (factors.sum(dim=1) / real.sum(dim=1)).to(losses)


def extend_factors(
    factors: Float[Tensor, "B T"] | None, labels: Int[Tensor, "B T2"]
) -> Float[Tensor, "B T2"] | None:
    """Extend factors to the number of labels; past a row's end, the last one repeats."""
    if factors is None:
        return None
    last = labels.ne(EMPTY).sum(dim=1, keepdim=True) - 1
    steps = torch.arange(labels.shape[1], device=labels.device).expand(labels.shape)
    return factors.gather(1, steps.minimum(last))


def _dtype(model: Network) -> torch.dtype:
    return next(model.parameters()).dtype


def _divergence(logits: Float[Tensor, "N V"]) -> Float[Tensor, "N"]:
    """The symmetric KL divergence of the first half of the rows from the second: half of the mean
    of both directions for each of the two rows.
    """
    one, other = logits.log_softmax(-1).chunk(2)
    return ((one.exp() - other.exp()) * (one - other)).sum(-1).repeat(2) / 4


def _gradient(leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def _chunks(*tensors: Tensor, size: int = CHUNK) -> list[tuple[Tensor, ...]]:
    """Split all tensors into the same chunks."""
    return list(zip(*(tensor.split(size) for tensor in tensors), strict=True))


def _cross_entropy(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    return _CrossEntropy.apply(logits, targets, smoothing)  # type: ignore[no-untyped-call, no-any-return]


class _CrossEntropy(torch.autograd.Function):
    """Cross-entropy with label smoothing of each row, and the log-probability of its target.

    The gradient overwrites the log-probabilities, so nothing else is kept for it.
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


LossKind = Literal["tokens", "mean", "sum"]


class PositionWeights:
    """Loss factors for the positions of a batch, from rows' lengths, their weights, and the seed.

    Weights are divided by their mean over the rows of a pass: their scale does not matter, and a
    batch of rows with small weights makes a small update.
    """

    def __init__(  # noqa: PLR0913
        self,
        lengths: NDArray[np.integer],
        weights: NDArray[np.float64],
        *,
        loss: LossKind = "tokens",
        one_position: bool = False,
        seed: int = 0,
        frequencies: NDArray[np.float64] | None = None,
    ) -> None:
        """Lengths in tokens, including `<end>`, and weights of all training rows, and how often a
        pass has each; without, each comes once."""
        self._lengths = lengths
        self._loss = loss
        self._one_position = one_position
        self._seed = seed
        often = np.ones(len(weights)) if frequencies is None else frequencies
        mean = float(np.average(weights, weights=often * lengths if loss == "tokens" else often))
        self._weights = np.asarray(weights, np.float64) / mean
        counted = weights[often > 0]
        alike = bool((counted == counted[0]).all())
        self._plain = loss == "tokens" and not one_position and alike

    def factors(
        self, step: int, batches: list[NDArray[np.int64]]
    ) -> list[Float[Tensor, "B T"] | None]:
        """The factors of each batch accumulated in update `step`; None if all are 1."""
        if self._plain:
            return [None] * len(batches)
        rows = sum(map(len, batches))
        tokens_per_row = sum(int(self._lengths[batch].sum()) for batch in batches) / rows
        return [
            torch.from_numpy(
                self._matrix(batch, tokens_per_row, key(self._seed, "position", step, number))
            )
            for number, batch in enumerate(batches)
        ]

    def _matrix(
        self, rows: NDArray[np.int64], tokens_per_row: float, seed: int
    ) -> NDArray[np.float64]:
        lengths = self._lengths[rows].astype(np.int64)
        each = self._weights[rows]
        if self._loss != "tokens":
            each = each * tokens_per_row / (lengths if self._loss == "mean" else 1)
        matrix = np.zeros((len(rows), lengths.max(initial=0)))
        if not self._one_position:
            matrix += each[:, None]
            return matrix
        drawn = np.random.default_rng(seed).integers(lengths)
        matrix[np.arange(len(rows)), drawn] = each * lengths
        return matrix
