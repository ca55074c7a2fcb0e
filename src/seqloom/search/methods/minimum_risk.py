"""Minimum Bayes risk decoding: the sample most similar to all others (S7.5)."""

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
"""A function from N outputs to the utility (N, N) of each (row) if each (column) is the "
  "reference."""

ORDER = 6  # longest character n-gram
DEFAULT_SAMPLE = Sample(draws=RISK_DRAWS)
RECALL = 2.0  # weight of recall against precision


def pairwise_chrf(outputs: Sequence[Sequence[Hashable]]) -> Float[Tensor, "N N"]:
    """The chrF of every output (row) against every other (column), from 0 to 1.

    N-grams of one to six symbols are counted. On characters without white space this is sacrebleu's
    chrF; on tokens, the same over tokens. An output scores 1 against itself. Popović 2015, chrF.
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
    """The count of each n-gram in each output."""
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
    """Minimum Bayes risk: the sample most similar to all others.

    Outputs are sampled and ranked by their mean utility with each other sample as the reference, so
    an output's probability counts by how often it and similar ones are sampled. Kumar and Byrne
    2004, Minimum Bayes-Risk Decoding for Statistical Machine Translation; Eikema and Aziz 2020, Is
    MAP Decoding All You Need?
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
        """Use chrF of texts rather than of tokens as the utility."""
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
        """The distinct outputs by mean utility; ties go to the more probable."""
        outputs = deduplicate(draws)
        numbers = {output.tokens: number for number, output in enumerate(outputs)}
        times = torch.bincount(torch.tensor([numbers[draw.tokens] for draw in draws])).double()
        table = self.utility([output.tokens for output in outputs]).double()
        means = (table @ times - table.diagonal()) / max(1, len(draws) - 1)
        ranked = [replace(o, rank_score=m) for o, m in zip(outputs, means.tolist(), strict=True)]
        return sorted(ranked, key=lambda output: -output.rank_score)


def _text_chrf(outputs: Sequence[Phrase], decode: Callable[[Phrase], str]) -> Tensor:
    """chrF of each pair of texts, from 0 to 1."""
    return pairwise_chrf(["".join(decode(tokens).split()) for tokens in outputs])
