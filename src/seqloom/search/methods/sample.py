"""Sampling from the model's distribution (S7.2)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.config.searches import SEARCHES, SampleOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.nn.modules import hash_counter, uniforms
from seqloom.randomness import key
from seqloom.search.frontier import Continuations, Frontier
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.protocol import Search, SearchDefaults, check_count, hypotheses
from seqloom.search.topk import stable_topk

__all__ = ["Sample"]

FIRST_NUCLEUS = 64  # top tokens in which the nucleus is searched first


@SEARCHES.part("sample")
@dataclass(frozen=True)
class Sample(SampleOptions, Search):
    """Samples from the model's distribution.

    Each input has `draws` outputs, the most probable first; duplicates are possible. Logits are
    divided by `temperature`. Tokens are restricted to the `top_k` most probable (0: all), then to
    the fewest with `top_p` of the probability, then to those at least `min_p` times as probable as
    the best. Scores are still the model's. A draw depends only on the seed, the line of the input,
    its number and the position. Fan et al. 2018, Hierarchical Neural Story Generation (top-k);
    Holtzman et al. 2020, The Curious Case of Neural Text Degeneration (nucleus); Nguyen et al.
    2025, Turning Up the Heat (min-p).
    """

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise ConfigError(f"a temperature of {self.temperature:g} is not above 0")
        if self.top_k < 0 or self.draws < 1:
            raise ConfigError("draws must be at least 1, and the tokens they are from not negative")
        if not (0 < self.top_p <= 1 and 0 <= self.min_p <= 1):
            raise ConfigError("top_p must be above 0 and at most 1, and min_p between 0 and 1")

    @property
    def paths(self) -> int:
        return self.draws

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        return cls(**{"draws": defaults.n_best, **given})

    def with_outputs(self, n_best: int) -> Search:
        check_count(self.draws, n_best)
        return self

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return Frontier.start(state, limits)

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        choices = frontier.read(decoder)
        chances = self._uniforms(frontier).view(len(choices.logits), -1)
        tokens = self._sample_tokens(choices.logits, chances)
        gains = choices.logits.gather(1, tokens) - choices.norms[:, None]
        shape = len(frontier.totals), self.draws
        parents = None
        if frontier.width != self.draws:
            parents = torch.zeros(shape, dtype=torch.int64, device=tokens.device)
        gains = gains.view(shape).masked_fill(frontier.finished, 0.0)
        moved = frontier.grow(choices, Continuations(tokens.view(shape), gains, parents))
        return moved.finish_sentences(moved.finished.all(dim=1) | moved.full, moved.totals)

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        return hypotheses(frontier, count=self.draws, complete=False)

    def _uniforms(self, frontier: Frontier) -> Float[Tensor, "B N"]:
        bits = hash_counter(key(self.seed, "sample"), frontier.lines)
        bits = hash_counter(bits[:, None], torch.arange(self.draws, device=bits.device))
        return uniforms(hash_counter(bits, frontier.steps[:, None].expand_as(bits)))

    def _sample_tokens(
        self, logits: Float[Tensor, "R V"], chances: Float[Tensor, "R N"]
    ) -> Int[Tensor, "R N"]:
        """Sample tokens by inverse transform: where the cumulative distribution passes these
        numbers.

        More tokens are examined in rows whose top tokens have too little of the probability.
        """
        if self.top_k == 0 and self.top_p == 1:
            return self._draw(logits.double() / self.temperature, chances)
        whole = None if self.top_k else (logits.double() / self.temperature).logsumexp(dim=1)
        drawn = torch.empty(chances.shape, dtype=torch.int64, device=logits.device)
        rows, count = torch.arange(len(logits), device=logits.device), self.top_k or FIRST_NUCLEUS
        while len(rows) > 0:
            values, tokens = stable_topk(logits[rows] if len(rows) < len(logits) else logits, count)
            scaled = values.double() / self.temperature
            total = scaled.logsumexp(dim=1) if whole is None else whole[rows]
            shares = (scaled - total[:, None]).exp().nan_to_num(0.0)
            before = shares.cumsum(dim=1) - shares
            enough = before[:, -1] >= self.top_p
            if self.top_k or count >= logits.shape[1]:
                enough = torch.ones_like(enough)
            scaled = scaled.masked_fill(before >= self.top_p, -torch.inf)[enough]
            tokens, order = tokens[enough].sort(dim=1)
            found = self._draw(scaled.gather(1, order), chances[rows[enough]])
            drawn[rows[enough]] = tokens.gather(1, found)
            rows, count = rows[~enough], 4 * count
        return drawn

    def _draw(
        self, scaled: Float[Tensor, "R C"], chances: Float[Tensor, "R N"]
    ) -> Int[Tensor, "R N"]:
        """The indices of these scaled logits, in token order, on which the numbers fall."""
        weights = (scaled - scaled.amax(dim=1, keepdim=True)).exp().nan_to_num(0.0)
        if self.min_p > 0:
            weights = weights.masked_fill(weights < self.min_p, 0.0)
        sums = weights.cumsum(dim=1)
        total = sums[:, -1:].contiguous()
        found = torch.searchsorted(sums, chances * total, right=True)
        return found.minimum(torch.searchsorted(sums, total))  # rounding may reach the end
