"""S6.1, S6.3: decoders that read their own outputs, against one row and step at a time."""

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from seqloom.config import FreeRunningChoice
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, START
from seqloom.model import HeadModel, SequenceModel, Source
from seqloom.model.ensemble import network_ensemble
from seqloom.model.heads import TagsHead
from seqloom.nn.modules import Dropout, Readout
from seqloom.search import Greedy, Limits, run_to_end
from seqloom.training.loss import Example, LossOptions, backward, measure
from seqloom.training.scheduled_sampling import (
    NEVER_WRITTEN,
    ScheduledSampling,
    check_forcing,
    choose_tokens,
    gumbel_noise,
    read_own_outputs,
)
from tests.model.models import NAMED, model_of
from tests.search.stubs import even_chances
from tests.training.loss_cases import assert_equal, example, gradients
from tests.training.support import training

SIZES = {"source_size": 9, "target_size": 11}
STEPPED = ("lstm form e", "gru form d", "elman form b", "dot global fed", "ssru alone")
PASSED = ("plain sinusoids", "ssru sinusoids", "after learned alone", "plain rotary reads")
CHOICES: tuple[FreeRunningChoice, ...] = ("greedy", "draw", "straight-through", "soft")
NUMBERS = torch.tensor([4, 0, 7, 2, 9])


class Setting(NamedTuple):
    model: SequenceModel
    batch: Example


def setting(name: str, *, sentences: int = 5, ends: float = 1.5) -> Setting:
    """A model that is likely to end now and then, and targets of one to six tokens."""
    torch.manual_seed(1)
    model = model_of(NAMED[name], **SIZES)
    decoder: Any = model.decoder
    with torch.no_grad():
        decoder.output.bias[END] += ends
    model.train()
    for part in model.modules():
        if isinstance(part, Dropout):
            part.eval()
    return Setting(model, example(sentences=sentences, longest=6))


def freedom(
    choice: FreeRunningChoice = "greedy", probability: float = 0.5, **options: Any
) -> ScheduledSampling:
    return ScheduledSampling(
        probability, choice, temperature=0.7, seed=3, row_numbers=NUMBERS, **options
    )


def single(batch: Example, number: int) -> tuple[Source, Tensor]:
    """One row without its padding."""
    target = batch.target[number]
    source = Source(
        batch.source.values[[number], : int(batch.source.lengths[number])],
        batch.source.lengths[[number]],
    )
    return source, target[target.ne(EMPTY)]


def own(
    model: SequenceModel, logits: Tensor, place: Tensor, free: ScheduledSampling
) -> tuple[int, Tensor]:
    """The token that is written, and the vector that is read of it."""
    assert model.feedback is not None
    vectors = model.feedback.vectors
    sums = logits.clone()
    sums[list(NEVER_WRITTEN)] = -torch.inf
    if free.choice != "greedy":
        sums = sums + gumbel_noise(place[None], len(sums))[0]
    token = int(sums.argmax())
    likely = (sums / free.temperature).softmax(0)
    match free.choice:
        case "soft":
            return token, vectors.mean(likely)
        case "straight-through":
            drawn = functional.one_hot(sums.argmax(), len(sums)).to(likely)
            return token, vectors.mean(drawn - likely.detach() + likely)
        case "greedy" if model.feedback.soft:
            return token, vectors.mean(logits.softmax(0))
        case _:
            return token, vectors(torch.tensor(token))


