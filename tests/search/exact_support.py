"""What the tests of exact search share: how outputs are compared, and runs that are counted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seqloom.model import Decoder, Memory
from seqloom.search import Exact, Hypothesis, Limits, Ranking
from tests.search.stubs import Script, Scripted, endings, every_output, limits

__all__ = ["COVERAGE", "RANKINGS", "Candidate", "best", "ending_candidates", "run", "run_script"]

RANKINGS = [
    Ranking(),
    Ranking(power=1.0),
    Ranking(power=0.6, reward=1.5),
    Ranking(gnmt=0.8),
    Ranking(reward=0.7),
    Ranking(reward=-0.4),
]
COVERAGE = Ranking(power=0.5, coverage=0.4)


@dataclass(frozen=True)
class Candidate:
    """An output that ends, with what it is compared by."""

    tokens: tuple[int, ...]
    score: float
    covered: float = 0.0

    def rank(self, ranking: Ranking) -> float:
        """The formula as it stands in the manual."""
        n = len(self.tokens) + 1
        divisor = float(n**ranking.power * ((5 + n) / 6) ** ranking.gnmt)
        return (self.score + ranking.reward * n) / divisor + ranking.coverage * self.covered


def best(candidates: Sequence[Candidate], ranking: Ranking, wanted: int) -> list[Candidate]:
    """The best of all, the shorter and lower first among equals."""

    def order(each: Candidate) -> tuple[float, int, tuple[int, ...]]:
        return -round(each.rank(ranking), 9), len(each.tokens), each.tokens

    return sorted((each for each in candidates if each.score > -math.inf), key=order)[:wanted]


def run(
    search: Exact, decoder: Decoder[Any], state: Any, limits: Limits
) -> tuple[list[list[Hypothesis]], list[int]]:
    """The results, and how many paths were read for each sentence."""
    tree = search.begin(state, limits)
    while not tree.done:
        tree = search.advance(decoder, tree)
    return search.results(tree), (search.expansions - tree.expansions).tolist()


def run_script(
    search: Exact, script: Script, longest: Sequence[int]
) -> tuple[list[list[Hypothesis]], list[int]]:
    decoder = Scripted(script)
    return run(search, decoder, decoder.start(Memory(len(longest))), limits(longest))


def ending_candidates(script: Script, sentence: int, longest: int) -> list[Candidate]:
    found = endings(every_output(script, sentence, longest))
    return [Candidate(tokens, score) for tokens, score in found.items()]
