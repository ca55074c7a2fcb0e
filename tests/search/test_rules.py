"""S7.5: forced prefixes, required, forbidden and repeated phrases, alternatives."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from seqloom.errors import ConfigError
from seqloom.fields import END
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Exact,
    ForbiddenPhrases,
    Greedy,
    Limits,
    NoRepeat,
    PathHistory,
    PatientBeam,
    Phrase,
    Prefix,
    Ranking,
    RequiredPhrases,
    Sample,
    Search,
    StochasticBeam,
)
from tests.counts import count
from tests.search.stubs import (
    Script,
    endings,
    every_output,
    limits,
    logarithms,
    outputs,
    random_script,
    search_all,
)

SIZE, LONGEST = 7, [4, 5, 3]
EVERY_PATH = 1_000
SEARCHES: list[Search] = [
    Greedy(),
    Beam(4, n_best=2),
    Sample(draws=3),
    PatientBeam(4, n_best=2),
    DiverseBeam(4, 2, n_best=2),
    StochasticBeam(3, n_best=3),
    Exact(Ranking(power=1.0), expansions=20),
    Completions(3, 2),
]
each_search = pytest.mark.parametrize("search", SEARCHES, ids=lambda each: type(each).__name__)


def contains(tokens: Phrase, phrase: Phrase) -> bool:
    size = len(phrase)
    return any(tokens[at : at + size] == phrase for at in range(len(tokens) - size + 1))


def repeats(tokens: Phrase, size: int) -> bool:
    windows = [tokens[at : at + size] for at in range(len(tokens) - size + 1)]
    return len(set(windows)) < len(windows)


def prefixes(*phrases: Phrase) -> Prefix:
    table = torch.zeros(len(phrases), max(map(len, phrases)), dtype=torch.int64)
    for row, phrase in zip(table, phrases, strict=True):
        row[: len(phrase)] = torch.tensor(phrase, dtype=torch.int64)
    return Prefix(table, torch.tensor([len(phrase) for phrase in phrases]))


BEGUN: list[Phrase] = [(4, 5), (), (6,)]  # of each sentence
PHRASES: tuple[Phrase, ...] = ((4, 4), (5,), (6, 4, 6))


class Case(NamedTuple):
    """Limits with a rule, and a test for the outputs of each sentence that obey it."""

    name: str
    allowed: Limits
    obeys: Callable[[int, Phrase], bool]


def begins(number: int, tokens: Phrase) -> bool:
    return tokens[: len(BEGUN[number])] == BEGUN[number]


ANYTHING = limits(LONGEST)
CASES = [
    Case("prefix", replace(ANYTHING, prefix=prefixes(*BEGUN)), begins),
    Case(
        "a word forbidden",
        replace(ANYTHING, rules=(ForbiddenPhrases(((4,),)),)),
        lambda _, t: 4 not in t,
    ),
    Case(
        "phrases forbidden",
        replace(ANYTHING, rules=(ForbiddenPhrases(PHRASES),)),
        lambda _, t: not any(contains(t, phrase) for phrase in PHRASES),
    ),
    Case("no word twice", replace(ANYTHING, rules=(NoRepeat(1),)), lambda _, t: not repeats(t, 1)),
    Case("no pair twice", replace(ANYTHING, rules=(NoRepeat(2),)), lambda _, t: not repeats(t, 2)),
    Case("a word", replace(ANYTHING, required=RequiredPhrases(((5,),))), lambda _, t: 5 in t),
    Case(
        "a pair",
        replace(ANYTHING, required=RequiredPhrases(((5, 5),))),
        lambda _, t: contains(t, (5, 5)),
    ),
    Case(
        "a word and a pair",
        replace(ANYTHING, required=RequiredPhrases(((4, 5), (6,)))),
        lambda _, t: contains(t, (4, 5)) and 6 in t,
    ),
    Case(
        "overlapping phrases",
        replace(ANYTHING, required=RequiredPhrases(((4, 5), (5, 4)))),
        lambda _, t: contains(t, (4, 5)) and contains(t, (5, 4)),
    ),
    Case(
        "one of two words",
        replace(ANYTHING, required=RequiredPhrases.from_alternatives([[(5,), (6,)]])),
        lambda _, t: 5 in t or 6 in t,
    ),
    Case(
        "all together",
        replace(
            ANYTHING,
            prefix=prefixes(*BEGUN),
            rules=(NoRepeat(2), ForbiddenPhrases(((6, 6),))),
            required=RequiredPhrases(((6,),)),
        ),
        lambda n, t: begins(n, t) and not (repeats(t, 2) or contains(t, (6, 6))) and 6 in t,
    ),
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
# Room is kept for each phrase apart, so the shortest outputs with overlapping ones are not found.
without_overlap = pytest.mark.parametrize(
    "case", [case for case in CASES if "overlapping" not in case.name], ids=lambda case: case.name
)


@pytest.mark.faults
@without_overlap
@pytest.mark.parametrize("number", range(count(2, 40)))
def test_a_wide_beam_finds_the_best_that_obeys(number: int, case: Case) -> None:
    """Brute force over all outputs, without those that break a rule, in order."""
    script = random_script(number, size=SIZE, levels=50)
    found = search_all(Beam(EVERY_PATH, Ranking(power=0.5), n_best=5), script, case.allowed)
    for sentence, (results, longest) in enumerate(zip(found, LONGEST, strict=True)):
        everything = endings(every_output(script, sentence, longest))
        good = {
            tokens: score for tokens, score in everything.items() if case.obeys(sentence, tokens)
        }
        ranked = sorted((s / (len(t) + 1) ** 0.5 for t, s in good.items()), reverse=True)[:5]
        if good:
            assert [each.rank_score for each in results] == pytest.approx(ranked)
        for each in results:
            if each.finished and each.score > -math.inf:
                assert each.score == pytest.approx(good[each.tokens])


@each_search
@each_case
def test_every_search_obeys(search: Search, case: Case) -> None:
    """Every finished output obeys every rule, whatever the search."""
    allowed = replace(case.allowed, longest=torch.tensor([7, 6, 8]))
    for number in range(count(2, 20)):
        script = random_script(number, size=SIZE, levels=30)
        for sentence, found in enumerate(search_all(search, script, allowed)):
            ended = [each for each in found if each.finished and each.score > -math.inf]
            assert all(case.obeys(sentence, each.tokens) for each in ended)


@each_search
def test_what_is_required_is_written_in_time(search: Search) -> None:
    """Every search ends with all phrases where they just fit, though the model wants none of them.

    Two phrases of three tokens, `<end>`, and no room, or room for one or two tokens more.
    """

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({END: 0.3, 4: 0.69, 5: 0.005, 6: 0.005}, size=SIZE)

    required = RequiredPhrases(((5, 6, 5), (6, 6, 4)))
    allowed = replace(limits([7, 8, 9]), required=required)
    for found in search_all(search, script, allowed):
        ended = [each for each in found if each.finished]
        assert ended
        assert all(contains(e.tokens, p) for e in ended for p in required.phrases)


@each_search
def test_one_alternative_is_written_in_time(search: Search) -> None:
    """The same for phrases with alternatives, where the longest of each just fit: one of each is in
    every output."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({END: 0.3, 4: 0.69, 5: 0.009, 6: 0.001}, size=SIZE)

    groups: list[list[tuple[int, ...]]] = [[(5, 6, 5), (5, 5)], [(6, 6), (6, 4)]]
    required = RequiredPhrases.from_alternatives(groups)
    assert required.size == 5
    for found in search_all(search, script, replace(limits([6, 7, 8]), required=required)):
        ended = [each for each in found if each.finished]
        assert ended
        assert all(any(contains(e.tokens, p) for p in group) for e in ended for group in groups)


