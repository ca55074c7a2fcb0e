"""The conformance suite notices what is broken: each law fails for a decoder that breaks it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.model import DecoderModule, EncoderModule, Features, Memory, SequenceModel, Source
from tests.checks import check_decoder
from tests.model.models import NAMED, model_of, sources

RECURRENT, TRANSFORMER = NAMED["lstm from map"], NAMED["plain sinusoids"]
Select = Callable[[Any, Tensor, Tensor | None], Any]


def select(state: Any, rows: Tensor, sentences: Tensor | None) -> Any:
    return state.select(rows, sentences)


@dataclass(frozen=True)
class Held:
    """A state that is selected in a way of its own."""

    inner: Any
    choose: Select

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> "Held":
        return Held(self.choose(self.inner, rows, sentences), self.choose)


class Wrapped(DecoderModule):
    """A decoder that does what its inner one does, unless a part is replaced."""

    def __init__(self, inner: Any, choose: Select = select) -> None:
        super().__init__()
        self.inner = inner
        self.choose = choose

    def start(self, memory: Memory, *, trace: bool = False) -> Held:
        return Held(self.inner.start(memory, trace=trace), self.choose)

    def read(self, inputs: Tensor, state: Held) -> tuple[Features, Held]:
        features, after = self.inner.read(inputs, state.inner)
        return features, Held(after, self.choose)

    def write(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.inner.write(hidden)
        return logits


class Forgetful(Wrapped):
    """Goes on from where it was before it read."""

    def read(self, inputs: Tensor, state: Held) -> tuple[Features, Held]:
        return super().read(inputs, state)[0], state


class Careless(Wrapped):
    """Attends with weights that do not sum to 1."""

    def read(self, inputs: Tensor, state: Held) -> tuple[Features, Held]:
        features, after = super().read(inputs, state)
        if features.attention is None:
            return features, after
        return Features(features.hidden, features.attention * 1.01), after


class Distracted(Wrapped):
    """Computes otherwise when it is watched."""

    def read(self, inputs: Tensor, state: Held) -> tuple[Features, Held]:
        features, after = super().read(inputs, state)
        watched = features.attention is not None
        return Features(features.hidden + 0.1 * watched, features.attention), after


class Sociable(Wrapped):
    """Writes what depends on the other rows."""

    def write(self, hidden: Tensor) -> Tensor:
        logits = super().write(hidden)
        return logits * (1 + logits.shape[0] / 100)


class Unpadded(EncoderModule):
    """An encoder that takes padding for content."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def encode(self, source: Source) -> Memory:
        memory: Memory = self.inner.encode(source)
        return Memory(
            memory.sentences, memory.states, torch.ones_like(source.values).bool(), memory.code
        )


def in_order(state: Any, rows: Tensor, sentences: Tensor | None) -> Any:
    """Rows are chosen but not put in their order."""
    return state.select(rows.sort().values, sentences)


def sentences_in_order(state: Any, rows: Tensor, sentences: Tensor | None) -> Any:
    """What sentences share is not put in the order of the rows."""
    return state.select(rows, None if sentences is None else sentences.sort().values)


def same_if_all(state: Any, rows: Tensor, sentences: Tensor | None) -> Any:
    """Nothing is copied when every row stays, so two forks write into one cache."""
    count = len(state.own.positions)
    if sentences is None and torch.equal(rows, torch.arange(count)):
        return state
    return state.select(rows, sentences)


def check(model: SequenceModel) -> None:
    torch.manual_seed(4)
    source = sources(3, size=9)
    assert len(set(source.lengths.tolist())) > 1
    check_decoder(model, source, vocabulary=6, seed=4)


def model_with(config: Any, wrap: Callable[[SequenceModel], SequenceModel]) -> SequenceModel:
    torch.manual_seed(4)
    return wrap(model_of(config, source_size=9, target_size=6)).eval()


@pytest.mark.parametrize("config", [RECURRENT, TRANSFORMER], ids=["recurrent", "transformer"])
@pytest.mark.parametrize("kind", [Forgetful, Careless, Distracted, Sociable])
def test_a_broken_decoder_fails(kind: type[Wrapped], config: Any) -> None:
    broken = model_with(config, lambda model: SequenceModel(model.encoder, kind(model.decoder)))
    with pytest.raises(AssertionError):
        check(broken)


@pytest.mark.parametrize("choose", [in_order, sentences_in_order, same_if_all])
def test_a_broken_select_fails(choose: Select) -> None:
    broken = model_with(
        TRANSFORMER,
        lambda model: SequenceModel(model.encoder, Wrapped(model.decoder, choose)),
    )
    with pytest.raises(AssertionError):
        check(broken)


@pytest.mark.parametrize("config", [RECURRENT, TRANSFORMER], ids=["recurrent", "transformer"])
def test_an_encoder_without_a_mask_fails(config: Any) -> None:
    broken = model_with(config, lambda model: SequenceModel(Unpadded(model.encoder), model.decoder))
    with pytest.raises(AssertionError):
        check(broken)


def test_a_decoder_around_a_decoder_passes() -> None:
    """What the broken ones are made of is sound, so it was the break that failed."""
    check(
        model_with(TRANSFORMER, lambda model: SequenceModel(model.encoder, Wrapped(model.decoder)))
    )
