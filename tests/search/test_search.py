"""S7: what greedy and beam search find, against hand-worked cases and a plain loop."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, START, UNK
from seqloom.model import Memory
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Greedy,
    Limits,
    Ranking,
    Search,
    run_to_end,
)
from seqloom.search.topk import log_sum_exp
from tests.counts import count
from tests.search.stubs import (
    Script,
    Scripted,
    limits,
    logarithms,
    outputs,
    random_script,
    search_all,
)

NOSE, KNOWS, FIRST, SECOND = 4, 5, 6, 7
EVEN = [0.0] * 8


def he_knows(_: int, written: tuple[int, ...]) -> list[float]:
    """After "he", nose .5 and knows .4; their best continuations .2 and .8 (S10)."""
    table = {
        (): {NOSE: 0.5, KNOWS: 0.4, FIRST: 0.1},
        (NOSE,): {FIRST: 0.2, SECOND: 0.15, NOSE: 0.15, KNOWS: 0.15, UNK: 0.15, START: 0.2},
        (KNOWS,): {FIRST: 0.8, SECOND: 0.2},
    }
    return logarithms(table.get(written, {END: 1.0}), size=8)


def test_greedy_takes_the_nose_and_a_beam_of_two_knows() -> None:
    """S10, why greedy fails: greedy finds .10, a beam of 2 finds .32."""
    ((greedy,),) = search_all(Greedy(), he_knows, [5])
    ((beam,),) = search_all(Beam(2, Ranking(power=0.0)), he_knows, [5])
    assert (greedy.tokens, round(math.exp(greedy.score), 12)) == ((NOSE, FIRST), 0.10)
    assert (beam.tokens, round(math.exp(beam.score), 12)) == ((KNOWS, FIRST), 0.32)
    assert [round(math.exp(each), 12) for each in beam.token_scores] == [0.4, 0.8, 1.0]


@dataclass(frozen=True)
class Path:
    """A path of the plain loop."""

    tokens: tuple[int, ...] = ()
    total: float = 0.0

    @property
    def finished(self) -> bool:
        return self.tokens[-1:] == (END,)


def plain_beam(script: Script, sentence: int, *, width: int, longest: int) -> list[Path]:
    """Beam search to the very end as one would write it on a board: sort all forks, keep K."""
    paths = [Path()]
    for _ in range(longest):
        forks = []
        for path in paths:
            if path.finished:
                forks.append(path)
                continue
            logits = torch.tensor(script(sentence, path.tokens), dtype=torch.float64)
            gains = logits - log_sum_exp(logits[None])  # rounded alike, so that ties are the same
            for token, gain in enumerate(gains.tolist()):
                if token not in (EMPTY, START) and gain > -math.inf:
                    forks.append(Path((*path.tokens, token), path.total + gain))
        # Python's sort is stable: what is equal stays in the order of parent and then of token.
        paths = sorted(forks, key=lambda path: -path.total)[:width]
    return paths


@pytest.mark.faults
@pytest.mark.parametrize("number", range(count(40, 400)))
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_the_batched_beam_is_the_plain_loop(number: int, power: float) -> None:
    """S7.3: exactly K kept, ties by lower index, finished paths among them.

    Logits have few values, so that ties are everywhere; the beam may stop early, the loop never.
    """
    script = random_script(number, size=8, levels=2 + number % 5, impossible=0.2)
    width, longest = 1 + number % 5, [1 + (number + n) % 5 for n in range(3)]
    found = search_all(Beam(width, Ranking(power=power), n_best=width), script, longest)
    for sentence, results in enumerate(found):
        paths = plain_beam(script, sentence, width=width, longest=longest[sentence])
        complete = [path for path in paths if path.finished]
        complete.sort(key=lambda path: -path.total / len(path.tokens) ** power)
        if complete:
            assert [each.tokens for each in results] == [path.tokens[:-1] for path in complete]
            for each, path in zip(results, complete, strict=True):
                assert each.score == pytest.approx(path.total, abs=1e-12)
        elif paths:
            assert [each.tokens for each in results] == [paths[0].tokens]
            assert not results[0].finished
        else:
            assert [each.score for each in results] == [-math.inf]


@pytest.mark.parametrize("search", [Greedy(), Beam(1, Ranking(power=0.0))])
def test_among_equals_the_lower_number_wins(search: Search) -> None:
    """S7.3: with even logits the first token that may be written is, at every step."""
    assert search_all(search, lambda *_: EVEN, [4])[0][0].tokens == (UNK,) * 4


def test_forks_of_equal_score_are_kept_in_the_order_of_their_tokens() -> None:
    """With even logits a beam of K keeps the K lowest tokens, of the first parent first."""
    decoder = Scripted(lambda *_: EVEN)
    search = Beam(4, Ranking(power=0.0), n_best=4)
    watched = replace(limits([5]), rules=(lambda logits, _: logits,))
    frontier = search.begin(decoder.start(Memory(1)), watched)
    for expected in (
        [[UNK], [END], [NOSE], [KNOWS]],
        [[END, EMPTY], [UNK, UNK], [UNK, END], [UNK, NOSE]],
    ):
        frontier = search.advance(decoder, frontier)
        assert frontier.history is not None
        assert frontier.history.tolist() == expected


@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize("power", [0.0, 0.6, 1.0])
def test_the_best_outputs_are_the_same_however_many_are_asked_for(
    number: int, power: float
) -> None:
    """S7.3: with one width, the N best are the first N of the N + 1 best."""
    script = random_script(number, size=7, levels=40)
    longest = [3 + number % 4, 6]
    every = [
        outputs(search_all(Beam(5, Ranking(power=power), n_best=wanted), script, longest))
        for wanted in range(1, 6)
    ]
    for wanted, (fewer, more) in enumerate(pairwise(every), start=1):
        assert fewer == [found[:wanted] for found in more]
        assert all(len(set(found)) == len(found) for found in more)


@pytest.mark.parametrize(
    "search",
    [
        Greedy(),
        Beam(2, Ranking(power=0.0)),
        Beam(5, Ranking(power=1.0), n_best=3),
        DiverseBeam(6, 3, n_best=3),
        Completions(3, 2),
    ],
)
@pytest.mark.parametrize("number", range(count(5, 50)))
def test_a_sentence_is_found_alike_in_every_batch(number: int, search: Search) -> None:
    """RELIABILITY C2: batch mates, their order and their limits change nothing."""
    script, longest = random_script(number, size=7, levels=30, impossible=0.1), [2, 7, 1, 4]
    together = outputs(search_all(search, script, longest))
    for sentence, most in enumerate(longest):

        def alone(_: int, written: tuple[int, ...], sentence: int = sentence) -> list[float]:
            return list(script(sentence, written))

        assert outputs(search_all(search, alone, [most])) == [together[sentence]]
    turned = outputs(search_all(search, lambda n, written: script(3 - n, written), longest[::-1]))
    assert turned == together[::-1]


@pytest.mark.parametrize("search", [Greedy(), Beam(3, n_best=3)])
def test_finished_sentences_leave_the_batch(search: Greedy | Beam) -> None:
    """Sentence n ends after n tokens; the decoder reads only for those that still go on."""

    def script(sentence: int, written: tuple[int, ...]) -> list[float]:
        done = len(written) >= sentence
        return logarithms({END: 1.0} if done else {NOSE: 0.6, KNOWS: 0.4}, size=8)

    decoder = Scripted(script)
    frontier = search.begin(decoder.start(Memory(4)), limits([9] * 4))
    for step in range(4):
        assert frontier.sentences.tolist() == list(range(step, 4))
        paths = frontier.width
        frontier = search.advance(decoder, frontier)
        assert len(frontier.state.own.tokens) == (4 - step) * paths
    assert frontier.done
    lengths = [len(found[0].tokens) for found in search.results(frontier)]
    assert lengths == [0, 1, 2, 3]


def test_a_length_power_prefers_what_is_likelier_per_token() -> None:
    """.3 at once is likelier than .7 × .5 × .8, but not for each of its tokens (S7.5)."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        table = {
            (): {END: 0.3, NOSE: 0.7},
            (NOSE,): {KNOWS: 0.5, FIRST: 0.5},
            (NOSE, KNOWS): {END: 0.8, FIRST: 0.2},
        }
        return logarithms(table.get(written, {NOSE: 0.5, FIRST: 0.5}), size=8)

    assert search_all(Beam(4, Ranking(power=0.0)), script, [4])[0][0].tokens == ()
    best = search_all(Beam(4, Ranking(power=1.0)), script, [4])[0][0]
    assert best.tokens == (NOSE, KNOWS)
    assert best.rank_score == pytest.approx(math.log(0.28) / 3)


