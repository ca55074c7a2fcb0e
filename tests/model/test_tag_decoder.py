"""S2.2: a tagger that reads its own last tag is a decoder like any other, of exactly T tags."""

import math
from itertools import product
from typing import Any

import pytest
import torch

from seqloom.config import ModelConfig
from seqloom.fields import EMPTY, END, START, Symbols
from seqloom.model import (
    FIRST_TAG,
    HeadModel,
    RecurrentTagsHead,
    SequenceModel,
    Source,
    TagDecoder,
    build,
    unroll,
)
from seqloom.model.ensemble import head_ensemble
from seqloom.nn.modules import children_of
from seqloom.nn.recurrent import RecurrentLayer
from seqloom.nn.units import Unit
from seqloom.search import Beam, Exact, Greedy, Limits, Ranking, Sample, run_to_end
from tests import checks
from tests.checks import Subject
from tests.model.models import sources
from tests.model.network_cuts import direct_edges
from tests.nn.parts import stirred

TAGS = 3
LAWS = (  # that of brute force is below, since outputs of other lengths are impossible here
    checks.check_reads_add_up,
    checks.check_select_is_recompute,
    checks.check_forks_are_independent,
    checks.check_neighbours_change_nothing,
    checks.check_beam_of_one_is_greedy,
    checks.check_scores_are_rescored,
    checks.check_single_precision,
)


def tagger(seed: int = 1, encoder: str = "recurrent", **decoder: Any) -> HeadModel:
    """A small tagger in float64, with weights far from their first values."""
    torch.manual_seed(seed)
    sizes = {} if encoder == "vectors" else {"width": 6, "layers": 1}
    tables = {
        "embedding": 6,
        "encoder": {"kind": encoder, **sizes},
        "decoder": {"kind": "recurrent-tags", "width": 5, **decoder},
    }
    config = ModelConfig.model_validate(tables)
    model = build(config, source=Symbols(9), target=Symbols(TAGS + 1))
    assert isinstance(model, HeadModel)
    return stirred(model).eval()


def decoder_of(model: HeadModel) -> TagDecoder:
    assert isinstance(model.head, RecurrentTagsHead)
    assert isinstance(model.head.decoder, TagDecoder)
    return model.head.decoder


def as_writer(model: HeadModel) -> SequenceModel:
    """Its encoder and its decoder, as searches and the laws of decoders know them."""
    return SequenceModel(model.encoder, decoder_of(model)).eval()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("feedback", ["token", "soft"])
@torch.no_grad()
def test_it_obeys_the_laws_of_every_decoder(seed: int, feedback: str) -> None:
    unit = {"kind": ("lstm", "gru", "elman")[seed]}
    model = tagger(seed, feedback=feedback, unit=unit, layers=1 + seed % 2)
    torch.manual_seed(seed)
    random = torch.Generator().manual_seed(seed)
    subject = Subject(as_writer(model), sources(3, size=9), random, FIRST_TAG + TAGS, attends=False)
    for law in LAWS:
        law(subject)


@torch.no_grad()
def test_a_step_reads_the_item_and_the_tag_before() -> None:
    """h_t = R(h_{t−1}, x_t + φ(y_{t−1})), with x_t the vector of the item itself."""
    model = tagger(encoder="vectors", unit={"kind": "elman"})
    decoder = decoder_of(model)
    source = Source(torch.tensor([[4, 6, 5, END]]), torch.tensor([4]))
    target = torch.tensor([[2, 1, 3]])
    items = model.encoder.encode(source).states
    assert items is not None
    (layer,) = children_of(decoder.stack.layers, RecurrentLayer)
    (unit,) = children_of(layer.units, Unit)
    state: tuple[torch.Tensor, ...] = (torch.zeros(1, 5, dtype=torch.float64),)
    wanted = []
    for step, before in enumerate([START, FIRST_TAG + 1, FIRST_TAG]):
        vector = decoder.embedding.table[before]
        hidden, state = unit(items[:, step : step + 1] + vector, state)
        state = tuple(part[:, -1] for part in state)
        wanted.append(decoder.output(hidden))
    found = model.head.teacher_force(model.encoder.encode(source), target)
    torch.testing.assert_close(found, torch.cat(wanted, dim=1))


