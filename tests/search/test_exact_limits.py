"""Exact search at work: what it reads, in which order, and its honesty at a limit (S7.5)."""

import math
from itertools import pairwise
from typing import Any

import pytest
from torch import Tensor

from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END
from seqloom.model import Features, Memory
from seqloom.search import Beam, Exact, Hypothesis, Ranking
from tests.counts import count
from tests.search.exact_support import RANKINGS, run, run_script
from tests.search.stubs import (
    Scripted,
    ScriptedState,
    endings,
    every_output,
    limits,
    logarithms,
    outputs,
    random_script,
    search_all,
)

WORD, OTHER = 4, 5
each_ranking = pytest.mark.parametrize("ranking", RANKINGS, ids=str)


@pytest.mark.faults
@pytest.mark.parametrize("number", range(count(12, 300)))
def test_only_paths_that_could_be_better_are_read(number: int) -> None:
    """With the optimum known from the beam, the tree of paths no less likely than it is read.

    Less would prove nothing, and more would be wasted.
    """
    size, longest = 6 + number % 2, 3 + number % 3
    script = random_script(number, size=size, levels=12, impossible=0.1)
    ends = endings(every_output(script, 0, longest)).values()
    if not ends:
        pytest.skip("nothing ends")
    ((found,),), (read,) = run_script(Exact(width=size**longest), script, [longest])
    assert found.score == pytest.approx(max(ends), abs=1e-12)
    totals = [
        total
        for length in range(1, longest)
        for tokens, total in every_output(script, 0, length).items()
        if tokens[-1] != END
    ]
    worth = sum(total > max(ends) + 1e-9 for total in totals)
    ties = sum(abs(total - max(ends)) <= 1e-9 for total in totals)
    assert 1 + worth <= read <= 1 + worth + ties


@each_ranking
@pytest.mark.parametrize("number", range(count(1, 30)))
def test_a_limit_is_confessed_and_never_costs_what_the_beam_had(
    number: int, ranking: Ranking
) -> None:
    """However few paths may be read: not one more is, an output that is not called limited is the
    optimum, more work finds no worse, and no output is worse than the beam's."""
    script = random_script(number, size=6, levels=30, impossible=0.1)
    longest = [4, 5, 3]
    optimum, needed = run_script(Exact(ranking, width=3), script, longest)
    beam = search_all(Beam(3, ranking), script, longest)
    allowed = [1, 2, 4, 9, 30, max(needed)]
    reached = []
    for expansions in allowed:
        search = Exact(ranking, expansions=expansions, width=3)
        found, read = run_script(search, script, longest)
        assert max(read) <= expansions
        for (mine,), (ideal,), (first,), cost in zip(found, optimum, beam, needed, strict=True):
            assert mine.limited == (cost > expansions)
            assert mine.limited or mine == ideal
            assert ended_rank(ideal) >= ended_rank(mine) >= ended_rank(first)
        reached.append([ended_rank(each) for (each,) in found])
    assert all(
        more >= fewer for pair in pairwise(reached) for fewer, more in zip(*pair, strict=True)
    )
    assert not any(each.limited for (each,) in found)


def ended_rank(output: Hypothesis) -> float:
    """What an output is worth; one that does not end is worth nothing."""
    return output.rank_score if output.finished else -math.inf


