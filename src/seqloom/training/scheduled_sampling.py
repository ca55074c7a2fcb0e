"""Scheduled sampling: training on a decoder's own outputs (S2.2, S6.1, S6.3).

Sampled tokens are chosen first, without gradients: step by step, or in one pass under teacher
forcing if the decoder computes all steps at once. The decoder then reads the target with these
tokens in place of labels. If gradients pass through the choices, the decoder reads vectors and
chooses as it goes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from seqloom.config import (
    FreeRunningChoice,
    TrainingConfig,
)
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, START, UNK
from seqloom.model import DecoderModule, Feedback, Memory, Network, TargetFeatures
from seqloom.model.networks import shift_right
from seqloom.nn.modules import gumbels, hash_counter, uniforms
from seqloom.nn.recurrent import RecurrentStack
from seqloom.randomness import key

__all__ = [
    "FREE_RUNNING",
    "NEVER_WRITTEN",
    "ScheduledSampling",
    "TargetFeed",
    "check_forcing",
    "choose_tokens",
    "feed_labels",
    "feed_own_outputs",
    "gumbel_noise",
    "passes_gradients",
    "read_own_outputs",
]


BLOCK = 65_536  # numbers generated at a time


@dataclass(frozen=True)
class ScheduledSampling:
    """Selects the steps of a batch that read the model's own output instead of the label.

    The draws of a row depend only on the seed and the row's number, not on the rest of the batch.

    Bengio et al. 2015, Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks.
    """

    label_probability: float = 0.0  # probability that a step reads the label
    choice: FreeRunningChoice = "greedy"
    temperature: float = 1.0
    overrun: int = 5
    seed: int = 0
    row_numbers: Int[Tensor, "B"] | None = None  # row numbers in the whole batch; 0, 1, … if None

    def forcing_mask(self, labels: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """True at steps whose label is read by the next, each drawn independently."""
        steps = torch.arange(labels.shape[1], device=labels.device)
        chance = hash_counter(self._rows(key(self.seed, "label"), labels), steps)
        return uniforms(chance) < self.label_probability

    def noise_seeds(self, labels: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """A random seed for each step of each row."""
        steps = torch.arange(labels.shape[1], device=labels.device)
        return hash_counter(self._rows(key(self.seed, "choice"), labels), steps)

    def _rows(self, seed: int, labels: Tensor) -> Int[Tensor, "B 1"]:
        numbers = torch.arange(len(labels)) if self.row_numbers is None else self.row_numbers
        return hash_counter(seed, numbers.to(labels.device))[:, None]


FREE_RUNNING = ScheduledSampling()
"""No step reads the label: each reads the most probable token, as in greedy search."""


def gumbel_noise(places: Int[Tensor, "N"], size: int) -> Float[Tensor, "N V"]:
    """Gumbel noise for every token from these seeds, computed in blocks that fit the cache."""
    blocks = places.split(max(1, BLOCK // size))
    tokens = torch.arange(size, device=places.device)
    return torch.cat([gumbels(hash_counter(block[:, None], tokens)) for block in blocks])


NEVER_WRITTEN = (EMPTY, START, UNK)
AT_ONCE = 1_024  # positions whose logits are held at once


class TargetFeed(NamedTuple):
    """For each target step: the token that the next step reads, its label, and whether it is in the
    loss.
    """

    tokens: Int[Tensor, "B T"]
    labels: Int[Tensor, "B T"]
    loss_mask: Bool[Tensor, "B T"]


def passes_gradients(feedback: Feedback, choice: FreeRunningChoice) -> bool:
    """Whether outputs are read as vectors that gradients pass through."""
    return choice in ("straight-through", "soft") or (choice == "greedy" and feedback.soft)


def feed_labels(target: Int[Tensor, "B T"]) -> TargetFeed:
    """Plain teacher forcing: every step reads the previous label."""
    return TargetFeed(target, target, target.ne(EMPTY))


def feed_own_outputs(
    model: Network, memory: Memory, target: Int[Tensor, "B T"], freedom: ScheduledSampling
) -> TargetFeed:
    """The target with some labels replaced by the model's own outputs.

    An output may run on for `overrun` steps past its target; its label there is `<empty>`. After
    `<end>` an output is `<empty>` too, and a step is free only where both are (S6.1).
    """
    walk = _FreeRun.of(model, freedom)
    with torch.no_grad():
        if walk.feedback.by_steps:
            return walk.by_steps(memory, target)[0]
        return walk.first_pass(memory, target)[0]


def read_own_outputs(
    model: Network, memory: Memory, target: Int[Tensor, "B T"], freedom: ScheduledSampling
) -> TargetFeatures:
    """Run the decoder over such a target; as vectors if gradients pass through the choices.

    Bengio et al. 2015, Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks.
    """
    walk = _FreeRun.of(model, freedom)
    decoder = walk.decoder
    if not passes_gradients(walk.feedback, freedom.choice):
        fed = feed_own_outputs(model, memory, target, freedom)
        features, _ = decoder.read(shift_right(fed.tokens), decoder.start(memory))
        return TargetFeatures(features.hidden, fed.labels, fed.loss_mask)
    if walk.feedback.by_steps:
        fed, hidden = walk.by_steps(memory, target)
        return TargetFeatures(hidden, fed.labels, fed.loss_mask)
    fed, vectors = walk.first_pass(memory, target)
    features, _ = walk.feedback.read(vectors, decoder.start(memory))
    return TargetFeatures(features.hidden, fed.labels, fed.loss_mask)


class _FreeRun(NamedTuple):
    """A pass of a decoder over a batch, with its sampling."""

    decoder: DecoderModule
    feedback: Feedback
    sampling: ScheduledSampling

    @classmethod
    def of(cls, model: Network, sampling: ScheduledSampling) -> "_FreeRun":
        """A pass of a model's decoder; TypeError if the model cannot read its own outputs."""
        if model.decoder is None or model.feedback is None:
            raise TypeError("this model cannot read its own outputs")
        return cls(model.decoder, model.feedback, sampling)

    def first_pass(
        self, memory: Memory, target: Int[Tensor, "B T"]
    ) -> tuple[TargetFeed, Float[Tensor, "B T E"]]:
        """Choose outputs under teacher forcing; return them, some in place of labels, and the
        vectors that the second pass reads.

        The first pass stops at the target's end, so that no output runs on.

        Mihaylova and Martins 2019, Scheduled Sampling for Transformers.
        """
        real, decoder = target.ne(EMPTY), self.decoder
        rows, steps = (real & ~self.sampling.forcing_mask(target)).nonzero(as_tuple=True)
        features, _ = decoder.read(shift_right(target), decoder.start(memory))
        places = self.sampling.noise_seeds(target)[rows, steps]
        own = self._choose(features.hidden[rows, steps], places)
        tokens = target.index_put((rows, steps), own.tokens)
        vectors = self.feedback.vectors(shift_right(tokens))
        if own.vectors is not None:
            after = functional.pad(vectors, (0, 0, 0, 1))  # no step reads the last choice
            after = after.index_put((rows, steps + 1), own.vectors.to(after.dtype))
            vectors = after[:, :-1]
        return TargetFeed(tokens, target, real), vectors

    def by_steps(
        self, memory: Memory, target: Int[Tensor, "B T"]
    ) -> tuple[TargetFeed, Float[Tensor, "B T2 D"]]:
        """Run step by step: each step reads the choice of the one before."""
        labels = functional.pad(target, (0, self.sampling.overrun), value=EMPTY)
        tokens, hidden = self._run_steps(memory, labels)
        labels = labels[:, : tokens.shape[1]]
        runs = ~_has_ended(shift_right(tokens)) & self._reachable_steps(labels)
        return TargetFeed(tokens, labels, labels.ne(EMPTY) | runs), hidden

    def _run_steps(
        self, memory: Memory, labels: Int[Tensor, "B T"]
    ) -> tuple[Int[Tensor, "B T2"], Float[Tensor, "B T2 D"]]:
        """The tokens read and the decoder's features, up to the last step in the loss."""
        forced, places = self.sampling.forcing_mask(labels), self.sampling.noise_seeds(labels)
        allowed, longest = self._reachable_steps(labels), labels.shape[1] - self.sampling.overrun
        state: Any = self.decoder.start(memory)
        token = torch.full_like(labels[:, 0], START)
        vector = self.feedback.vectors(token)
        tokens, hidden = [], []
        for step in range(labels.shape[1]):
            running = ~_has_ended(token) & allowed[:, step]
            if step >= longest and not bool(running.any()):
                break
            features, state = self.feedback.read(vector[:, None], state)
            hidden.append(features.hidden)
            (rows,) = (running & ~forced[:, step]).nonzero(as_tuple=True)
            own = self._choose(features.hidden[rows, 0], places[rows, step])
            handed = labels[:, step].where(forced[:, step], torch.full_like(token, EMPTY))
            token = handed.index_copy(0, rows, own.tokens)
            vector = self.feedback.vectors(token)
            if own.vectors is not None:
                vector = vector.index_copy(0, rows, own.vectors.to(vector.dtype))
            tokens.append(token)
        return torch.stack(tokens, dim=1), torch.cat(hidden, dim=1)

    def _reachable_steps(self, labels: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """True at steps that an output may reach: up to `overrun` past the end of its target."""
        lengths = labels.ne(EMPTY).sum(dim=1, keepdim=True)
        steps = torch.arange(labels.shape[1], device=labels.device)
        return steps < lengths + self.sampling.overrun

    def _choose(self, hidden: Float[Tensor, "N D"], places: Int[Tensor, "N"]) -> "ModelChoices":
        """Choose outputs for these features, some positions at a time."""
        parts = []
        for some, at in zip(hidden.split(AT_ONCE), places.split(AT_ONCE), strict=True):
            if torch.is_grad_enabled():
                parts.append(
                    checkpoint(
                        self._choose_part, some, at, use_reentrant=False, preserve_rng_state=False
                    )
                )
            else:
                parts.append(self._choose_part(some, at))
        vectors = [vector for _, vector in parts if vector is not None]
        tokens = torch.cat([token for token, _ in parts])
        return ModelChoices(tokens, torch.cat(vectors) if vectors else None)

    def _choose_part(self, hidden: Tensor, places: Tensor) -> tuple[Tensor, Tensor | None]:
        logits = self.decoder.write(hidden)
        logits = logits if logits.dtype == torch.float64 else logits.float()  # of bfloat16 too
        likely, tokens = choose_tokens(logits, places, self.sampling, soft=self.feedback.soft)
        return tokens, None if likely is None else self.feedback.vectors.mean(likely)


class ModelChoices(NamedTuple):
    """Chosen outputs: tokens, and the vectors read in their place if not the tokens' embeddings."""

    tokens: Int[Tensor, "N"]
    vectors: Float[Tensor, "N E"] | None


def choose_tokens(
    logits: Float[Tensor, "N V"],
    places: Int[Tensor, "N"],
    freedom: ScheduledSampling,
    *,
    soft: bool = False,
) -> tuple[Float[Tensor, "N V"] | None, Int[Tensor, "N"]]:
    """Choose a token for each row, and a distribution if the next step reads its mean vector.

    A Gumbel draw is the token with the largest sum of logit and noise, a sample of the
    distribution. Its soft form is the softmax of the sums, divided by the temperature; passed
    straight through, it is the draw itself with the gradient of its soft form.

    Jang et al. 2017, Categorical Reparameterization with Gumbel-Softmax; Maddison et al. 2017, The
    Concrete Distribution; straight-through: Bengio et al. 2013, Estimating or Propagating Gradients
    Through Stochastic Neurons.
    """
    closed = torch.zeros(logits.shape[1], dtype=torch.bool, device=logits.device)
    closed[list(NEVER_WRITTEN)] = True
    sums = logits.masked_fill(closed, -torch.inf)
    if freedom.choice != "greedy":
        sums = sums + gumbel_noise(places, logits.shape[1]).to(logits.dtype)
    tokens = sums.argmax(dim=-1)
    match freedom.choice:
        case "greedy":
            return (logits.softmax(-1) if soft else None), tokens
        case "draw":
            return None, tokens
        case "soft":
            return (sums / freedom.temperature).softmax(-1), tokens
        case "straight-through":
            likely = (sums / freedom.temperature).softmax(-1)
            drawn = functional.one_hot(tokens, logits.shape[1]).to(likely.dtype)
            return drawn + likely - likely.detach(), tokens


def _has_ended(tokens: Int[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
    """Whether an output ends at or before this token."""
    return tokens.eq(END) | tokens.eq(EMPTY)


def _is_recurrent(model: Network) -> bool:
    return any(isinstance(part, RecurrentStack) for part in model.modules())


def check_forcing(config: TrainingConfig, model: Network) -> None:
    """ConfigError if the model cannot be trained on its own outputs as configured."""
    chosen = config.forcing.free_running
    if config.truncate and model.decoder is None and not _is_recurrent(model):
        raise ConfigError(
            f"training.truncate = {config.truncate}: this model has no state that goes on from "
            "step to step",
            remedy="leave it at 0",
        )
    if chosen is None:
        return
    if model.feedback is None:
        raise ConfigError(
            f"training.forcing = {chosen.kind!r}: this model does not read what it writes",
            remedy="leave it at always",
        )
    if config.truncate and passes_gradients(model.feedback, chosen.choice):
        raise ConfigError(
            f"training.truncate = {config.truncate}: gradients would pass through the model's "
            "own outputs to steps that are cut off",
            remedy="set training.forcing.choice=draw, or training.truncate=0",
        )
