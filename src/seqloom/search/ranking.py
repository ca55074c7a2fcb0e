"""Rankings of outputs, and upper bounds for unfinished paths (S7.5)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.config import SearchConfig
from seqloom.config.searches import AUTO, RANKINGS, option
from seqloom.errors import ConfigError

__all__ = ["PER_TOKEN", "PLAIN", "OutputRanking", "Ranking", "coverage_penalty"]

MAX_POWER = 4.0  # greatest power of a length in single precision
MIN_ATTENTION = 1e-9  # attention assumed for source positions that had none


class OutputRanking(ABC):
    """Base class of rankings.

    A ranking is a frozen dataclass, registered in RANKINGS under its name for users;
    fields made by `option` are its options.
    """

    @property
    def is_plain(self) -> bool:
        """Whether the rank is the log-probability alone, which only falls as outputs grow."""
        return False

    @property
    def uses_attention(self) -> bool:
        """Whether `rank` needs the attention penalty of each output."""
        return False

    @property
    def length_power(self) -> float:
        """The power of the length by which scores are divided, as other runtimes support it."""
        return 0.0

    @abstractmethod
    def rank(
        self,
        totals: Float[Tensor, "*paths"],
        lengths: Int[Tensor, "*paths"],
        covered: Float[Tensor, "*paths"] | None = None,
    ) -> Float[Tensor, "*paths"]:
        """The ranks of outputs with these log-probabilities, lengths and attention penalties."""

    @abstractmethod
    def upper_bound(
        self,
        totals: Float[Tensor, "*paths"],
        shortest: Int[Tensor, "*paths"],
        longest: Int[Tensor, "*paths"],
    ) -> Float[Tensor, "*paths"]:
        """An upper bound on the rank of outputs that begin with a path of this log-probability.

        Outputs have `shortest` to `longest` tokens. Searches stop by this bound (Huang et al. 2017,
        When to Finish?), so it must hold.
        """


@RANKINGS.options("length")
@dataclass(frozen=True)
class Ranking(OutputRanking):
    """(log-probability + reward · n) / (n^power · ((5 + n) / 6)^gnmt) + coverage · c.

    n is the number of tokens, including `<end>`; c = Σ_s log min(Σ_t a_ts, 1) is 0 if every source
    position received full attention, otherwise negative. Each term is off at 0; without any of them
    the rank is the log-probability. Wu et al. 2016, Google's Neural Machine Translation System
    (gnmt, coverage); Murray and Chiang 2018, Correcting Length Bias in Neural Machine Translation
    (reward).
    """

    power: float = option(0.0, "divide the score by length to this power", ge=0, le=MAX_POWER)
    gnmt: float = option(0.0, "and by ((5 + length) / 6) to this power", ge=0, le=MAX_POWER)
    reward: float = option(0.0, "before that, add this for each token", ge=-1_000)
    coverage: float = option(
        0.0, "weight of the penalty for source tokens with too little attention", ge=0
    )

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

    @staticmethod
    def from_config(options: SearchConfig) -> OutputRanking:
        """The ranking configured in a run."""
        if options.ranking == AUTO:
            return Ranking(
                options.length_power, options.length_gnmt, options.length_reward, options.coverage
            )
        table: Mapping[str, Any] = (
            {"kind": options.ranking} if isinstance(options.ranking, str) else options.ranking
        )
        given = {name: value for name, value in table.items() if name != "kind"}
        ranking: OutputRanking = RANKINGS.options_of(table["kind"])(**given)
        return ranking

    @property
    def is_plain(self) -> bool:
        return self == PLAIN

    @property
    def uses_attention(self) -> bool:
        return self.coverage > 0

    @property
    def length_power(self) -> float:
        return self.power

    def rank(
        self,
        totals: Float[Tensor, "*paths"],
        lengths: Int[Tensor, "*paths"],
        covered: Float[Tensor, "*paths"] | None = None,
    ) -> Float[Tensor, "*paths"]:
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
        """Log-probabilities only fall, coverage may still become complete, and the greatest length
        divides a negative sum most.
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
    """c of each path, from the attention summed over steps.

    `sources` is the number of real positions of each sentence.
    """
    real = torch.arange(attended.shape[2], device=sources.device) < sources[:, None]  # (B, S)
    shares = attended.clamp(MIN_ATTENTION, 1.0).log()
    return torch.where(real[:, None], shares, 0.0).sum(dim=2)