def walked(
    model: SequenceModel, batch: Example, number: int, free: ScheduledSampling
) -> tuple[Tensor, int]:
    """The summed loss of one row and its steps that cost, by the rule of S6.1."""
    assert model.feedback is not None
    source, target = single(batch, number)
    steps = torch.full((1, len(target) + free.overrun), END)
    mine = replace(free, row_numbers=NUMBERS[[number]])
    forced, places = mine.forcing_mask(steps)[0], mine.noise_seeds(steps)[0]
    state = model.decoder.start(model.encoder.encode(source))
    token, vector = START, model.feedback.vectors(torch.tensor(START))
    total, cost = torch.zeros((), dtype=torch.float64), 0
    for step in range(steps.shape[1]):
        features, state = model.feedback.read(vector[None, None], state)
        label = int(target[step]) if step < len(target) else EMPTY
        output, logits = EMPTY, model.decoder.write(features.hidden[0, 0])
        vector = model.feedback.vectors(torch.tensor(EMPTY))
        if token not in (END, EMPTY):
            output, vector = own(model, logits, places[step], free)
        if (label, output) != (EMPTY, EMPTY):
            total, cost = total - logits.log_softmax(0)[label], cost + 1
        token = label if forced[step] else output
        vector = model.feedback.vectors(torch.tensor(label)) if forced[step] else vector
    return total, cost


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", [*STEPPED, "lstm form soft"])
def test_a_batch_is_its_rows_one_at_a_time(name: str, choice: FreeRunningChoice) -> None:
    """Loss, number of steps that cost, and every gradient, with labels half of the time; batch
    mates and padding change nothing."""
    model, batch = setting(name)
    free = freedom(choice)
    sums = backward(model, batch._replace(sampling=free), LossOptions(0.0, 3.0))
    mine = gradients(model)
    rows = [walked(model, batch, number, free) for number in range(5)]
    loss = torch.stack([total for total, _ in rows]).sum()
    (loss / 3.0).backward()
    assert sums.loss == pytest.approx(float(loss.detach()), rel=1e-10)
    assert sums.tokens == sum(cost for _, cost in rows)
    assert_equal(mine, gradients(model))


@pytest.mark.parametrize("name", [*STEPPED, "lstm form soft"])
def test_without_labels_it_writes_what_greedy_search_writes(name: str) -> None:
    """p = 0, for models that end early and for models that hardly do."""
    past = [difference for ends in (30.0, 2.0, -30.0) for difference in against_greedy(name, ends)]
    assert min(past) < 0 < max(past)


@torch.no_grad()
def against_greedy(name: str, ends: float) -> list[int]:
    """The vectors behind every step that costs are those of greedy search's outputs; how much
    longer than their targets these are."""
    model, batch = setting(name, ends=ends)
    model.eval()
    memory = model.encoder.encode(batch.source)
    reading = read_own_outputs(model, memory, batch.target, freedom(probability=0.0, overrun=3))
    lengths = batch.target.ne(EMPTY).sum(dim=1)
    found = run_to_end(Greedy(), model.decoder, model.decoder.start(memory), Limits(lengths + 3))
    past = []
    for row, (output,) in enumerate(found):
        written = [*output.tokens, END] if output.finished else list(output.tokens)
        state = model.decoder.start(model.encoder.encode(single(batch, row)[0]))
        features, _ = model.decoder.read(torch.tensor([[START, *written[:-1]]]), state)
        same = reading.hidden[row, : len(written)]
        torch.testing.assert_close(same, features.hidden[0], rtol=0, atol=1e-11)
        costs = torch.arange(reading.loss_mask.shape[1]) < max(len(written), int(lengths[row]))
        assert torch.equal(reading.loss_mask[row], costs)
        past.append(len(written) - int(lengths[row]))
    return past


