"""Beam search with patience against a plain loop (S7.3)."""

import math

import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, START
from seqloom.search import Beam, PatientBeam, Ranking
from seqloom.search.topk import log_sum_exp
from tests.counts import count
from tests.search.stubs import Script, every_output, random_script, search_all

Forks = list[tuple[tuple[int, ...], float]]


def forks_of(script: Script, sentence: int, paths: Forks) -> Forks:
    """Every path with every token after it, best first, in the order of parent and token."""
    forks = []
    for tokens, total in paths:
        logits = torch.tensor(script(sentence, tokens), dtype=torch.float64)
        for token, gain in enumerate((logits - log_sum_exp(logits[None])).tolist()):
            if token not in (EMPTY, START) and gain > -math.inf:
                forks.append(((*tokens, token), total + gain))
    return sorted(forks, key=lambda fork: -fork[1])


def plain_loop(script: Script, sentence: int, width: int, enough: int, longest: int) -> Forks:
    """Outputs in the order in which they ended, as one would write it on a board."""
    paths: Forks = [((), 0.0)]
    ended: Forks = []
    for _ in range(longest):
        forks = forks_of(script, sentence, paths)[: 2 * width]
        ended += [fork for fork in forks[:width] if fork[0][-1] == END]
        paths = [fork for fork in forks if fork[0][-1] != END][:width]
        if len(ended) >= enough or not paths:
            break
    return ended


@pytest.mark.faults
@pytest.mark.parametrize("number", range(count(40, 400)))
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_it_is_the_plain_loop(number: int, power: float) -> None:
    """Ended paths make room, ties go by the lower index, and enough of them are enough."""
    script = random_script(number, size=8, levels=2 + number % 5, impossible=0.2)
    width, longest = 1 + number % 5, [1 + (number + n) % 6 for n in range(3)]
    patience = (0.5, 1.0, 2.0)[number % 3]
    ranking = Ranking(power=power)
    search = PatientBeam(width, ranking, patience=patience)
    same = Beam(width, ranking, patience=patience)
    assert search_all(search, script, longest) == search_all(same, script, longest)
    for sentence, (found,) in enumerate(search_all(search, script, longest)):
        enough = max(1, round(patience * width))
        ended = plain_loop(script, sentence, width, enough, longest[sentence])
        if ended:
            ranks = [total / len(tokens) ** power for tokens, total in ended]
            best = max(range(len(ended)), key=lambda n: (ranks[n], -len(ended[n][0])))
            assert found.rank_score == pytest.approx(ranks[best], abs=1e-12)
            assert found.finished
        else:
            assert not found.finished or found.score == -math.inf


@pytest.mark.parametrize("number", range(20))
def test_with_all_the_patience_there_is_it_finds_the_best(number: int) -> None:
    """S7.3: wide enough and waiting for every output, it equals brute force."""
    script = random_script(number, size=6, levels=50)
    outputs = every_output(script, 0, longest=3)
    search = PatientBeam(len(outputs), Ranking(power=1.0), patience=2.0)
    complete = Beam(len(outputs), Ranking(power=1.0))
    ((found,),) = search_all(search, script, [3])
    ((expected,),) = search_all(complete, script, [3])
    assert found.tokens == expected.tokens
    assert found.score == pytest.approx(expected.score, abs=1e-12)


def test_the_best_outputs_come_in_order_and_once() -> None:
    """N-best lists: distinct, best first, however long ago each ended."""
    script = random_script(7, size=8, levels=50)
    (found,) = search_all(PatientBeam(4, Ranking(power=1.0), n_best=4), script, [40])
    ranks = [each.rank_score for each in found]
    assert len({each.tokens for each in found}) == len(found) == 4
    assert ranks == sorted(ranks, reverse=True)


def test_patience_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="a patience of 0 is not above 0"):
        PatientBeam(5, patience=0.0)
