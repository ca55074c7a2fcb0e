"""S7.5: how outputs are compared, against hand-worked numbers and brute force."""

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.fields import END
from seqloom.randomness import key
from seqloom.search import Beam, Ranking
from tests.counts import count
from tests.search.stubs import (
    Script,
    Scripted,
    endings,
    every_output,
    limits,
    logarithms,
    random_script,
    search_all,
)

RANKINGS = [
    Ranking(),
    Ranking(power=0.7),
    Ranking(gnmt=0.6),
    Ranking(reward=0.4),
    Ranking(reward=-0.3, power=1.0),
    Ranking(coverage=0.5),
    Ranking(power=0.5, gnmt=0.5, reward=2.0, coverage=0.2),
]
each_ranking = pytest.mark.parametrize("ranking", RANKINGS, ids=str)
SOURCES = [3, 1, 2]  # source positions of each sentence; the rest is padding


def looks_of(seed: int) -> Script:
    """Attention to the real positions of each sentence, drawn anew for every path."""

    @cache
    def looks(sentence: int, written: tuple[int, ...]) -> list[float]:
        draw = torch.Generator().manual_seed(key(seed, "looks", sentence, *written))
        shares = torch.rand(3, generator=draw, dtype=torch.float64)
        shares[SOURCES[sentence] :] = 0
        values: list[float] = (shares / shares.sum()).tolist()
        return values

    return looks


def rank_by_hand(
    ranking: Ranking, score: float, tokens: tuple[int, ...], looks: Script, n: int
) -> float:
    """The formula of `Ranking`, for an output without its `<end>`."""
    steps = [tokens[:end] for end in range(len(tokens) + 1)]
    seen = [sum(looks(n, step)[s] for step in steps) for s in range(SOURCES[n])]
    covered = sum(math.log(min(share, 1.0)) for share in seen)
    length = len(tokens) + 1
    divisor = length**ranking.power * ((5 + length) / 6) ** ranking.gnmt
    return (score + ranking.reward * length) / float(divisor) + ranking.coverage * covered


def test_a_ranking_by_hand() -> None:
    """Three tokens of log-probability −6: −6/3, −6/(8/6)^α, −6 + 3·0.5; half covered, log .5."""
    total, length = torch.tensor([-6.0]), torch.tensor([3])
    half = torch.tensor([math.log(0.5)])
    assert float(Ranking().rank(total, length)) == -6
    assert float(Ranking(power=1.0).rank(total, length)) == -2
    assert float(Ranking(gnmt=1.0).rank(total, length)) == pytest.approx(-4.5)
    assert float(Ranking(reward=0.5).rank(total, length)) == -4.5
    found = Ranking(power=1.0, coverage=2.0).rank(total, length, half)
    assert float(found) == pytest.approx(-2 + 2 * math.log(0.5))


@each_ranking
def test_no_continuation_is_better_than_hoped(ranking: Ranking) -> None:
    """Whatever a path may still gain, lose and cover, its rank is at most `hope` before."""
    draw = torch.Generator().manual_seed(5)
    totals = -10 * torch.rand(5_000, generator=draw, dtype=torch.float64)
    shortest = torch.randint(1, 9, totals.shape, generator=draw)
    longest = shortest + torch.randint(0, 9, totals.shape, generator=draw)
    hope = ranking.upper_bound(totals, shortest, longest)
    for turn in range(20):
        more = torch.rand(totals.shape, generator=draw, dtype=torch.float64)
        lengths = (
            shortest + (torch.rand(totals.shape, generator=draw) * (longest - shortest + 1)).long()
        )
        covered = -more if turn % 2 else torch.zeros_like(more)
        final = ranking.rank(totals - (turn % 3) * more, lengths, covered)
        assert bool((final <= hope + 1e-12).all())


@pytest.mark.faults
@each_ranking
@pytest.mark.parametrize("number", range(count(8, 150)))
def test_a_wide_beam_finds_the_best_by_every_ranking(number: int, ranking: Ranking) -> None:
    """RELIABILITY C1: a beam that holds every path gives the best of all outputs, in order."""
    script, looks = random_script(number, size=6, levels=50), looks_of(number)
    longest = [4, 3, 1 + number % 4]
    allowed = replace(limits(longest), sources=torch.tensor(SOURCES))
    found = search_all(Beam(200, ranking, n_best=4), Scripted(script, looks), allowed)
    for sentence, outputs in enumerate(found):
        everything = endings(every_output(script, sentence, longest[sentence]))
        ranked = {
            tokens: rank_by_hand(ranking, score, tokens, looks, sentence)
            for tokens, score in everything.items()
        }
        best = sorted(ranked.values(), reverse=True)[:4]
        assert [each.rank_score for each in outputs] == pytest.approx(best, abs=1e-9)
        for each in outputs:
            assert each.rank_score == pytest.approx(ranked[each.tokens], abs=1e-9)
            assert each.score == pytest.approx(everything[each.tokens], abs=1e-9)


