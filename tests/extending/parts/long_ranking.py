"""A ranking: each token of an output earns a bonus."""

from dataclasses import dataclass

from torch import Tensor

from seqloom.search import RANKINGS, OutputRanking, option


@RANKINGS.options("long")
@dataclass(frozen=True)
class LongFirst(OutputRanking):
    """Longer outputs come first."""

    bonus: float = option(1.0, "for each token", ge=0)

    def rank(self, totals: Tensor, lengths: Tensor, covered: Tensor | None = None) -> Tensor:
        return totals + self.bonus * lengths

    def upper_bound(self, totals: Tensor, shortest: Tensor, longest: Tensor) -> Tensor:
        return totals + self.bonus * longest
