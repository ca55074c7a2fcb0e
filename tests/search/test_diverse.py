"""S7.5: beams in groups, and outputs drawn without replacement."""

import math
from collections import Counter
from itertools import permutations

import pytest

from seqloom.errors import ConfigError
from seqloom.fields import END
from seqloom.search import Beam, DiverseBeam, Ranking, StochasticBeam
from tests.counts import count
from tests.search.stubs import (
    endings,
    even_chances,
    every_output,
    logarithms,
    outputs,
    random_script,
    search_all,
)


@pytest.mark.parametrize("number", range(count(20, 200)))
def test_one_group_is_a_beam(number: int) -> None:
    """However strong it is, diversity has nothing to act on in a single group."""
    script = random_script(number, size=7, levels=2 + number % 30, impossible=0.1)
    width, ranking, longest = 1 + number % 5, Ranking(power=number % 3 / 2), [1 + number % 6, 4, 2]
    beam = Beam(width, ranking, n_best=1 + number % width)
    diverse = DiverseBeam(width, 1, 3.0, ranking, beam.n_best)
    assert outputs(search_all(diverse, script, longest)) == outputs(
        search_all(beam, script, longest)
    )


@pytest.mark.parametrize("number", range(count(10, 100)))
def test_groups_that_do_not_matter_to_one_another_are_beams(number: int) -> None:
    """Without strength every group is the beam of its own size, and its outputs are given once."""
    script = random_script(number, size=7, levels=50)
    narrow = outputs(search_all(Beam(2, n_best=2), script, [5, 3]))
    assert outputs(search_all(DiverseBeam(6, 3, 0.0, n_best=6), script, [5, 3])) == narrow


def test_a_group_pays_for_the_tokens_of_those_before() -> None:
    """Two groups of one path. First tokens .5, .3, .2, and every path ends after one.

    The second group takes the same token where its loss is less than log(.5/.3) = .51, and else the
    next; three groups at a loss of .6 for each take one token each.
    """

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({END: 1.0} if written else {4: 0.5, 5: 0.3, 6: 0.2}, size=7)

    def first_tokens(groups: int, strength: float) -> list[int]:
        search = DiverseBeam(groups, groups, strength, n_best=groups)
        return [each.tokens[0] for each in search_all(search, script, [3])[0]]

    assert first_tokens(2, 0.5) == [4]
    assert first_tokens(2, 0.52) == [4, 5]
    assert first_tokens(3, 0.6) == [4, 5]
    assert first_tokens(3, 1.0) == [4, 5, 6]


@pytest.mark.parametrize("number", range(count(10, 100)))
def test_diverse_scores_are_the_model_s_own(number: int) -> None:
    script = random_script(number, size=7, levels=20)
    law = endings(every_output(script, 0, 4))
    (found,) = search_all(DiverseBeam(6, 3, 1.5, n_best=6), script, [4])
    assert len({each.tokens for each in found}) == len(found)
    for each in found:
        if each.finished:
            assert each.score == pytest.approx(law[each.tokens])


@pytest.mark.parametrize(
    ("width", "groups", "strength", "n_best"),
    [(5, 2, 0.5, 1), (4, 0, 0.5, 1), (4, 2, -1.0, 1), (4, 2, math.nan, 1), (4, 2, 0.5, 5)],
)
def test_groups_that_cannot_be_are_refused(
    width: int, groups: int, strength: float, n_best: int
) -> None:
    with pytest.raises(ConfigError):
        DiverseBeam(width, groups, strength, n_best=n_best)


LINES = 3_000


def fixed(_: int, written: tuple[int, ...]) -> list[float]:
    """Five outputs of two tokens or less: END .3, a-END .28, a-a .12, b-END .06, b-a .24."""
    table = {
        (): {END: 0.3, 4: 0.4, 5: 0.3},
        (4,): {END: 0.7, 4: 0.3},
        (5,): {END: 0.2, 4: 0.8},
    }
    return logarithms(table.get(written, {END: 1.0}), size=6)


def test_outputs_are_drawn_without_replacement() -> None:
    """The law of successive draws: P(i, j, k) = p_i · p_j / (1 − p_i) · p_k / (1 − p_i − p_j)."""
    found = search_all(StochasticBeam(3, n_best=3), fixed, [2] * LINES)
    names = [tuple((*each.tokens, each.finished) for each in outputs) for outputs in found]
    law = {
        (*(token for token in tokens if token != END), END in tokens): math.exp(score)
        for tokens, score in every_output(fixed, 0, 2).items()
    }
    chances = {}
    for order in permutations(law, 3):
        left, chance = 1.0, 1.0
        for output in order:
            chance *= law[output] / left
            left -= law[output]
        chances[order] = chance
    even_chances(Counter(names), chances)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_the_first_is_a_draw_at_the_temperature(temperature: float) -> None:
    """Each step's distribution is p^(1/T), normalised; scores stay the model's own."""
    found = search_all(StochasticBeam(2, temperature), fixed, [2] * LINES)

    def heated(_: int, written: tuple[int, ...]) -> list[float]:
        return [value / temperature for value in fixed(0, written)]

    law, own = every_output(heated, 0, 2), every_output(fixed, 0, 2)
    drawn = [(*best.tokens, *([END] if best.finished else [])) for (best,) in found]
    even_chances(Counter(drawn), {tokens: math.exp(score) for tokens, score in law.items()})
    for tokens, (best,) in zip(drawn, found, strict=True):
        assert best.score == pytest.approx(own[tokens])


@pytest.mark.parametrize("number", range(count(10, 100)))
def test_wider_draws_begin_with_the_narrower(number: int) -> None:
    """The numbers belong to the outputs, not to the beam; wide enough, it draws them all."""
    script = random_script(number, size=6, levels=20)
    every = search_all(StochasticBeam(200, seed=number, n_best=200), script, [3, 2])
    for sentence, (all_of_them, longest) in enumerate(zip(every, [3, 2], strict=True)):
        law = every_output(script, sentence, longest)
        assert len(all_of_them) == len({each.tokens for each in all_of_them}) == len(law)
        for width in (1, 2, 5):
            search = StochasticBeam(width, seed=number, n_best=width)
            narrow = search_all(search, script, [3, 2])[sentence]
            assert outputs([narrow]) == outputs([all_of_them[:width]])


def test_a_stochastic_beam_cannot_give_more_than_it_holds() -> None:
    with pytest.raises(ConfigError):
        StochasticBeam(2, n_best=3)
