"""S7.5: the exact maximum, against every output there is."""

import math
from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from seqloom.errors import ConfigError, DivergedError
from seqloom.fields import EMPTY, END, START
from seqloom.model import Memory
from seqloom.search import Beam, Exact, Limits, PathHistory, Ranking
from tests.checks import EXACT, Subject, assert_rescored, log_probabilities
from tests.counts import count
from tests.model.models import case
from tests.search.exact_support import (
    COVERAGE,
    RANKINGS,
    Candidate,
    best,
    ending_candidates,
    run,
    run_script,
)
from tests.search.stubs import (
    FORBIDDEN,
    Scripted,
    limits,
    logarithms,
    outputs,
    random_script,
    search_all,
)

WORD, OTHER = 4, 5
each_ranking = pytest.mark.parametrize("ranking", RANKINGS, ids=str)


@torch.no_grad()
def read_every_output(subject: Subject, number: int, longest: int) -> list[Candidate]:
    """Each output of a sentence that ends within `longest` tokens, by reading it whole."""
    words = [token for token in range(subject.vocabulary) if token not in (*FORBIDDEN, END)]
    found = []
    for length in range(longest):
        written = torch.tensor([[*words, END] for words in product(words, repeat=length)])
        inputs = torch.cat([torch.full_like(written[:, :1], START), written[:, :-1]], dim=1)
        features = subject.recompute(torch.full((len(written),), number), inputs)
        scores = log_probabilities(subject, features).gather(2, written[:, :, None])
        covered = torch.zeros(len(written))
        if features.attention is not None:
            real = features.attention[:, :, : int(subject.source.lengths[number])]
            covered = real.sum(dim=1).clamp(1e-9, 1.0).log().sum(dim=1)
        rows = zip(written.tolist(), scores.sum(dim=(1, 2)).tolist(), covered.tolist(), strict=True)
        found += [Candidate(tuple(row[:-1]), score, cover) for row, score, cover in rows]
    return found


@pytest.mark.faults
@pytest.mark.parametrize("number", range(count(24, 1_000)))
@torch.no_grad()
def test_the_optimum_is_that_of_brute_force(number: int) -> None:
    """RELIABILITY C1 for exact search: every kind of decoder, every length rule, the N best."""
    model, source, vocabulary, attends = case(number)
    draws = torch.Generator().manual_seed(number)
    subject = Subject(model, source, draws, vocabulary, attends)
    longest = subject.draw(1, 5 if vocabulary < 7 else 4, len(subject.sentences))
    everything = [read_every_output(subject, n, int(most)) for n, most in enumerate(longest)]
    limits = Limits(longest, forbidden=FORBIDDEN, sources=source.lengths)
    for ranking in (*RANKINGS, *([COVERAGE] if attends else [])):
        search = Exact(ranking, n_best=1 + number % 3, width=1 + number % 4)
        found, _ = run(search, subject.decoder, subject.state(), limits)
        for sentence, results in enumerate(found):
            expected = best(everything[sentence], ranking, search.n_best)
            assert [each.tokens for each in results] == [each.tokens for each in expected]
            for one, other in zip(results, expected, strict=True):
                assert (one.finished, one.limited) == (True, False)
                assert abs(one.rank_score - other.rank(ranking)) < EXACT
                assert_rescored(subject, sentence, one)


@pytest.mark.parametrize("width", [1, 2, 7, 50])
def test_among_equals_the_shorter_and_lower_comes_first(width: int) -> None:
    """Two words of one half each, then `<end>` or another: .5, .25 … tie however they are read."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        table = {
            (): {OTHER: 0.5, WORD: 0.5},
            (OTHER,): {OTHER: 1.0},
            (WORD,): {END: 0.5, WORD: 0.5},
        }
        return logarithms(table.get(written, {END: 1.0}), size=6)

    ((first, second, third),), _ = run_script(Exact(n_best=3, width=width), script, [4])
    assert [each.tokens for each in (first, second, third)] == [
        (OTHER, OTHER),
        (WORD,),
        (WORD, WORD),
    ]
    even = [0.0] * 8
    ((only, *_),), _ = run_script(
        Exact(Ranking(reward=math.log(8)), n_best=9, width=width), lambda *_: even, [3]
    )
    assert only.tokens == ()


def test_an_equal_that_is_shorter_is_found_though_it_comes_later() -> None:
    """.5 × .5 is what greedy search finds first; .25 × 1 is as likely, and shorter."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        table = {(): {WORD: 0.5, OTHER: 0.25, 1: 0.25}, (WORD,): {WORD: 0.5, OTHER: 0.5}}
        dead: dict[int, float] = {EMPTY: 1.0}
        return logarithms(dead if written == (1,) else table.get(written, {END: 1.0}), size=6)

    ((found,),), _ = run_script(Exact(width=1), script, [3])
    assert (found.tokens, found.limited) == ((OTHER,), False)
    assert search_all(Beam(1, Ranking()), script, [3])[0][0].tokens == (WORD, WORD)