def random_rows(seed: int) -> tuple[Tensor, PathHistory]:
    """Logits and paths of unequal lengths, padded by words."""
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, SIZE, (30, 9), generator=draw)
    lengths = torch.randint(0, 10, (30,), generator=draw)
    logits = torch.randn(30, SIZE, generator=draw, dtype=torch.float64)
    none = torch.zeros_like(lengths)
    return logits, PathHistory(tokens, lengths, none, 20 - lengths, none)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("size", [1, 2, 3])
def test_rules_on_rows_of_unequal_length(number: int, size: int) -> None:
    """Each token is possible exactly if the row with it after it obeys, as a loop finds."""
    logits, written = random_rows(number)
    rows = [tuple(row[:n]) for row, n in zip(written.tokens.tolist(), written.lengths, strict=True)]
    phrases = ((4, 5, 6)[:size], (5,) * size, (6, 4))
    forbid, repeat = ForbiddenPhrases(phrases), NoRepeat(size)
    forbidden, repeated = forbid(logits.clone(), written), repeat(logits.clone(), written)
    for place, row in enumerate(rows):
        for token in range(4, SIZE):
            after = (*row, token)
            ends = any(after[-len(phrase) :] == phrase for phrase in phrases)
            assert (forbidden[place, token] == -math.inf) == ends
            windows = [row[at : at + size] for at in range(len(row) - size + 1)]
            assert (repeated[place, token] == -math.inf) == (after[-size:] in windows)
    kept = forbidden > -math.inf
    assert torch.equal(forbidden[kept], logits[kept])