@each_ranking
@pytest.mark.parametrize("number", range(count(4, 40)))
def test_more_outputs_begin_with_fewer(number: int, ranking: Ranking) -> None:
    """S7.3: with one width, the N best are the first N of the N + 1 best."""
    decoder = Scripted(random_script(number, size=7, levels=40), looks_of(number))
    allowed = replace(limits([3 + number % 4, 6, 5]), sources=torch.tensor(SOURCES))
    every = [search_all(Beam(5, ranking, n_best=n), decoder, allowed) for n in range(1, 6)]
    for wanted, (fewer, more) in enumerate(pairwise(every), start=1):
        for some, others in zip(fewer, more, strict=True):
            assert [each.tokens for each in some] == [each.tokens for each in others[:wanted]]


@pytest.mark.parametrize("number", range(20))
def test_stopping_at_the_first_finished_path_finds_the_same_best(number: int) -> None:
    """S7.3: when the best path overall is a finished one, nothing can overtake it."""
    script = random_script(number, size=7, levels=30)
    first = search_all(Beam(4, Ranking(), n_best=4, first=True), script, [6, 3, 5])
    complete = search_all(Beam(4, Ranking(), n_best=4), script, [6, 3, 5])
    for some, others in zip(first, complete, strict=True):
        assert some[0].tokens == others[0].tokens
        assert len(some) <= len(others)


def test_stopping_first_is_refused_where_it_is_not_sound() -> None:
    for ranking in RANKINGS[1:]:
        with pytest.raises(ConfigError, match="first finished"):
            Beam(4, ranking, first=True)


@pytest.mark.parametrize(
    ("power", "gnmt", "reward", "coverage"),
    [
        (-1.0, 0.0, 0.0, 0.0),
        (5.0, 0.0, 0.0, 0.0),
        (0.0, -0.1, 0.0, 0.0),
        (0.0, 0.0, math.nan, 0.0),
        (0.0, 0.0, 0.0, -1.0),
    ],
)
def test_what_is_no_ranking_is_refused(
    power: float, gnmt: float, reward: float, coverage: float
) -> None:
    with pytest.raises(ConfigError):
        Ranking(power, gnmt, reward, coverage)


def test_coverage_without_attention_is_refused() -> None:
    with pytest.raises(ConfigError, match="no attention"):
        search_all(Beam(2, Ranking(coverage=1.0)), random_script(0, size=6, levels=3), [3])


@pytest.mark.parametrize("number", range(20))
def test_outputs_are_as_long_as_allowed(number: int) -> None:
    """Lower and upper lengths of each sentence, `<end>` included: brute force over the rest."""
    script = random_script(number, size=6, levels=40)
    shortest, longest = [1, 2, 3], [2, 4, 3]
    allowed = replace(limits(longest), shortest=torch.tensor(shortest))
    found = search_all(Beam(200, Ranking(power=0.5), n_best=3), script, allowed)
    for sentence, outputs in enumerate(found):
        everything = endings(every_output(script, sentence, longest[sentence]))
        ranked = {
            tokens: score / (len(tokens) + 1) ** 0.5
            for tokens, score in everything.items()
            if len(tokens) + 1 >= shortest[sentence]
        }
        best = sorted(ranked.values(), reverse=True)[:3]
        assert [each.rank_score for each in outputs] == pytest.approx(best)
        assert all(each.tokens in ranked for each in outputs)


def test_a_shortest_length_forbids_the_end_and_nothing_else() -> None:
    """`<end>` has .9, but three tokens must come first; its share stays with it."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({END: 0.9, 4: 0.1}, size=5)

    allowed = replace(limits([6]), shortest=torch.tensor([4]))
    ((best,),) = search_all(Beam(2), script, allowed)
    assert best.tokens == (4, 4, 4)
    assert best.score == pytest.approx(math.log(0.1**3 * 0.9))