@pytest.mark.parametrize("name", PASSED)
def test_the_second_pass_reads_the_first_s_choices(name: str) -> None:
    """The two-pass form: where no label is read, a pass fed what the first would write."""
    model, batch = setting(name)

    def features(inputs: Tensor) -> Tensor:
        shifted = functional.pad(inputs[:, :-1], (1, 0), value=START)
        state = model.decoder.start(model.encoder.encode(batch.source))
        return model.decoder.read(shifted, state)[0].hidden

    for probability in (0.0, 0.5):
        free = freedom(probability=probability)
        with torch.no_grad():
            logits = model.decoder.write(features(batch.target))
            logits[:, :, list(NEVER_WRITTEN)] = -torch.inf
        labels = free.forcing_mask(batch.target) | batch.target.eq(EMPTY)
        expected = features(batch.target.where(labels, logits.argmax(-1)))
        loss = functional.cross_entropy(
            model.decoder.write(expected).flatten(0, 1),
            batch.target.flatten(),
            ignore_index=EMPTY,
            reduction="sum",
        )
        sums = backward(model, batch._replace(sampling=free), LossOptions(0.0, 1.0))
        mine = gradients(model)
        loss.backward()
        assert sums.loss == pytest.approx(float(loss.detach()), rel=1e-10)
        assert_equal(mine, gradients(model))


@pytest.mark.parametrize("name", [*STEPPED, *PASSED, "lstm form soft"])
def test_labels_at_every_step_are_plain_teacher_forcing(name: str) -> None:
    """p = 1 to the bit, where all steps are computed at once."""
    model, batch = setting(name)
    plain = backward(model, batch, LossOptions(0.1, 2.0))
    expected = gradients(model)
    every = batch._replace(sampling=freedom(probability=1.0))
    found = backward(model, every, LossOptions(0.1, 2.0))
    assert model.feedback is not None
    if model.feedback.soft:  # which is stepped through even then
        assert found == pytest.approx(plain, rel=1e-12)
        assert_equal(gradients(model), expected)
    else:
        assert found == plain
        mine = gradients(model)
        assert all(torch.equal(mine[each], expected[each]) for each in expected)


@pytest.mark.parametrize("choice", ["straight-through", "soft"])
@pytest.mark.parametrize("name", ["gru form d", "plain sinusoids"])
def test_gradients_pass_through_gumbel_draws(name: str, choice: FreeRunningChoice) -> None:
    """The soft form has the slope that small changes of the weights show. Passed straight through,
    the loss is that of the same draws as tokens; the gradient is not."""
    model, batch = setting(name)
    free = batch._replace(sampling=freedom(choice, probability=0.2))
    sums = backward(model, free, LossOptions(0.0, 1.0))
    slopes = gradients(model)
    if choice == "straight-through":
        drawn = batch._replace(sampling=freedom("draw", probability=0.2))
        assert backward(model, drawn, LossOptions(0.0, 1.0)) == pytest.approx(sums, rel=1e-10)
        others = gradients(model)
        assert any(not torch.allclose(slopes[each], others[each], rtol=1e-3) for each in slopes)
        return
    torch.manual_seed(2)
    changes = {each: torch.randn_like(value) for each, value in model.named_parameters()}
    losses = []
    for size in (1e-6, -2e-6):
        with torch.no_grad():
            for each, value in model.named_parameters():
                value.add_(changes[each], alpha=size)
        losses.append(measure(model, free, smoothing=0.0).loss)
    slope = sum(float((slopes[each] * changes[each]).sum()) for each in changes)
    assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(slope, rel=1e-5)


def test_draws_follow_the_distribution() -> None:
    """χ² over 20,000 places, for each kind of draw; what is never written is never drawn."""
    torch.manual_seed(1)
    logits = torch.randn(9, dtype=torch.float64)
    places = (
        ScheduledSampling(seed=1).noise_seeds(torch.ones(200, 100, dtype=torch.int64)).flatten()
    )
    open_logits = logits.clone()
    open_logits[list(NEVER_WRITTEN)] = -torch.inf
    law = dict(enumerate(open_logits.softmax(0).tolist()))
    for choice in ("draw", "straight-through", "soft"):
        likely, tokens = choose_tokens(
            logits.expand(len(places), -1),
            places,
            ScheduledSampling(choice=choice, temperature=0.5),
        )
        even_chances(Counter(tokens.tolist()), law)
        if likely is not None:
            assert torch.equal(likely.argmax(-1), tokens)
            torch.testing.assert_close(likely.sum(-1), torch.ones_like(likely[:, 0]))


