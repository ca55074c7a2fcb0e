"""S7.3, S7.5: exhaustive forking, and beam search as the texts stop it."""

import math

import pytest

from seqloom.errors import LimitError
from seqloom.fields import END
from seqloom.search import Beam, Exact, Exhaustive, Greedy, SearchDefaults, TextbookBeam
from tests.search.stubs import endings, every_output, logarithms, random_script, search_all

HE, NOSE, KNOWS, REST = 4, 5, 6, 7
SIZE = 8


def greedy_fails(_: int, path: tuple[int, ...]) -> list[float]:
    """After "he", nose .5 and knows .4; the best continuations have .2 and .8 (S10)."""
    tables = {
        (): {HE: 1.0},
        (HE,): {NOSE: 0.5, KNOWS: 0.4, REST: 0.1},
        (HE, NOSE): {END: 0.2, HE: 0.2, NOSE: 0.2, KNOWS: 0.2, REST: 0.2},
        (HE, KNOWS): {END: 0.8, HE: 0.2},
    }
    return logarithms(tables.get(path, {END: 1.0}), size=SIZE)


def test_why_greedy_fails() -> None:
    """S10: greedy finds .10, a beam of two and all outputs together .32."""
    found = {
        name: search_all(search, greedy_fails, [4])[0][0]
        for name, search in (
            ("greedy", Greedy()),
            ("textbook", TextbookBeam.from_options({"width": 2}, SearchDefaults())),
            ("exhaustive", Exhaustive()),
        )
    }
    assert math.exp(found["greedy"].score) == pytest.approx(0.10)
    for name in ("textbook", "exhaustive"):
        assert math.exp(found[name].score) == pytest.approx(0.32)
        assert found[name].tokens == (HE, KNOWS)


@pytest.mark.parametrize("seed", range(4))
def test_exhaustive_search_finds_the_best_of_all(seed: int) -> None:
    """By brute force, and as exact search proves it; several outputs in their order."""
    script = random_script(seed, size=6, levels=50)
    ((best, *more),) = search_all(Exhaustive(n_best=3), script, [3])
    known = endings(every_output(script, 0, 3))
    order = sorted(known.values(), reverse=True)
    assert [best.score, *(each.score for each in more)] == pytest.approx(order[:3])
    ((proved,),) = search_all(Exact(), script, [3])
    assert proved.tokens == best.tokens


@pytest.mark.parametrize("seed", range(4))
def test_the_textbook_beam_stops_at_the_first_best_that_is_finished(seed: int) -> None:
    """It finds what the beam finds that goes on until it is sure."""
    script = random_script(seed, size=6, levels=50)
    width = 3
    stops = TextbookBeam.from_options({"width": width}, SearchDefaults())
    plain = Beam(width, ranking=stops.ranking)  # type: ignore[attr-defined]
    assert (
        search_all(stops, script, [5])[0][0].tokens == search_all(plain, script, [5])[0][0].tokens
    )


def test_too_many_forks_are_a_limit() -> None:
    with pytest.raises(LimitError, match="exhaustive search would keep .* paths, and forks is 9"):
        search_all(Exhaustive(forks=9), random_script(1, size=6, levels=50), [4])
