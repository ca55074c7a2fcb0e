"""How outputs are compared, and the best that an unfinished path may still become (S7.5)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.config import SearchConfig
from seqloom.errors import ConfigError

__all__ = ["PER_TOKEN", "PLAIN", "Ranking", "coverage_penalty"]

MAX_POWER = 4.0  # power of a length that single precision can hold
MIN_ATTENTION = 1e-9  # attention that a source position counts with if it has had none


@dataclass(frozen=True)
class Ranking:
    """(log-probability + reward · n) / (n^power · ((5 + n) / 6)^gnmt) + coverage · c.

    n counts the tokens, `<end>` included; c = Σ_s log min(Σ_t a_ts, 1) is 0 where every source
    position has had a full share of attention, and less where one was passed over. Each of the
    four is off at 0, and without any of them outputs are compared by their log-probability.
    """

    power: float = 0.0
    gnmt: float = 0.0
    reward: float = 0.0
    coverage: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("power", self.power), ("GNMT exponent", self.gnmt)):
            if not 0 <= value <= MAX_POWER:
                raise ConfigError(
                    f"a length {name} of {value:g} is not between 0 and {MAX_POWER:g}"
                )
        if not 0 <= self.coverage < torch.inf:
            raise ConfigError(f"a coverage weight of {self.coverage:g} is not 0 or more")
        if not -torch.inf < self.reward < torch.inf:
            raise ConfigError("a length reward must be a finite number")

    @classmethod
    def from_config(cls, options: SearchConfig) -> "Ranking":
        """As the options of a run say."""
        return cls(
            options.length_power, options.length_gnmt, options.length_reward, options.coverage
        )

    @property
    def is_plain(self) -> bool:
        """Whether outputs are compared by log-probability alone, which only falls as they grow."""
        return self == PLAIN

    def rank(
        self,
        totals: Float[Tensor, "*paths"],
        lengths: Int[Tensor, "*paths"],
        covered: Float[Tensor, "*paths"] | None = None,
    ) -> Float[Tensor, "*paths"]:
        """What outputs of these log-probabilities and lengths are compared by."""
        ranks = totals
        if self.reward:
            ranks = ranks + self.reward * lengths.to(totals.dtype)
        if self.power or self.gnmt:
            ranks = ranks / self._divisor(lengths, totals.dtype)
        if self.coverage:
            if covered is None:
                raise ConfigError("outputs cannot be compared by coverage: there is no attention")
            ranks = ranks + self.coverage * covered
        return ranks

    def upper_bound(
        self,
        totals: Float[Tensor, "*paths"],
        shortest: Int[Tensor, "*paths"],
        longest: Int[Tensor, "*paths"],
    ) -> Float[Tensor, "*paths"]:
        """A bound that no output beats that begins with a path of such a log-probability.

        It has at least `shortest` tokens and at most `longest`. Probabilities only fall, attention
        may yet cover everything, and a length divides a negative sum most when it is greatest.
        """
        most = totals
        if self.reward:
            lengths = longest if self.reward > 0 else shortest
            most = most + self.reward * lengths.to(totals.dtype)
        if self.power or self.gnmt:
            lengths = torch.where(most > 0, shortest, longest) if self.reward > 0 else longest
            most = most / self._divisor(lengths, totals.dtype)
        return most

    def _divisor(self, lengths: Int[Tensor, "*n"], kind: torch.dtype) -> Float[Tensor, "*n"]:
        count = lengths.clamp(min=1).to(kind)
        if not self.gnmt:
            return count if self.power == 1 else count**self.power
        divisor = ((5 + count) / 6) ** self.gnmt
        return divisor * count**self.power if self.power else divisor


PLAIN = Ranking()
PER_TOKEN = Ranking(power=1.0)


def coverage_penalty(
    attended: Float[Tensor, "B K S"], sources: Int[Tensor, "B"]
) -> Float[Tensor, "B K"]:
    """c of each path, from the attention that each source position has had in all its steps.

    `sources` counts the real positions of each sentence; those after them are padding.
    """
    real = torch.arange(attended.shape[2], device=sources.device) < sources[:, None]  # (B, S)
    shares = attended.clamp(MIN_ATTENTION, 1.0).log()
    return torch.where(real[:, None], shares, 0.0).sum(dim=2)
