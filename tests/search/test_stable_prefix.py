"""S7.4: what a stream tells of an output before it is found."""

import pytest

from seqloom.model import Memory
from seqloom.search import Beam, Frontier, Ranking, stable_tokens
from tests.counts import count
from tests.search.stubs import Scripted, limits, random_script

LONGEST = (6, 7, 8)


@pytest.mark.parametrize("number", range(count(20, 200)))
def test_what_is_told_is_never_taken_back(number: int) -> None:
    """After every step, of every sentence: a beginning of the output that is found in the end, and
    no shorter than what was told before."""
    search = Beam(3, Ranking(power=1.0))
    decoder = Scripted(random_script(number, size=7, levels=4))
    frontier = search.begin(decoder.start(Memory(len(LONGEST))), limits(LONGEST))
    told: list[list[int]] = [[] for _ in LONGEST]
    while not frontier.done:
        frontier = search.advance(decoder, frontier)
        for place, sentence in enumerate(frontier.sentences.tolist()):
            sure = [each.token for each in stable_tokens(frontier, place, 0)]
            later = [each.token for each in stable_tokens(frontier, place, len(told[sentence]))]
            assert sure == told[sentence] + later
            told[sentence] = sure
    assert isinstance(frontier, Frontier)
    for sure, (best, *_) in zip(told, search.results(frontier), strict=True):
        assert list(best.tokens[: len(sure)]) == sure
