"""Sentences that join a running search find what they find alone (S7.4, RELIABILITY C2)."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.fields import EMPTY
from seqloom.model import Decoder, SequenceModel, Source
from seqloom.model.ensemble import network_ensemble
from seqloom.search import (
    Beam,
    Completions,
    ForbiddenPhrases,
    Frontier,
    Greedy,
    Hypothesis,
    Limits,
    NoRepeat,
    Prefix,
    Ranking,
    RequiredPhrases,
    Search,
    drop_finished,
    join_frontiers,
    run_to_end,
)
from seqloom.torch_engine.decoder import DecoderEngine, fast_decoder
from tests.checks import FORBIDDEN, assert_close, assert_outputs_same
from tests.counts import count
from tests.model.models import NAMED, VARIANTS, attends, model_of, sources
from tests.search_checks import SEARCHES
from tests.shapes import without_shapes

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures(without_shapes.__name__)]

VOCABULARY = 6
NOTED = 3
JOINABLE = SEARCHES
STRIDE = 89  # a prime, so that a few numbers in a row are of many kinds


class Group:
    """Sentences with their limits, of which some begin a search of their own."""

    def __init__(self, model: SequenceModel, count: int, seed: int) -> None:
        self.model = model
        self.source = sources(count, size=9)
        random = torch.Generator().manual_seed(seed)
        self.longest = torch.randint(3, 12, (count,), generator=random)
        self.prefixes = torch.randint(4, VOCABULARY, (count, 2), generator=random)
        self.begun = torch.randint(0, 3, (count,), generator=random)
        self.arrivals = torch.randint(0, 6, (count,), generator=random)

    def begin(self, search: Search, chosen: Tensor, **rules: Any) -> Any:
        limits = Limits(
            self.longest[chosen],
            forbidden=FORBIDDEN,
            sources=self.source.lengths[chosen],
            lines=chosen,
            n_alternatives=NOTED,
            **rules,
        )
        source = Source(*(part[chosen] for part in self.source))
        longest = int(source.lengths.max())  # a batch is as long as the longest in it
        source = Source(source[0][:, :longest], source.lengths)
        state = self.model.decoder.start(self.model.encoder.encode(source), trace=True)
        return search.begin(state, limits)


def together(
    group: Group, search: Search, decoder: Decoder[Any], *, early: bool = False, **rules: Any
) -> dict[int, list[Hypothesis]]:
    """Each sentence joins at its own time, after its first step or, if `early`, before; what is
    done is taken out at once."""
    found: dict[int, list[Hypothesis]] = {}
    running: Any = None
    numbers: list[int] = []
    for tick in range(100):
        arrived = (group.arrivals == tick).nonzero().squeeze(1)
        if len(arrived):
            new, fresh = group.begin(search, arrived, **cut(rules, arrived)), arrived.tolist()
            if not early:
                new, fresh = taken(search.advance(decoder, new), search, fresh, found)
            running = new if running is None else join_frontiers(running, new)
            numbers = numbers + fresh
        if running is not None and not running.done:
            running = search.advance(decoder, running)
            running, numbers = taken(running, search, numbers, found)
    return found


def cut(rules: dict[str, Any], chosen: Tensor) -> dict[str, Any]:
    """The rules as they are for some of the sentences; not every group has prefixes."""
    prefix = rules.get("prefix")
    if prefix is None:
        return rules
    own = Prefix(prefix.tokens[chosen], prefix.lengths[chosen])
    return {**rules, "prefix": own if bool(own.lengths.any()) else None}


def taken(
    frontier: Any, search: Search, numbers: list[int], found: dict[int, list[Hypothesis]]
) -> tuple[Frontier, list[int]]:
    """The frontier without what has left it, which is added to what is found."""
    staying = frontier.sentences.tolist()
    gone = [number for place, number in enumerate(numbers) if place not in staying]
    found.update(zip(gone, search.results(frontier), strict=True))
    return drop_finished(frontier), [numbers[place] for place in staying]


def check_joining(group: Group, searches: list[Search], **rules: Any) -> None:
    decoder = group.model.decoder
    early = [(search, True) for search in searches if search.joins_before_first_step]
    for search, soon in [*((search, False) for search in searches), *early]:
        found = together(group, search, decoder, early=soon, **rules)
        assert sorted(found) == list(range(len(group.longest)))
        for number in found:
            one = torch.tensor([number])
            start = group.begin(search, one, **cut(rules, one))
            while not start.done:
                start = search.advance(decoder, start)
            (alone,) = search.results(start)
            assert_outputs_same([found[number]], [alone])
            for mine, theirs in zip(found[number], alone, strict=True):
                assert_explained(mine, theirs)


def assert_explained(mine: Hypothesis, theirs: Hypothesis) -> None:
    """The same attention, zero on padding, and the same alternatives."""
    assert mine.rank_score == pytest.approx(theirs.rank_score, abs=1e-9)
    assert [[t for t, _ in step] for step in mine.alternatives] == [
        [t for t, _ in step] for step in theirs.alternatives
    ]
    assert (mine.attention is None) == (theirs.attention is None)
    if mine.attention is not None and theirs.attention is not None:
        ours, others = map(torch.from_numpy, (mine.attention, theirs.attention))
        width = min(ours.shape[1], others.shape[1])
        assert_close(ours[:, :width], others[:, :width])
        assert float(ours[:, width:].abs().sum()) == 0


@pytest.mark.parametrize("number", range(count(14, 2 * len(VARIANTS))))
@torch.no_grad()
def test_every_search_on_every_decoder(number: int) -> None:
    """Joined in mid-decode equals decoded alone, for every kind of decoder."""
    torch.manual_seed(number)
    config = VARIANTS[number * STRIDE % len(VARIANTS)]
    model = model_of(config, source_size=9, target_size=VOCABULARY)
    searches: list[Search] = [JOINABLE[number % len(JOINABLE)], Greedy(), Beam(3, n_best=2)]
    if attends(config):
        searches.append(Beam(3, Ranking(coverage=0.4)))
    check_joining(Group(model, 5, number), searches)


@pytest.mark.parametrize("search", JOINABLE, ids=lambda search: type(search).__name__)
@pytest.mark.parametrize("count_of", [4, 13])
@torch.no_grad()
def test_every_search_on_the_engine(search: Search, count_of: int) -> None:
    """The table of keys is joined too, with the gaps that those who left have made in it."""
    torch.manual_seed(count_of)
    made = model_of(NAMED["plain sinusoids"], source_size=9, target_size=VOCABULARY)
    engine = fast_decoder(made.decoder)
    assert isinstance(engine, DecoderEngine)
    check_joining(Group(replaced(made, engine), count_of, count_of), [search])


def replaced(model: SequenceModel, decoder: Any) -> Any:
    """The model with another decoder, which need not be a module."""

    class Used:
        encoder = model.encoder

    Used.decoder = decoder  # type: ignore[attr-defined]
    return Used


@torch.no_grad()
def test_members_of_an_ensemble_are_joined_together() -> None:
    torch.manual_seed(5)
    names = ["plain sinusoids", "plain rotary"]
    models = [model_of(NAMED[name], source_size=9, target_size=VOCABULARY) for name in names]
    check_joining(Group(network_ensemble(models), 5, 5), [Greedy(), Beam(3)])


@pytest.mark.parametrize("number", range(count(3, 60)))
@torch.no_grad()
def test_rules_follow_their_sentences(number: int) -> None:
    """Prefixes of unequal lengths, required and forbidden phrases, repetitions (S7.5)."""
    torch.manual_seed(number)
    model = model_of(VARIANTS[number * STRIDE % len(VARIANTS)], source_size=9, target_size=6)
    group = Group(model, 5, number)
    inside = torch.arange(2) < group.begun[:, None]
    prefix = Prefix(group.prefixes.masked_fill(~inside, EMPTY), group.begun)
    searches: list[Search] = [Greedy(), Beam(3), Completions(2, 2)]
    check_joining(group, searches, prefix=prefix, rules=(NoRepeat(2), ForbiddenPhrases(((4, 5),))))
    check_joining(group, [Beam(4)], required=RequiredPhrases(((5,),)))


@torch.no_grad()
def test_a_beam_wider_than_the_vocabulary_joins_a_narrower_one() -> None:
    """The first step of a wide beam has fewer paths than the next; what is missing cannot be."""
    torch.manual_seed(3)
    model = model_of(NAMED["plain sinusoids"], source_size=9, target_size=VOCABULARY)
    check_joining(Group(model, 6, 3), [Beam(9, n_best=9)])


@torch.no_grad()
def test_the_way_back_does_not_grow_for_ever() -> None:
    """However long sentences go on joining, no more steps are remembered than outputs have."""
    torch.manual_seed(1)
    model = model_of(NAMED["plain sinusoids"], source_size=9, target_size=VOCABULARY)
    group, search = Group(model, 1, 1), Greedy()
    first, group.longest = torch.tensor([0]), torch.tensor([9])
    running = search.advance(model.decoder, group.begin(search, first, shortest=group.longest))
    for _ in range(100):
        start = group.begin(search, first, shortest=group.longest)
        new = search.advance(model.decoder, start)
        running = search.advance(model.decoder, join_frontiers(running, new))
        running = drop_finished(running)
        depth, step = 0, running.step
        while step is not None:
            depth, step = depth + 1, step.previous
        assert depth == running.depth <= 2 * 9 + 18


@torch.no_grad()
def test_what_is_given_up_leaves_the_others_as_they_were() -> None:
    """`without` takes sentences out between two steps."""
    torch.manual_seed(2)
    model = model_of(NAMED["plain sinusoids"], source_size=9, target_size=VOCABULARY)
    group, search = Group(model, 6, 2), Beam(3)
    whole = torch.arange(6)
    running = search.begin(*_parts(group, whole))
    for _ in range(2):
        running = search.advance(model.decoder, running)
    assert len(running.sentences) == 6
    gone = torch.tensor([True, False, False, True, False, True])
    running = running.drop_sentences(gone)
    while not running.done:
        running = search.advance(model.decoder, running)
    expected = run_to_end(search, model.decoder, *_parts(group, whole[~gone]))
    assert_outputs_same(search.results(running), expected)


def _parts(group: Group, chosen: Tensor) -> tuple[Any, Limits]:
    frontier = group.begin(Greedy(), chosen)
    most = torch.full_like(chosen, 9)
    return frontier.state, replace(frontier.limits, longest=most, shortest=most - 2)
