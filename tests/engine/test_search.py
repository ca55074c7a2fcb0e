"""Whole searches inside the core: the outputs and scores of the searches in Python."""

from itertools import product

import pytest
import torch

from seqloom.engine.from_network import plan_of
from seqloom.engine.library import instruction_set, instruction_sets
from seqloom.engine.loop import MANY, SearchLoop
from seqloom.engine.matrices import Precision
from seqloom.errors import DivergedError
from seqloom.fields import END
from seqloom.search import (
    PER_TOKEN,
    Beam,
    Exact,
    Greedy,
    Limits,
    PatientBeam,
    Ranking,
    Search,
    run_to_end,
)
from tests.engine.models import VOCABULARY, small_model
from tests.engine.support import assert_same, plan, rows_of, stacks

KINDS = [
    "plain sinusoids",
    "after learned",
    "bias none",
    "gated joint",
    "sizes rotary",
    "ssru sinusoids",
    "lstm form e",
    "general global fed",
    "additive local-predicted previous-fed",
    "gru reads and writes",
    "plain learned reads",
    "lstm form soft",
]
SEARCHES: list[Search] = [
    Greedy(),
    Beam(1, PER_TOKEN),
    Beam(4, PER_TOKEN, n_best=3),
    Beam(3, Ranking(), first=True),
    Beam(40, Ranking(gnmt=0.6, reward=0.3), n_best=7),
    Beam(5, Ranking(power=0.5, reward=-0.2), n_best=2),
    PatientBeam(4, PER_TOKEN, n_best=3),
    PatientBeam(5, PER_TOKEN, patience=0.5),
    PatientBeam(30, Ranking(), n_best=12, patience=2.0),
]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
@pytest.mark.parametrize("name", KINDS)
@torch.no_grad()
def test_outputs_are_those_of_the_searches_in_python(name: str, search: Search) -> None:
    """Tokens, scores, ranks and order, for outputs that end and outputs that are cut off
    (RELIABILITY C2)."""
    model, source = small_model(name, 9)
    for longest in (torch.arange(1, 10), torch.full((9,), 14)):
        limits = Limits(longest)
        expected = run_to_end(
            search, model.decoder, model.decoder.start(model.encoder.encode(source)), limits
        )
        found = SearchLoop(*stacks(model)).run(rows_of(source), plan(search), limits)
        assert_same(found, expected)


@pytest.mark.parametrize(
    "search", [Greedy(), Beam(3, PER_TOKEN, n_best=2), PatientBeam(3)], ids=str
)
@torch.no_grad()
def test_outputs_have_their_shortest_length(search: Search) -> None:
    """S7.5: `<end>` is not written before an output is long enough."""
    model, source = small_model("plain sinusoids", 6)
    limits = Limits(torch.full((6,), 9), shortest=torch.tensor([1, 2, 4, 6, 8, 9]))
    start = model.decoder.start(model.encoder.encode(source))
    expected = run_to_end(search, model.decoder, start, limits)
    assert_same(SearchLoop(*stacks(model)).run(rows_of(source), plan(search), limits), expected)


@torch.no_grad()
def test_a_wide_beam_finds_what_brute_force_finds() -> None:
    """RELIABILITY C1: with room for every path, the best of all outputs, scored one by one."""
    model, source = small_model("plain sinusoids", 2)
    longest, forbidden = 4, (0, 1, 2)
    words = [token for token in range(VOCABULARY) if token not in (*forbidden, END)]
    limits = Limits(torch.full((2,), longest), forbidden=forbidden)
    found = SearchLoop(*stacks(model)).run(rows_of(source), plan(Beam(40, n_best=5)), limits)
    memory = model.encoder.encode(source)
    for number, outputs in enumerate(found):
        scores = {}
        for length in range(longest):
            for output in product(words, repeat=length):
                state = model.decoder.start(memory).select(
                    torch.tensor([number]), torch.tensor([number])
                )
                features, _ = model.decoder.read(torch.tensor([[2, *output]]), state)
                logs = model.decoder.write(features.hidden)[0].log_softmax(-1)
                total = sum(logs[i, token] for i, token in enumerate((*output, END)))
                scores[output] = float(total) / (length + 1)
        expected = sorted(scores, key=lambda output: -scores[output])[:5]
        assert [output.tokens for output in outputs] == expected
        ranks = [output.rank_score for output in outputs]
        assert ranks == pytest.approx([scores[output] for output in expected], abs=1e-5)


