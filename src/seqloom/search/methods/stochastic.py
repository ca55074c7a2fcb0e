"""Stochastic beam search: outputs drawn without replacement (S7.2, S7.3).

Every output has a Gumbel-perturbed log-probability; the K outputs with the largest are a sample
without replacement. A path's value is the largest of its continuations', so a beam finds them. Kool
et al. 2019, Stochastic Beams and Where to Find Them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.config.searches import SEARCHES, StochasticOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.nn.modules import gumbels, hash_counter
from seqloom.randomness import key
from seqloom.search.frontier import Choices, Continuations, Frontier
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits
from seqloom.search.protocol import Search, SearchDefaults, check_outputs, hypotheses
from seqloom.search.topk import stable_topk

__all__ = ["StochasticBeam"]

CHUNK = 2**20  # tokens perturbed at a time


@SEARCHES.part("stochastic")
@dataclass(frozen=True)
class StochasticBeam(StochasticOptions, Search):
    """Different outputs, drawn without replacement.

    The `width` outputs are in the order drawn: the first from the distribution of allowed outputs,
    with logits divided by `temperature`, the next from what remains, and so on. Draws depend only
    on the seed, the line of the input and the tokens, so a wider beam starts with the same outputs.
    """

    n_best: int = 1

    def __post_init__(self) -> None:
        check_outputs(self.n_best, self.width)
        if not 0 < self.temperature < math.inf:
            raise ConfigError(f"a temperature of {self.temperature:g} is not above 0")

    @property
    def paths(self) -> int:
        return self.width

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        width = max(given.get("width", defaults.width), defaults.n_best)
        return cls(**{**given, "width": width})

    def begin(self, state: Any, limits: Limits) -> Frontier:
        frontier = Frontier.start(state, limits)
        bits = hash_counter(key(self.seed, "stochastic beam"), frontier.lines)[:, None]
        return replace(frontier, extras=(torch.zeros_like(bits).double(), gumbels(bits), bits))

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        """Each path carries its log-probability, perturbed value and hash."""
        choices = frontier.read(decoder)
        logs, numbers, bits, tokens = self._continue_paths(frontier, choices)  # (B, K, C) each
        gains = choices.logits.gather(1, tokens.flatten(0, 1)) - choices.norms[:, None]
        best, choice = stable_topk(numbers.flatten(1), self.width)
        picked, gain, log, path = (
            part.flatten(1).gather(1, choice)
            for part in (tokens, gains.view_as(numbers), logs, bits)
        )
        parents = choice // tokens.shape[2]
        gain = gain.masked_fill(frontier.finished.gather(1, parents), 0.0)
        gain = gain.masked_fill(best == -torch.inf, -torch.inf)
        moved = frontier.grow(choices, Continuations(picked, gain, parents))
        moved = replace(moved, extras=(log, best, path))
        return moved.finish_sentences(moved.finished.all(dim=1) | moved.full, best)

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        return hypotheses(frontier, count=self.n_best, complete=False)

    def _continue_paths(self, frontier: Frontier, choices: Choices) -> tuple[Tensor, ...]:
        """The continuations of each path with the largest perturbed values; a finished path
        continues as itself.
        """
        shape = frontier.totals.shape
        rows = max(1, CHUNK // choices.logits.shape[1])
        carried = [part.flatten() for part in frontier.extras]
        parts = zip(*(part.split(rows) for part in (choices.logits, *carried)), strict=True)
        found = [self._best_continuations(*part) for part in parts]
        logs, numbers, bits, tokens = (torch.cat(part) for part in zip(*found, strict=True))
        ended = frontier.finished.flatten()
        numbers.masked_fill_(ended[:, None], -torch.inf)
        for mine, kept in zip((logs, numbers, bits), carried, strict=True):
            mine[:, 0] = torch.where(ended, kept, mine[:, 0])
        return tuple(part.unflatten(0, shape) for part in (logs, numbers, bits, tokens))

    def _best_continuations(
        self,
        logits: Float[Tensor, "R V"],
        logs: Float[Tensor, "R"],
        number: Float[Tensor, "R"],
        bits: Int[Tensor, "R"],
    ) -> tuple[Tensor, ...]:
        """The continuations of each path with the largest perturbed values, the first equal to the
        path's own.

        Independent Gumbel draws are transformed so that their maximum becomes the path's value and
        their order stays.
        """
        longer = (
            (logits.double() / self.temperature)
            .log_softmax(dim=1)
            .nan_to_num(-torch.inf, neginf=-torch.inf)
        )
        longer = longer + logs[:, None]
        after = hash_counter(bits[:, None], torch.arange(logits.shape[1], device=logits.device))
        free, tokens = stable_topk(longer + gumbels(after), self.width)
        bent = number[:, None] - free + torch.log1p(-(free - free[:, :1]).exp())
        numbers = number[:, None] - bent.clamp(min=0) - torch.log1p((-bent.abs()).exp())
        numbers = numbers.masked_fill(free == -torch.inf, -torch.inf)
        return longer.gather(1, tokens), numbers, after.gather(1, tokens), tokens
