"""Shortlists: IBM model 1 as its equations say, and searches among each sentence's own symbols."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.engine.library import instruction_set, instruction_sets
from seqloom.engine.loop import SearchLoop
from seqloom.engine.matrices import Precision
from seqloom.engine.shortlists.shortlist import Pair, Shortlist, translation_probabilities
from seqloom.engine.shortlists.word_lists import SharedWords, WordLists
from seqloom.fields import END
from seqloom.model import Decoder, Features, Memory
from seqloom.search import Beam, Greedy, Limits, PatientBeam, Search, run_to_end
from tests.engine.models import VOCABULARY, compiled, compiled_encoder, small_model
from tests.engine.support import assert_same, plan, rows_of, stacks

SEARCHES: list[Search] = [Greedy(), Beam(3, n_best=2), PatientBeam(4, n_best=2)]


def drawn_pairs(count: int, *, seed: int) -> list[Pair]:
    """Pairs over 6 source symbols whose translations are they themselves plus 4, mostly."""
    random = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        source = random.integers(0, 6, random.integers(1, 6))
        target = np.where(random.random(len(source)) < 0.9, source + 4, random.integers(4, 12))
        pairs.append((source, random.permutation(target)))
    return pairs


def by_hand(pairs: list[Pair], rounds: int) -> dict[tuple[int, int], float]:
    """Brown et al. 1993, model 1, in plain dictionaries; source 6 is the empty word."""
    likely: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        for source, target in pairs:
            words = [*source.tolist(), 6]
            for to in target.tolist():
                whole = sum(likely[word, to] for word in words)
                for word in words:
                    counts[word, to] += likely[word, to] / whole
                    totals[word] += likely[word, to] / whole
        likely = defaultdict(float, {(s, t): n / totals[s] for (s, t), n in counts.items()})
    return dict(likely)


@pytest.mark.parametrize("links", [40, 4_000_000])
def test_model_1_is_that_of_its_equations(links: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many links are held at once."""
    monkeypatch.setattr("seqloom.engine.shortlists.shortlist.LINKS", links)
    pairs = drawn_pairs(30, seed=1)
    found = translation_probabilities(pairs, sources=6, targets=12, rounds=3)
    expected = by_hand(pairs, 3)
    named = {(int(k // 12), int(k % 12)): v for k, v in zip(found.keys, found.values, strict=True)}
    assert named == pytest.approx(expected)


def test_translations_are_found() -> None:
    """The likeliest symbol of each source symbol is its translation, and a list that has it
    misses only what was drawn at random."""
    shortlist = Shortlist.learn(drawn_pairs(400, seed=2), (6, 12), best=1, frequent=0, rounds=8)
    assert shortlist.words.tolist() == [4, 5, 6, 7, 8, 9]
    missed = shortlist.count_missing(drawn_pairs(400, seed=3))
    assert 0.02 < missed.tokens < 0.1
    assert missed.sentences >= missed.tokens
    everything = Shortlist.learn(drawn_pairs(400, seed=2), (6, 12), best=12, frequent=12)
    assert everything.count_missing(drawn_pairs(99, seed=3))[:2] == (0, 0)


def test_lists_hold_what_is_always_needed_and_what_is_asked_for() -> None:
    """Special symbols, frequent ones, translations; what is frequent is kept apart."""
    words, starts = np.array([9, 5, 7, 8], dtype=np.int32), np.array([0, 2, 2, 4])
    shortlist = Shortlist(words, starts, np.array([0, 3, 5], dtype=np.int32), 12)
    assert shortlist.symbols(np.array([0, 2, 0])).tolist() == [0, 3, 5, 7, 8, 9]
    assert shortlist.symbols(np.array([1])).tolist() == [0, 3, 5]
    shared = shortlist.shared
    assert shared.common.tolist() == [0, 3, 5]
    assert shared.sample.tolist() == [4, 6, 7, 8, 9, 10, 11]  # all of them, since there are few
    assert shared.lexicon.tolist() == [9, 7, 8]
    assert shared.lexicon_starts is not None
    assert shared.lexicon_starts.tolist() == [0, 1, 1, 3]
    lists = shortlist.for_rows([np.array([1]), np.array([0])], needed=[[5, 11], [2]])
    assert lists.words.tolist() == [5, 11, 2]
    assert lists.take(np.array([1, 0])).words.tolist() == [2, 5, 11]


class Narrowed:
    """A decoder that knows only some symbols."""

    def __init__(self, decoder: Decoder[Any], words: np.ndarray) -> None:
        self._decoder = decoder
        self._closed = torch.ones(VOCABULARY, dtype=torch.bool)
        self._closed[torch.from_numpy(words).long()] = False

    def start(self, memory: Memory, *, trace: bool = False) -> Any:
        return self._decoder.start(memory, trace=trace)

    def read(self, inputs: Tensor, state: Any) -> tuple[Features, Any]:
        return self._decoder.read(inputs, state)

    def write(self, hidden: Tensor) -> Tensor:
        return self._decoder.write(hidden).masked_fill(self._closed, -torch.inf)


COMMON: list[list[int]] = [[], [END], [END, 5]]


@pytest.mark.parametrize("instructions", instruction_sets())
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("common", COMMON, ids=str)
@pytest.mark.parametrize("search", SEARCHES, ids=str)
@torch.no_grad()
def test_a_sentence_is_searched_among_its_own_symbols(
    search: Search, common: list[int], precision: Precision, instructions: str
) -> None:
    """Outputs and scores are those of a model that knows no other symbols, whatever the batch, and
    whether symbols are shared or its own."""
    model, source = small_model("plain sinusoids", 5)
    rows, packed = rows_of(source), stacks(model, precision)
    own = [[5, END, 0], [END, 4], [1, 5, 2, END, 4], [2, END, 5, 2], [0, 1, 2, 3, 4, 5]]
    words = WordLists.of(own, SharedWords(np.array(common, dtype=np.int32)))
    mine = [sorted({*common, *each}) for each in own]
    limits = Limits(torch.full((5,), 6), shortest=torch.tensor([1, 3, 2, 1, 1]))
    with instruction_set(instructions):
        found = SearchLoop(*packed, together=3).run(rows, plan(search), limits, words=words)
        encoder, decoder = compiled_encoder(model.encoder), compiled(model.decoder)
        encoder.stack, decoder.stack = packed
        for number, row in enumerate(rows):
            one = Limits(limits.longest[:1], shortest=torch.tensor([int([1, 3, 2, 1, 1][number])]))
            alone = source._replace(
                values=torch.from_numpy(row)[None], lengths=source.lengths[number : number + 1]
            )
            narrowed = Narrowed(decoder, np.array(mine[number]))
            state = narrowed.start(encoder.encode(alone))
            expected = run_to_end(search, narrowed, state, one)
            assert_same(found[number : number + 1], expected)


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("search", SEARCHES, ids=str)
@torch.no_grad()
def test_absent_symbols_count_in_the_sum(search: Search, precision: Precision) -> None:
    """Where all of them are sampled, they are as symbols that are forbidden."""
    model, source = small_model("plain sinusoids", 3)
    rows, loop = rows_of(source), SearchLoop(*stacks(model, precision), together=2)
    shared = SharedWords(np.array([0, END], dtype=np.int32), np.array([1, 2, 4], dtype=np.int32))
    words = WordLists.of([[1, 5]] * 3, shared)
    limits = Limits(torch.full((3,), 6))
    closed = Limits(torch.full((3,), 6), forbidden=(*limits.forbidden, 4))
    found = loop.run(rows, plan(search), limits, words=words)
    assert_same(found, loop.run(rows, plan(search), closed))


def test_symbols_that_are_none_are_refused() -> None:
    model, source = small_model("plain sinusoids", 1)
    limits = Limits(torch.tensor([3]))
    words = WordLists.of([[3, VOCABULARY]], SharedWords())
    with pytest.raises(IndexError, match="is not one of the 6"):
        SearchLoop(*stacks(model)).run(rows_of(source), plan(Greedy()), limits, words=words)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_batch_mates_change_no_bit(search: Search, precision: Precision) -> None:
    """By a shortlist, too: a sentence alone, in another order, or beside others on two threads."""
    if precision == "bfloat16" and "avx512-bf16" not in instruction_sets():
        pytest.skip("this processor has no bfloat16")
    model, source = small_model("plain sinusoids", 7)
    rows, packed = rows_of(source), stacks(model, precision)
    shared = SharedWords(
        np.array([END], dtype=np.int32),
        np.array([0, 1, 5], dtype=np.int32),
        np.array([4, 5, 4, 2, 5, 1, 4], dtype=np.int32),
        np.array([0, 1, 2, 3, 3, 4, 5, 6, 6, 7], dtype=np.int32),
    )

    def found(chosen: list[np.ndarray], threads: int) -> list[Any]:
        limits = Limits(torch.full((len(chosen),), 6))
        words = WordLists.of([()] * len(chosen), shared)
        loop = SearchLoop(*packed, threads=threads, together=2)
        return loop.run(chosen, plan(search), limits, words=words)

    together = found(rows, 2)
    assert [found([row], 1)[0] for row in rows] == together
    assert found(rows[::-1], 1) == together[::-1]


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_lexicon_lists_what_is_listed_by_hand(search: Search, precision: Precision) -> None:
    """The symbols of a source's tokens, once each, are those that `symbols` tells."""
    model, source = small_model("plain sinusoids", 6)
    rows, packed = rows_of(source), stacks(model, precision)
    words = np.array([5, 1, 4, 2, 5, 1, 4, 0, 4], dtype=np.int32)
    starts = np.array([0, 2, 2, 3, 3, 4, 5, 6, 6, 9])
    shortlist = Shortlist(words, starts, np.array([END], dtype=np.int32), VOCABULARY)
    limits = Limits(torch.full((6,), 6))
    explicit = WordLists.of(
        [shortlist.symbols(row).tolist() for row in rows],
        SharedWords(shortlist.shared.common, shortlist.shared.sample),
    )
    loop, searched = SearchLoop(*packed, together=4), plan(search)
    found = loop.run(rows, searched, limits, words=shortlist.for_rows(rows))
    assert_same(found, loop.run(rows, searched, limits, words=explicit))
