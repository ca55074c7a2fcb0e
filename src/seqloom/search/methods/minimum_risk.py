"""Minimum Bayes risk: of several draws the one most like all the others (S7.5)."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.config.searches import RISK_DRAWS, SEARCHES, RiskOptions
from seqloom.errors import ConfigError
from seqloom.model import Decoder
from seqloom.search.frontier import Frontier
from seqloom.search.hypothesis import Hypothesis
from seqloom.search.limits import Limits, Phrase
from seqloom.search.methods.sample import Sample
from seqloom.search.protocol import Search, SearchDefaults, deduplicate

__all__ = ["MinimumRisk", "Utility", "pairwise_chrf"]

Utility = Callable[[Sequence[Phrase]], Tensor]
"""From N outputs to how good each (row) is where each (column) is right: (N, N)."""

ORDER = 6  # longest stretch of symbols that is compared
DEFAULT_SAMPLE = Sample(draws=RISK_DRAWS)
RECALL = 2.0  # how much more it counts to have what is right than to have nothing else


def pairwise_chrf(outputs: Sequence[Sequence[Hashable]]) -> Float[Tensor, "N N"]:
    """How much of each output (column) another one (row) has: the F-score of chrF, from 0 to 1.

    Stretches of one to six symbols are counted. On characters without white space this is chrF as
    sacrebleu counts it; on tokens, the same by tokens. An output is always wholly like itself.
    Popović 2015, chrF.
    """
    count = len(outputs)
    precision, recall, orders = (torch.zeros(count, count, dtype=torch.float64) for _ in range(3))
    for size in range(1, ORDER + 1):
        table = _ngram_counts(outputs, size)
        matches = torch.zeros_like(precision)
        for times in range(1, int(table.max()) + 1 if table.numel() else 1):
            reached = (table >= times).double()
            matches += reached @ reached.T
        sums = table.sum(dim=1).double()
        both = (sums[:, None] > 0) & (sums > 0)
        precision += (matches / sums[:, None].clamp(min=1)) * both
        recall += (matches / sums.clamp(min=1)) * both
        orders += both
    precision, recall = precision / orders.clamp(min=1), recall / orders.clamp(min=1)
    factor = RECALL**2
    score = (1 + factor) * precision * recall / (factor * precision + recall).clamp(min=1e-300)
    return score.fill_diagonal_(1.0)


def _ngram_counts(outputs: Sequence[Sequence[Hashable]], size: int) -> Float[Tensor, "N M"]:
    """How often each stretch of so many symbols is in each output."""
    numbers: dict[Any, int] = {}
    rows, columns = [], []
    for row, output in enumerate(outputs):
        for at in range(len(output) - size + 1):
            rows.append(row)
            columns.append(numbers.setdefault(output[at : at + size], len(numbers)))
    table = torch.zeros(len(outputs), len(numbers))
    where = (torch.tensor(rows, dtype=torch.int64), torch.tensor(columns, dtype=torch.int64))
    return table.index_put_(where, torch.ones(()), accumulate=True)


@SEARCHES.part("risk")
@dataclass(frozen=True)
class MinimumRisk(RiskOptions, Search):
    """The draw most like all the others.

    Outputs are drawn, and those of the highest mean utility given, where each other draw is taken
    to be right. The probability of an output so counts through how often it, and what is like it,
    is drawn. Kumar and Byrne 2004, Minimum Bayes-Risk Decoding for Statistical Machine Translation;
    Eikema and Aziz 2020, Is MAP Decoding All You Need?
    """

    sample: Sample = DEFAULT_SAMPLE
    utility: Utility = pairwise_chrf
    n_best: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.n_best <= self.sample.draws or self.sample.draws < 2:
            raise ConfigError(
                f"{self.sample.draws} draws cannot be compared for {self.n_best} outputs",
                remedy="draw more",
            )

    @property
    def paths(self) -> int:
        return self.sample.paths

    @classmethod
    def from_options(cls, given: Mapping[str, Any], defaults: SearchDefaults) -> Search:
        count = max(DEFAULT_SAMPLE.draws, defaults.n_best)
        return cls(Sample(**{"draws": count, **given}))

    def for_texts(self, decode: Callable[[Phrase], str]) -> Search:
        """Utility is chrF of the texts rather than of their tokens."""
        if self.utility is not pairwise_chrf:
            return self
        return replace(self, utility=lambda outputs: _text_chrf(outputs, decode))

    def begin(self, state: Any, limits: Limits) -> Frontier:
        return self.sample.begin(state, limits)

    def advance(self, decoder: Decoder[Any], frontier: Frontier, /) -> Frontier:
        return self.sample.advance(decoder, frontier)

    def results(self, frontier: Frontier, /) -> list[list[Hypothesis]]:
        return [self._rank_draws(draws)[: self.n_best] for draws in self.sample.results(frontier)]

    def _rank_draws(self, draws: list[Hypothesis]) -> list[Hypothesis]:
        """Different outputs by their mean utility; among equals the likelier comes first."""
        outputs = deduplicate(draws)
        numbers = {output.tokens: number for number, output in enumerate(outputs)}
        times = torch.bincount(torch.tensor([numbers[draw.tokens] for draw in draws])).double()
        table = self.utility([output.tokens for output in outputs]).double()
        means = (table @ times - table.diagonal()) / max(1, len(draws) - 1)
        ranked = [replace(o, rank_score=m) for o, m in zip(outputs, means.tolist(), strict=True)]
        return sorted(ranked, key=lambda output: -output.rank_score)


def _text_chrf(outputs: Sequence[Phrase], decode: Callable[[Phrase], str]) -> Tensor:
    """chrF of each pair of texts, as a share of 1."""
    return pairwise_chrf(["".join(decode(tokens).split()) for tokens in outputs])