def test_equal_outputs_are_in_the_order_of_length_and_tokens() -> None:
    """Every output of one length has the same probability where all tokens have."""
    even = [0.0] * 6  # of which `<unk>`, `<end>` and two words may be written
    (found,), _ = run_script(Exact(n_best=13, width=3), lambda *_: even, [3])
    words = (1, WORD, OTHER)
    pairs = [*product(words, repeat=1), *product(words, repeat=2)]
    assert [each.tokens for each in found] == [(), *pairs]


def no_word_twice(logits: Tensor, written: PathHistory) -> Tensor:
    """A rule: a token may not follow itself."""
    if written.tokens.shape[1]:
        logits = logits.scatter(1, written.tokens[:, -1:], -torch.inf)
    return logits


@each_ranking
@pytest.mark.parametrize("number", range(2))
def test_limits_and_rules_hold(number: int, ranking: Ranking) -> None:
    """The optimum of what may be written: a shortest length, and a rule over what was written."""
    script, longest = random_script(number, size=6, levels=30), 4
    decoder = Scripted(script)
    allowed = replace(limits([longest]), rules=(no_word_twice,), shortest=torch.tensor([3]))
    ((found,),), _ = run(Exact(ranking, width=2), decoder, decoder.start(Memory(1)), allowed)
    every = [
        each
        for each in ending_candidates(script, 0, longest)
        if len(each.tokens) >= 2 and all(one != other for one, other in pairwise(each.tokens))
    ]
    assert found.tokens == best(every, ranking, 1)[0].tokens


@each_ranking
def test_a_decoder_that_never_ends_gives_the_beam_s_path(ranking: Ranking) -> None:
    """RELIABILITY C3, S3.6: nothing that ends is found, and the output says so."""

    def endless(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({WORD: 0.7, OTHER: 0.3}, size=6)

    search = Exact(ranking, width=2)
    found, _ = run_script(search, endless, [1, 5, 3])
    assert outputs(found) == outputs(search_all(Beam(2, ranking), endless, [1, 5, 3]))
    assert [each.finished for (each,) in found] == [False] * 3
    found, read = run_script(replace(search, expansions=7), endless, [30])
    assert (read, found[0][0].limited) == ([7], True)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_where_nothing_is_possible_there_is_one_impossible_output(after: int) -> None:
    """RELIABILITY C3: all logits −∞, at once or later."""

    def dead_end(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({WORD: 1.0} if len(written) < after else {}, size=6)

    found, _ = run_script(Exact(n_best=3), dead_end, [6, 4])
    for (only,) in found:
        assert only.score == -math.inf


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("after", [0, 2])
def test_logits_that_are_no_numbers_are_an_error(after: int, wrong: float) -> None:
    """RELIABILITY C3."""

    def broken(_: int, written: tuple[int, ...]) -> list[float]:
        if len(written) < after:
            return logarithms({WORD: 1.0}, size=6)
        return [0.0, 0.0, 0.0, 0.0, wrong, 0.0]

    with pytest.raises(DivergedError):
        run_script(Exact(), broken, [6])


def test_no_sentences_have_no_results() -> None:
    assert run_script(Exact(), lambda *_: [], []) == ([], [])


@pytest.mark.faults
@pytest.mark.parametrize("number", range(count(24, 200)))
def test_every_search_ends_with_the_best_of_every_table(number: int) -> None:
    """RELIABILITY C3: random tables, a good part of whose logits is −∞, and few levels of ties."""
    size, impossible = 4 + number % 4, (0.2, 0.5, 0.8, 0.95)[number // 4 % 4]
    script = random_script(number, size=size, levels=3, impossible=impossible)
    longest, ranking = [1 + number % 3, 4, 2], RANKINGS[number % len(RANKINGS)]
    search = Exact(ranking, n_best=1 + number % 5, width=1 + number % 9)
    found, _ = run_script(search, script, longest)
    for sentence, results in enumerate(found):
        ends = ending_candidates(script, sentence, longest[sentence])
        expected = best(ends, ranking, search.n_best)
        ranks = [each.rank_score for each in results]
        if expected:
            assert ranks == pytest.approx([each.rank(ranking) for each in expected], abs=1e-9)
            assert not {EMPTY, START, END} & {token for each in results for token in each.tokens}
        else:
            assert [each.finished and each.score > -math.inf for each in results] == [False]


def test_coverage_without_attention_is_refused() -> None:
    """There would be nothing to compare by."""
    with pytest.raises(ConfigError, match="attention"):
        run_script(Exact(COVERAGE), random_script(1, size=6, levels=9), [3])