def test_a_prefix_is_written_whatever_else_is_forbidden() -> None:
    """The user's own words win over every other rule; the probabilities stay the model's."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({END: 0.4, 1: 0.1, 4: 0.5}, size=SIZE)

    allowed = replace(
        Limits(torch.tensor([6]), shortest=torch.tensor([5])),
        prefix=prefixes((4, 4, 1, 4)),
        rules=(NoRepeat(1), ForbiddenPhrases(((4,),))),
    )
    for search in (Greedy(), Beam(2)):
        ((best,),) = search_all(search, script, allowed)
        assert best.tokens == (4, 4, 1, 4)
        assert best.score == pytest.approx(math.log(0.5**3 * 0.1 * 0.4))


def test_a_beam_makes_room_for_what_is_required() -> None:
    """Word 6 fits only after 5 (.9), elsewhere it has .01, and 5 itself is never among the best.

    A beam whose paths with and without required tokens competed freely would put the two words off
    to the end of the output. The best output with both is 4 5 6 at log(.6 · .1 · .9 · .6).
    """

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        if written[-1:] == (5,):
            return logarithms({6: 0.9, 4: 0.09, END: 0.01}, size=SIZE)
        table = {0: {4: 0.6, 5: 0.1, 6: 0.01, END: 0.29}, 1: {4: 0.3, 5: 0.1, 6: 0.01, END: 0.59}}
        return logarithms(table[min(1, len(written))], size=SIZE)

    allowed = replace(limits([12]), required=RequiredPhrases(((5,), (6,))))
    everything = endings(every_output(script, 0, 6))
    good = {t: s / (len(t) + 1) for t, s in everything.items() if 5 in t and 6 in t}
    ((best,),) = search_all(Beam(3), script, allowed)
    assert best.rank_score == pytest.approx(max(good.values()))


@pytest.mark.parametrize("number", range(count(8, 100)))
def test_alternatives_are_the_best_next_tokens_each_completed(number: int) -> None:
    """By hand: the K likeliest tokens after each prefix, and the best output that begins so."""
    script = random_script(number, size=SIZE, levels=1_000)
    allowed = replace(limits([5, 4, 5]), prefix=prefixes(*BEGUN))
    found = search_all(Completions(3, EVERY_PATH, Ranking()), script, allowed)
    for sentence, (results, prefix) in enumerate(zip(found, BEGUN, strict=True)):
        everything = endings(every_output(script, sentence, int(allowed.longest[sentence])))
        logits = script(sentence, prefix)
        words = sorted((1, *range(3, SIZE)), key=lambda token: -logits[token])[:3]
        best = []
        for word in words:
            start = (*prefix, word)
            fits = [t for t in everything if (*t, END)[: len(start)] == start]
            best.append(max(fits, key=everything.__getitem__))
        best.sort(key=lambda tokens: -everything[tokens])
        assert [each.tokens for each in results] == best


def test_there_are_no_more_alternatives_than_tokens() -> None:
    """Two tokens are possible, so there are two outputs, though five are asked for."""

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({4: 0.7, 5: 0.3} if not written else {END: 0.6, 4: 0.4}, size=SIZE)

    (found,) = search_all(Completions(5, 1), script, [6])
    assert [each.tokens for each in found] == [(4,), (5,)]


@pytest.mark.parametrize("search", [Beam(3), Completions(2, 2), Sample(draws=2), Greedy()])
def test_rules_of_a_sentence_stay_with_it(search: Search) -> None:
    """Prefixes are each sentence's own, also after others have left the batch."""
    script = random_script(3, size=SIZE, levels=30)
    begun: list[Phrase] = [(4,), (5, 6, 6, 5), (6, 6)]
    longest, lines = [2, 9, 5], torch.arange(3)

    def of(n: list[int]) -> list[list[tuple[tuple[int, ...], float, bool]]]:
        moved: Script = lambda at, written: script(n[at], written)  # noqa: E731
        allowed = replace(
            limits([longest[each] for each in n]),
            prefix=prefixes(*(begun[each] for each in n)),
            lines=lines[n],
        )
        return outputs(search_all(search, moved, allowed))

    together = of([0, 1, 2])
    assert of([2, 1, 0]) == together[::-1]
    assert [of([n])[0] for n in range(3)] == together
    for found, prefix in zip(together, begun, strict=True):
        assert all(tokens[: len(prefix)] == prefix for tokens, _, _ in found)


def test_phrases_without_tokens_are_refused() -> None:
    for make in (
        lambda: ForbiddenPhrases(((),)),
        lambda: RequiredPhrases(((4,), ())),
        lambda: NoRepeat(0),
    ):
        with pytest.raises(ConfigError):
            make()