def test_a_cold_soft_draw_is_the_token_and_a_hot_one_is_even() -> None:
    """The temperature's two ends."""
    torch.manual_seed(1)
    logits = torch.randn(50, 9, dtype=torch.float64)
    places = torch.arange(50)
    cold, tokens = choose_tokens(logits, places, ScheduledSampling(choice="soft", temperature=1e-4))
    hot, _ = choose_tokens(logits, places, ScheduledSampling(choice="soft", temperature=1e6))
    assert cold is not None
    assert hot is not None
    assert torch.allclose(cold, functional.one_hot(tokens, 9).double(), atol=1e-6)
    written = [token for token in range(9) if token not in NEVER_WRITTEN]
    assert torch.allclose(hot[:, written], torch.full((50, 6), 1 / 6).double(), atol=1e-4)


@pytest.mark.parametrize("name", ["elman form b", "plain sinusoids"])
def test_factors_weigh_steps_past_the_end_as_the_last(name: str) -> None:
    """Equal factors scale the loss; a factor at the last position alone keeps what follows it."""
    model, batch = setting(name, ends=-9.0)
    free = batch._replace(sampling=freedom(probability=0.0, overrun=3))
    whole = measure(model, free, smoothing=0.1)
    even = torch.full(batch.target.shape, 3.0, dtype=torch.float64)
    tripled = measure(model, free._replace(factors=even), smoothing=0.1)
    assert tripled.loss == pytest.approx(3 * whole.loss, rel=1e-12)
    lengths = batch.target.ne(EMPTY).sum(dim=1)
    last = functional.one_hot(lengths - 1, batch.target.shape[1]).double()
    ran_on = 3 * 5 if name == "elman form b" else 0
    assert measure(model, free._replace(factors=last), smoothing=0.1).tokens == 5 + ran_on
    assert whole.tokens == int(lengths.sum()) + ran_on


def test_bfloat16_makes_the_same_choices_nearly() -> None:
    """Products in half the bits: the loss is close, for tokens and for vectors."""
    model, batch = setting("lstm form e")
    model.float()
    for choice in ("greedy", "straight-through"):
        free = batch._replace(sampling=freedom(choice, probability=0.5))
        exact = backward(model, free, LossOptions(0.1, 1.0))
        rounded = backward(model, free, LossOptions(0.1, 1.0, precision="bfloat16"))
        assert rounded.loss == pytest.approx(exact.loss, rel=0.1)


def test_what_cannot_be_done_is_refused() -> None:
    """One sentence, before training: a model that cannot be fed its outputs, and gradients that
    would go where they are cut off."""
    model, _ = setting("lstm form e")
    soft, _ = setting("lstm form soft")
    check_forcing(training(forcing="linear", truncate=4), model)
    check_forcing(training(forcing={"kind": "never", "choice": "soft"}), model)
    check_forcing(training(truncate=4), soft)
    refused = [(model, {"kind": "never", "choice": "soft"}), (soft, "linear")]
    for built, forcing in refused:
        with pytest.raises(ConfigError, match=r"training\.truncate = 4: gradients would pass"):
            check_forcing(training(forcing=forcing, truncate=4), built)
    with pytest.raises(ConfigError, match="does not read what it writes"):
        check_forcing(training(forcing="never"), network_ensemble([model, model]))
    head = HeadModel(model.encoder, TagsHead(Readout(6, "affine"), 4))
    check_forcing(training(truncate=2), head)
    with pytest.raises(ConfigError, match="this model"):
        check_forcing(training(forcing="never"), head)
    attentive = HeadModel(setting("plain sinusoids")[0].encoder, head.head)
    with pytest.raises(ConfigError, match="this model has no state that goes on from step to step"):
        check_forcing(training(truncate=2), attentive)
