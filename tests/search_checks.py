"""A conformance suite for searches: what each must keep to, whatever decoder it drives (S7.4).

`check_searches` takes a subject of `tests.checks` in float64 and proves the laws of every method.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from seqloom.fields import START
from seqloom.model import Source
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Greedy,
    Hypothesis,
    Limits,
    MinimumRisk,
    PatientBeam,
    Ranking,
    Sample,
    Search,
    StochasticBeam,
    run_to_end,
)
from tests.checks import (
    EXACT,
    FORBIDDEN,
    Subject,
    assert_outputs_same,
    assert_rescored,
    brute_force,
    repadded,
    singles,
)

__all__ = ["SEARCHES", "check_rankings", "check_searches"]

SEARCHES: list[Search] = [
    Greedy(),
    Sample(temperature=0.8, top_p=0.9, draws=3, seed=4),
    Beam(4, Ranking(gnmt=0.6), n_best=3),
    PatientBeam(3, Ranking(gnmt=0.6), n_best=2),
    DiverseBeam(4, 2, n_best=3),
    StochasticBeam(4, n_best=4),
    Completions(3, 2),
    MinimumRisk(Sample(draws=4), n_best=2),
]
RANKINGS = [
    Ranking(power=0.5),
    Ranking(gnmt=0.8),
    Ranking(reward=0.5),
    Ranking(power=1.0, reward=-0.2),
    Ranking(coverage=0.3),
    Ranking(gnmt=1.0, coverage=1.0),
]


def check_searches(subject: Subject) -> None:
    """Prove the laws of every search for this model."""
    longest = subject.draw(1, 6, len(subject.sentences))
    for search in SEARCHES:
        found = searched(subject, search, longest)
        for number, outputs in enumerate(found):
            assert outputs
            for output in outputs:
                assert_rescored(subject, number, output)
                assert len(output.token_scores) <= longest[number]
        check_neighbours(subject, search, longest, found)


def check_neighbours(
    subject: Subject, search: Search, longest: Tensor, found: list[list[Hypothesis]]
) -> None:
    """Batch mates, their order and padding leave a line's outputs as they are (C2)."""
    assert_outputs_same(searched(repadded(subject), search, longest), found)
    order = torch.randperm(len(longest), generator=subject.random)
    turned = replace(
        subject, source=Source(subject.source.values[order], subject.source.lengths[order])
    )
    again = searched(turned, search, longest[order], lines=order)
    assert_outputs_same(again, [found[number] for number in order.tolist()])
    for number, alone in enumerate(singles(subject)):
        lines = torch.tensor([number])
        result = searched(alone, search, longest[lines], lines=lines)
        assert_outputs_same(result, [found[number]])


def check_rankings(subject: Subject) -> None:
    """A beam that can hold every path finds the best of all outputs by every ranking (C1)."""
    longest = subject.draw(1, 4, len(subject.sentences))
    words = subject.vocabulary - len(FORBIDDEN) - 1
    width = sum(words**length for length in range(int(longest.max()) + 1))
    scored = [brute_force(subject, number, int(most)) for number, most in enumerate(longest)]
    for ranking in RANKINGS:
        if ranking.coverage and not subject.attends:
            continue
        found = searched(subject, Beam(width, ranking, n_best=3), longest)
        for number, (outputs, everything) in enumerate(zip(found, scored, strict=True)):
            ranked = {
                tokens: rank_by_hand(subject, ranking, number, (tokens, score))
                for tokens, score in everything.items()
            }
            best = sorted(ranked.values(), reverse=True)[:3]
            for output, expected in zip(outputs, best, strict=True):
                assert abs(output.rank_score - expected) < EXACT
                assert abs(ranked[output.tokens] - expected) < EXACT


def searched(
    subject: Subject, search: Search, longest: Tensor, *, lines: Tensor | None = None
) -> list[list[Hypothesis]]:
    limits = Limits(longest, forbidden=FORBIDDEN, sources=subject.source.lengths, lines=lines)
    return run_to_end(search, subject.decoder, subject.state(), limits)


def rank_by_hand(
    subject: Subject, ranking: Ranking, number: int, output: tuple[tuple[int, ...], float]
) -> float:
    """The formula of `Ranking`; the attention is that of one read of the whole output."""
    tokens, score = output
    length = len(tokens) + 1
    covered = 0.0
    if ranking.coverage:
        features = subject.recompute(torch.tensor([number]), torch.tensor([[START, *tokens]]))
        assert features.attention is not None
        seen = features.attention[0].sum(dim=0)[: subject.source.lengths[number]]
        covered = float(seen.clamp(1e-9, 1.0).log().sum())
    divisor = float(length**ranking.power) * math.pow((5 + length) / 6, ranking.gnmt)
    return (score + ranking.reward * length) / divisor + ranking.coverage * covered