@pytest.mark.parametrize("feedback", ["token", "soft"])
@torch.no_grad()
def test_every_search_finds_exactly_one_tag_for_each_item(feedback: str) -> None:
    """All sequences of T tags have probability 1 together; the likeliest is the exact search's."""
    model = tagger(3, feedback=feedback)
    source = Source(torch.tensor([[4, 6, 5, END], [7, END, EMPTY, EMPTY]]), torch.tensor([4, 2]))
    memory, decoder = model.encoder.encode(source), decoder_of(model)
    everything = {}
    for tags in product(range(1, TAGS + 1), repeat=3):
        alone = Source(source.values[:1], source.lengths[:1])
        judged = model.head.teacher_force(model.encoder.encode(alone), torch.tensor([tags]))
        logs = judged.log_softmax(-1)[0, torch.arange(3), torch.tensor(tags) - 1]
        everything[tuple(tag + FIRST_TAG - 1 for tag in tags)] = float(logs.sum())
    assert sum(map(math.exp, everything.values())) == pytest.approx(1)
    limits = Limits(torch.tensor([4, 2]))
    plain = Ranking()
    for search in (Greedy(), Beam(3), Sample(seed=1), Exact(ranking=plain)):
        best = [each[0] for each in run_to_end(search, decoder, decoder.start(memory), limits)]
        assert [len(each.tokens) for each in best] == [3, 1]
        assert all(each.finished for each in best)
        assert best[0].score == pytest.approx(everything[best[0].tokens])
    assert best[0].tokens == max(everything, key=lambda tags: everything[tags])
    wide = run_to_end(Beam(TAGS**3, ranking=plain), decoder, decoder.start(memory), limits)
    assert wide[0][0].tokens == best[0].tokens


@pytest.mark.parametrize("feedback", ["token", "soft"])
@torch.no_grad()
def test_the_head_alone_is_greedy_search(feedback: str) -> None:
    model = tagger(4, feedback=feedback)
    source = Source(torch.tensor([[4, 6, 5, END], [7, END, EMPTY, EMPTY]]), torch.tensor([4, 2]))
    memory, decoder = model.encoder.encode(source), decoder_of(model)
    scores = model.head(memory)
    found = run_to_end(Greedy(), decoder, decoder.start(memory), Limits(torch.tensor([4, 2])))
    for number, (best,) in enumerate(found):
        own = scores[number, : len(best.tokens)].log_softmax(-1)
        assert (own.argmax(-1) + FIRST_TAG).tolist() == list(best.tokens)
        assert own.max(-1).values.tolist() == pytest.approx(best.token_scores[:-1])


@torch.no_grad()
def test_another_last_tag_changes_the_next_distribution() -> None:
    """And nothing but the tags before an item does, of all tags."""
    model = tagger(5)
    memory = model.encoder.encode(Source(torch.tensor([[4, 6, 5, END]]), torch.tensor([4])))
    one, other = (
        model.head.teacher_force(memory, torch.tensor([tags])) for tags in ([2, 1, 3], [2, 3, 1])
    )
    torch.testing.assert_close(one[:, :2], other[:, :2])
    assert not torch.allclose(one[:, 2], other[:, 2])


def test_an_edge_is_drawn_exactly_where_gradients_flow() -> None:
    """Feedback apart, which hands on a tag and no vector."""
    model = tagger(6)
    writer = as_writer(model)
    source = Source(torch.tensor([[4, 6, 5, END]]), torch.tensor([4]))
    connections = model.connections()
    edges = unroll(connections, source=4, target=3)
    kinds = {(each.tail, each.head): each.kind for each in connections.edges}
    drawn = {
        (tail, head)
        for tail, head in edges
        if tail[0] != "encoder.source" and kinds[tail[0], head[0]] != "feedback"
    }
    assert drawn == direct_edges(writer, source, torch.tensor([[5, 4, 6]]))
    feedback = {(tail[1], head[1]) for tail, head in edges if head[0] == "decoder.input"} - {
        (step, step) for step in range(3)
    }
    assert feedback == {(0, 1), (1, 2)}


@torch.no_grad()
def test_an_ensemble_of_one_model_twice_is_the_model() -> None:
    """Probabilities are averaged step by step, after the same tags."""
    model = tagger(7)
    twice, other = head_ensemble([model, model]), head_ensemble([model, tagger(8)])
    source = Source(torch.tensor([[4, 6, 5, END]]), torch.tensor([4]))
    target = torch.tensor([[2, 1, 3]])

    def judged(network: HeadModel) -> torch.Tensor:
        memory = network.encoder.encode(source)
        return network.head.teacher_force(memory, target).log_softmax(-1)

    torch.testing.assert_close(judged(twice), judged(model))
    mean = (judged(model).exp() + judged(tagger(8)).exp()) / 2
    torch.testing.assert_close(judged(other).exp(), mean)
