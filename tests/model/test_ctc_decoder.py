"""CTC as a target form of its own: labellings by their probability over all alignments (S1.1)."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, UNK, Symbols
from seqloom.model import Memory, SequenceModel, Source, build_sequence_model
from seqloom.search import Beam, Exact, Greedy, Limits, Ranking, run_to_end
from seqloom.training import Example, row_log_probabilities
from seqloom.training.ctc import ctc_losses
from seqloom.training.loss import LossOptions, backward, measure
from tests.checks import check_decoder
from tests.model.ctc_models import VOCABULARY, case, config, frame_scores, labellings, single
from tests.model.models import model_of

PLAIN = Ranking()


def closed(labels: tuple[int, ...]) -> Tensor:
    return torch.tensor([[*labels, END]])


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("readout", ["affine", "perceptron"])
def test_it_obeys_the_laws_of_every_decoder(number: int, readout: str) -> None:
    model, source = case(number, readout=readout)
    check_decoder(model, source, vocabulary=VOCABULARY, seed=number)


@pytest.mark.parametrize("number", range(4))
@torch.no_grad()
def test_scores_are_the_sums_over_all_alignments(number: int) -> None:
    """Of every labelling there is, by brute force and by torch's own loss; together they are 1."""
    model, source = case(number)
    source = single(source, 0)
    everything = labellings(frame_scores(model, source)[0])
    assert sum(everything.values()) == pytest.approx(1)
    for labels, chance in everything.items():
        state = model.decoder.start(model.encoder.encode(source))
        ours = float(row_log_probabilities(model.decoder, state, closed(labels)).sum())
        assert ours == pytest.approx(math.log(chance), abs=1e-9)
        memory = model.encoder.encode(source)
        assert ours == pytest.approx(-float(ctc_losses(model.decoder, memory, closed(labels))))


@torch.no_grad()
def test_long_sources_agree_with_torch() -> None:
    """Sixty steps whose symbols are as unlikely as e^-60: nothing is lost to rounding."""
    torch.manual_seed(3)
    model = model_of(config(), source_size=9, target_size=VOCABULARY)
    states = torch.randn(2, 60, 6, dtype=torch.float64) * 30
    mask = torch.arange(60) < torch.tensor([60, 41])[:, None]
    memory = Memory(2, states, mask)
    target = torch.tensor([[4, 4, 5, 1, 5, END], [5, 4, END, EMPTY, EMPTY, EMPTY]])
    ours = row_log_probabilities(model.decoder, model.decoder.start(memory), target).sum(dim=1)
    torch.testing.assert_close(ours, -ctc_losses(model.decoder, memory, target))


@torch.no_grad()
def test_a_labelling_that_does_not_fit_is_impossible() -> None:
    """Two steps hold no `4 4`, which needs a blank between."""
    model, source = case(1)
    short = Source(source.values[:1, :2], torch.tensor([2]))
    state = model.decoder.start(model.encoder.encode(short))
    found = row_log_probabilities(model.decoder, state, closed((4, 4)))
    assert float(found.sum()) == -math.inf
    assert not bool(found.isnan().any())


@pytest.mark.parametrize("number", range(8))
@torch.no_grad()
def test_exact_search_finds_the_likeliest_labelling(number: int) -> None:
    """As brute force over all alignments does; a wide beam too, greedy search one no better."""
    model, source = case(number)
    source = single(source, 0)
    everything = labellings(frame_scores(model, source)[0])
    best = max(everything, key=lambda labels: everything[labels])
    limits = Limits(torch.tensor([6]), forbidden=(EMPTY,))
    memory = model.encoder.encode(source)
    for search in (Exact(PLAIN), Beam(400, PLAIN)):
        ((found, *_),) = run_to_end(search, model.decoder, model.decoder.start(memory), limits)
        assert found.tokens == best
        assert found.score == pytest.approx(math.log(everything[best]))
    ((greedy,),) = run_to_end(Greedy(), model.decoder, model.decoder.start(memory), limits)
    assert greedy.score == pytest.approx(math.log(everything[greedy.tokens]))
    assert greedy.score <= math.log(everything[best]) + 1e-9