def test_the_time_is_limited() -> None:
    """After the shortest time only greedy search and the first read have shown anything."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        """WORD is likelier than OTHER, but what it leads to is not (S10)."""
        unsure = {END: 0.4, WORD: 0.3, OTHER: 0.3}
        follow = {(): {WORD: 0.5, OTHER: 0.4, END: 0.1}, (WORD,): unsure}
        return logarithms(follow.get(written, {END: 0.8, OTHER: 0.2}), size=6)

    ((hurried,),), read = run_script(Exact(seconds=1e-9, width=1), script, [2])
    assert (read, hurried.limited, hurried.tokens) == ([1], True, (WORD,))
    ((patient,),), _ = run_script(Exact(seconds=60.0, width=1), script, [2])
    assert (patient.limited, patient.tokens) == (False, (OTHER,))
    assert math.exp(patient.score) == pytest.approx(0.32)


@pytest.mark.parametrize("number", range(count(4, 60)))
@pytest.mark.parametrize("expansions", [4, 9, 10_000])
def test_a_sentence_is_found_alike_in_every_batch(number: int, expansions: int) -> None:
    """RELIABILITY C2: batch mates and their order change nothing, not even at a limit."""
    script, longest = random_script(number, size=7, levels=30, impossible=0.1), [2, 5, 1, 4]
    search = Exact(
        RANKINGS[number % len(RANKINGS)], expansions=expansions, n_best=1 + number % 2, width=2
    )
    together, read = run_script(search, script, longest)
    for sentence, most in enumerate(longest):

        def alone(_: int, written: tuple[int, ...], sentence: int = sentence) -> list[float]:
            return list(script(sentence, written))

        assert run_script(search, alone, [most]) == ([together[sentence]], [read[sentence]])
    turned, _ = run_script(search, lambda n, written: script(3 - n, written), longest[::-1])
    assert turned == together[::-1]


def test_a_path_is_given_up_when_something_better_is_known() -> None:
    """.4 × .45 at `<end>` is found on the way to worse, and then .15 is not worth a look."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        table = {
            (): {WORD: 0.4, OTHER: 0.15, END: 0.05, EMPTY: 0.4},
            (WORD,): {WORD: 0.5, END: 0.45, OTHER: 0.05},
        }
        return logarithms(table.get(written, {END: 0.1, EMPTY: 0.9}), size=6)

    ((found,),), read = run_script(Exact(width=1), script, [4])
    assert (found.tokens, round(math.exp(found.score), 12)) == ((WORD,), 0.18)
    assert read == [3]  # nothing, WORD, and WORD WORD


def test_the_most_hopeful_path_is_read_first() -> None:
    """With two paths to read, the second is the likelier of the two that the beam left out."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        table = {
            (): {1: 0.35, WORD: 0.3, OTHER: 0.34, END: 0.01},
            (1,): {END: 0.1, EMPTY: 0.9},
            (WORD,): {END: 0.5, EMPTY: 0.5},
            (OTHER,): {END: 0.5, EMPTY: 0.5},
        }
        return logarithms(table.get(written, {END: 1.0}), size=6)

    for expansions, tokens in [(1, (1,)), (2, (1,)), (3, (OTHER,)), (4, (OTHER,))]:
        ((found,),), read = run_script(Exact(expansions=expansions, width=1), script, [3])
        assert (found.tokens, found.limited) == (tokens, expansions < 4)
        assert read == [expansions]


class Consuming(Scripted):
    """A decoder whose `read` leaves nothing of the state it was given, as the protocol allows."""

    def read(self, inputs: Tensor, state: ScriptedState) -> tuple[Features, ScriptedState]:
        features, after = super().read(inputs, state)
        state.own.tokens.fill_(EMPTY)
        return features, after


@pytest.mark.parametrize("number", range(10))
def test_no_state_is_read_twice(number: int) -> None:
    """`read` consumes its state, so what is needed again is selected before."""
    script, longest = random_script(number, size=6, levels=30), [5, 4]
    for search in (Exact(width=2, n_best=2), Exact(RANKINGS[1 + number % 5], width=1)):
        decoder = Consuming(script)
        found, _ = run(search, decoder, decoder.start(Memory(2)), limits(longest))
        assert outputs(found) == outputs(run_script(search, script, longest)[0])


@pytest.mark.parametrize(
    "options", [{"expansions": 0}, {"seconds": 0.0}, {"n_best": 0}, {"width": 0}], ids=str
)
def test_limits_that_allow_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Exact(**options)