@pytest.mark.parametrize("precision", ["float32", "int8", "bfloat16"])
@pytest.mark.parametrize("name", ["plain sinusoids", "lstm form everything"])
@torch.no_grad()
def test_threads_batch_mates_and_order_change_nothing(name: str, precision: Precision) -> None:
    """A sentence has the same output, to the bit, however many are searched together and in
    whatever order; sentences that come and go included."""
    model, source = small_model(name, 23)
    packed, rows = stacks(model, precision), rows_of(source)
    longest = torch.randint(1, 12, (23,))
    search = PatientBeam(3, n_best=2)
    limits = Limits(longest)
    expected = SearchLoop(*packed).run(rows, plan(search), limits)
    for threads, together in ((1, 1), (3, 4), (2, 7)):
        order = torch.randperm(23)
        shuffled = Limits(longest[order])
        loop = SearchLoop(*packed, threads=threads, together=together)
        found = loop.run([rows[i] for i in order], plan(search), shuffled)
        assert found == [expected[i] for i in order]


@torch.no_grad()
def test_outputs_that_come_one_by_one_are_those_of_all_together() -> None:
    """Each row once, the longest first, and as it is alone; with many rows they come while others
    are still searched for."""
    count = MANY + 9
    model, source = small_model("plain sinusoids", count)
    loop, rows = SearchLoop(*stacks(model), threads=2, together=3), rows_of(source)
    longest, search = torch.randint(1, 12, (count,)), Beam(3, PER_TOKEN)
    limits = Limits(longest)
    found = list(loop.run_each(rows, plan(search), limits))
    lengths = [len(rows[number]) for number, _ in found]
    assert sorted(number for number, _ in found) == list(range(count))
    assert lengths == sorted(lengths, reverse=True)
    for number, outputs in found[::7]:
        alone = Limits(longest[number : number + 1])
        assert [outputs] == loop.run([rows[number]], plan(search), alone)


@pytest.mark.parametrize("name", ["plain sinusoids", "general global fed", "lstm form d"])
@torch.no_grad()
def test_bytes_give_the_same_outputs_in_every_instruction_set(name: str) -> None:
    """Sums of bytes are exact, so that scores differ by float32's last digits alone."""
    model, source = small_model(name, 12)
    packed, limits = stacks(model, "int8"), Limits(torch.full((12,), 8))
    every = []
    for instructions in instruction_sets():
        with instruction_set(instructions):
            every.append(SearchLoop(*packed).run(rows_of(source), plan(Beam(3)), limits))
    for found in every[1:]:
        assert_same(found, every[0])


@pytest.mark.parametrize("count", [2, MANY])
@torch.no_grad()
def test_probabilities_that_are_no_numbers_are_an_error(count: int) -> None:
    """A bias of NaN cannot be packed; hidden values that overflow are told by the core."""
    model, source = small_model("plain sinusoids", count)
    parameters = dict(model.named_parameters())
    parameters["decoder.norm.weight"].mul_(1e38)
    parameters["decoder.output.matrix.table"].mul_(1e38)
    limits = Limits(torch.full((count,), 3))
    packed = stacks(model)
    with pytest.raises(DivergedError, match="not numbers"):
        SearchLoop(*packed).run(rows_of(source), plan(Greedy()), limits)
    parameters["decoder.norm.weight"].fill_(torch.nan)
    with pytest.raises(DivergedError, match="weights are not all numbers"):
        stacks(model)


def test_what_the_core_has_no_loop_for_is_left_to_python() -> None:
    assert plan_of(Exact()) is None
    assert plan_of(Beam(2, Ranking(coverage=0.1))) is None
    assert plan_of(Beam(2, patience=2.0)) is None