def batch(model: SequenceModel) -> Example:
    torch.manual_seed(2)
    values = torch.randint(END + 1, 9, (3, 7))
    target = torch.tensor([[4, 4, 5, END], [5, END, EMPTY, EMPTY], [UNK, 4, END, EMPTY]])
    return Example(Source(values, torch.tensor([7, 4, 5])), target)


def test_the_loss_is_torchs_and_so_is_its_gradient() -> None:
    """functional.ctc_loss over the same scores; a row's weight is that of its positions."""
    model, given = case(2)[0], batch(case(2)[0])
    model.train(False)
    weights = torch.tensor([2.0, 0.5, 1.0], dtype=torch.float64)
    weighed = given._replace(factors=weights[:, None].expand(given.target.shape).clone())
    memory = model.encoder.encode(given.source)
    logs = model.decoder(memory.states).log_softmax(-1)
    lengths = torch.tensor([3, 1, 2])
    labels = given.target.masked_fill(given.target == END, EMPTY)
    losses = functional.ctc_loss(
        logs.transpose(0, 1), labels, given.source.lengths, lengths, blank=EMPTY, reduction="none"
    )
    wanted = torch.autograd.grad((losses * weights).sum() / 7, list(model.parameters()))
    losses = losses.detach()
    sums = backward(model, weighed, LossOptions(0.0, 7.0))
    assert sums.loss == pytest.approx(float((losses * weights).sum()))
    assert sums.negative_log_probability == pytest.approx(float(losses.sum()))
    assert sums.tokens == 9
    assert measure(model, weighed, smoothing=0.0) == pytest.approx(sums)
    for parameter, gradient in zip(model.parameters(), wanted, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient)


def test_gradients_of_single_symbols_add_up_to_the_loss() -> None:
    """What explanations rest on: log p(symbol | prefix) can be differentiated, step by step."""
    model, given = case(4)[0], batch(case(4)[0])
    names = [name for name, _ in model.named_parameters()]
    state = model.decoder.start(model.encoder.encode(given.source))
    steps = row_log_probabilities(model.decoder, state, given.target)
    found = torch.autograd.grad(-steps.sum(), list(model.parameters()))
    losses = ctc_losses(model.decoder, model.encoder.encode(given.source), given.target)
    wanted = torch.autograd.grad(losses.sum(), list(model.parameters()))
    for name, one, other in zip(names, found, wanted, strict=True):
        torch.testing.assert_close(one, other, msg=name)


@torch.no_grad()
def test_the_next_symbol_begins_where_the_alignments_say() -> None:
    """The first row of attention is the distribution of the step at which the first symbol is
    written, and of there being none, counted path by path."""
    model, source = case(5)
    source = single(source, 0)
    frames = frame_scores(model, source)[0]
    wanted = torch.zeros(len(frames), dtype=torch.float64)
    for path in product(range(VOCABULARY), repeat=len(frames)):
        chance = math.exp(sum(float(frames[t, symbol]) for t, symbol in enumerate(path)))
        first = next((t for t, symbol in enumerate(path) if symbol != EMPTY), len(frames) - 1)
        wanted[first] += chance
    state = model.decoder.start(model.encoder.encode(source), trace=True)
    features, _ = model.decoder.read(torch.tensor([[2]]), state)
    assert features.attention is not None
    torch.testing.assert_close(features.attention[0, 0], wanted)


def test_what_it_cannot_align_is_refused() -> None:
    symbols = {"source": Symbols(9), "target": Symbols(VOCABULARY)}
    turned = config().model_copy(update={"reverse_source": True})
    with pytest.raises(ConfigError, match=r"set model\.reverse_source=false"):
        build_sequence_model(turned, **symbols)
    with pytest.raises(ConfigError, match=r"model\.encoder\.kind is 'none'; choose recurrent"):
        build_sequence_model(config({"kind": "none"}), **symbols)