def test_what_may_not_be_written_keeps_its_share_of_the_probability() -> None:
    """S7.4: scores are the model's own, also where a likely token is forbidden."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({EMPTY: 0.5, START: 0.2, END: 0.2, NOSE: 0.1}, size=8)

    for search in (Greedy(), Beam(1), Beam(3, Ranking(power=0.0))):
        best = search_all(search, script, [3])[0][0]
        assert (best.tokens, round(math.exp(best.score), 12)) == ((), 0.2)


@pytest.mark.parametrize("search", [Greedy(), Beam(3)])
def test_unless_told_otherwise_only_words_and_the_end_are_written(search: Search) -> None:
    """S1.3: neither `<empty>`, `<start>` nor `<unk>` is an output, however likely."""
    decoder = Scripted(lambda *_: logarithms({EMPTY: 0.3, UNK: 0.3, START: 0.3, NOSE: 0.1}, size=8))
    ((found,),) = run_to_end(search, decoder, decoder.start(Memory(1)), Limits(torch.tensor([3])))
    assert found.tokens == (NOSE,) * 3


@pytest.mark.parametrize(("width", "n_best"), [(2, 3), (0, 1), (3, 0)])
def test_a_beam_that_cannot_give_what_is_asked_is_refused(width: int, n_best: int) -> None:
    with pytest.raises(ConfigError):
        Beam(width, n_best=n_best)
