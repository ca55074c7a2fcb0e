"""RELIABILITY C3: every search ends, whatever a decoder writes."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from seqloom.errors import DivergedError
from seqloom.fields import EMPTY, END, START, UNK
from seqloom.model import Memory
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Greedy,
    Hypothesis,
    PatientBeam,
    Ranking,
    Sample,
    Search,
    StochasticBeam,
)
from tests.search.stubs import Script, Scripted, limits, logarithms, random_script, search_all

pytestmark = pytest.mark.faults

SEARCHES: list[Search] = [
    Greedy(),
    Beam(1, Ranking(power=0.0)),
    Beam(2, Ranking(power=0.0)),
    Beam(3, Ranking(power=1.0), n_best=3),
    Beam(50, Ranking(power=0.5), n_best=50),
    Sample(top_p=0.9, draws=3),
    PatientBeam(3, Ranking(power=1.0), 2.0, n_best=3),
    DiverseBeam(6, 3, 1.0, n_best=4),
    StochasticBeam(4, n_best=4),
    Completions(4, 2),
]
WORD = 4
each_search = pytest.mark.parametrize("search", SEARCHES, ids=repr)


def within_limits(search: Search, script: Script, longest: Sequence[int]) -> list[list[Hypothesis]]:
    """The results, after no more steps than the longest output may have tokens."""
    decoder = Scripted(script)
    frontier = search.begin(decoder.start(Memory(len(longest))), limits(longest))
    for _ in range(max(longest)):
        if frontier.done:
            break
        frontier = search.advance(decoder, frontier)
    assert frontier.done
    return search.results(frontier)


@each_search
def test_a_decoder_that_never_ends_is_stopped_at_each_sentence_s_limit(search: Search) -> None:
    """S3.6: at `<end>` or at a maximum length, whichever comes first."""

    def endless(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({WORD: 0.7, 5: 0.3}, size=6)

    for found, longest in zip(within_limits(search, endless, [1, 5, 3]), [1, 5, 3], strict=True):
        for each in found:
            assert len(each.tokens) == longest
            assert not each.finished
            words = each.tokens.count(WORD)
            likely = words * math.log(0.7) + (longest - words) * math.log(0.3)
            assert each.score == pytest.approx(likely)
        if isinstance(search, Greedy | Beam | DiverseBeam):
            assert [each.tokens for each in found] == [(WORD,) * longest]


@each_search
@pytest.mark.parametrize("after", [0, 1, 3])
def test_where_nothing_is_possible_there_is_one_impossible_output(
    search: Search, after: int
) -> None:
    """All logits −∞, at once or later: the output has probability 0 and no forbidden token."""

    def dead_end(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({WORD: 1.0} if len(written) < after else {}, size=6)

    for found in within_limits(search, dead_end, [6, 4]):
        (only,) = found
        assert only.score == -math.inf
        assert only.tokens == (WORD,) * after
        assert len(only.token_scores) == after + 1


@each_search
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("after", [0, 2])
def test_logits_that_are_no_numbers_are_an_error(search: Search, after: int, wrong: float) -> None:
    def broken(_: int, written: tuple[int, ...]) -> list[float]:
        if len(written) < after:
            return logarithms({WORD: 1.0}, size=6)
        return [0.0, 0.0, 0.0, 0.0, wrong, 0.0]

    with pytest.raises(DivergedError):
        search_all(search, broken, [6])


@pytest.mark.parametrize("width", [15, 16, 100])
def test_a_beam_wider_than_the_vocabulary_holds_every_path(width: int) -> None:
    """Two words and `<end>` within three tokens: 1 + 2 + 4 outputs end, beside 8 that do not."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({END: 0.5, WORD: 0.3, 5: 0.2}, size=6)

    (found,) = search_all(Beam(width, Ranking(power=0.0), n_best=width), script, [3])
    assert len({each.tokens for each in found}) == len(found) == 7
    assert sum(math.exp(each.score) for each in found) == pytest.approx(1 - 0.5**3)


@each_search
def test_a_vocabulary_of_the_special_symbols_alone(search: Search) -> None:
    """Where `<end>` is all that may be written, it is written at once."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return [0.0, 0.0, 0.0, 0.0]

    (found,) = search_all(search, script, replace(limits([7]), forbidden=(EMPTY, UNK, START)))
    assert found
    for each in found:
        assert (each.tokens, each.finished) == ((), True)
        assert each.score == pytest.approx(math.log(1 / 4))


@each_search
def test_a_vocabulary_of_one_word_that_never_ends(search: Search) -> None:
    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({WORD: 1.0}, size=5)

    (found,) = within_limits(search, script, [4])
    assert found
    for each in found:
        assert (each.tokens, each.finished, each.score) == ((WORD,) * 4, False, 0.0)


def test_no_sentences_have_no_results() -> None:
    for search in SEARCHES:
        frontier = search.begin(Scripted(lambda *_: []).start(Memory(0)), limits([]))
        assert frontier.done
        assert search.results(frontier) == []


@pytest.mark.parametrize("number", range(200))
def test_every_search_ends_on_every_table(number: int) -> None:
    """RELIABILITY C3: random tables, a good part of whose logits is −∞."""
    size, impossible = 4 + number % 4, (0.2, 0.5, 0.8, 0.95)[number // 4 % 4]
    script = random_script(number, size=size, levels=3, impossible=impossible)
    longest = [1 + number % 3, 4, 2]
    for search in searches(number):
        results = within_limits(search, script, longest)
        assert len(results) == len(longest)
        for found, most in zip(results, longest, strict=True):
            assert_sound(found, most, size)
            if not isinstance(search, Sample):
                assert len({each.tokens for each in found}) == len(found)


def searches(number: int) -> list[Search]:
    """A beam, and another method in turn."""
    width = 1 + number % 9
    ranking, wanted = Ranking(power=number % 3 / 2), 1 + number % width
    others: list[Search] = [
        Greedy(),
        Sample(top_k=number % 4, top_p=0.5 + number % 6 / 10, draws=width, seed=number),
        DiverseBeam(2 * width, width, number % 3 / 2, ranking, wanted),
        StochasticBeam(width, seed=number, n_best=wanted),
        Completions(width, 1 + number % 3, ranking),
    ]
    return [Beam(width, ranking, n_best=wanted), others[number % len(others)]]


def assert_sound(found: list[Hypothesis], longest: int, size: int) -> None:
    """At least one output, none too long, none forbidden, best first, impossible ones alone."""
    assert found
    for each in found:
        assert len(each.token_scores) == len(each.tokens) + each.finished <= longest
        assert not {EMPTY, START, END} & set(each.tokens)
        assert max(each.tokens, default=0) < size
        assert not math.isnan(each.score)
        assert each.score <= 0
    ranks = [each.rank_score for each in found]
    assert ranks == sorted(ranks, reverse=True)
    assert len(found) == 1 or min(ranks) > -math.inf
