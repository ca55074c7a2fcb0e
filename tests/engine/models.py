"""Small models of every kind that the compiled core has a form for."""

from typing import Any

import torch
from torch import Tensor

from seqloom.engine.decoder import CompiledDecoder
from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.from_network import decoder_arrays, encoder_arrays
from seqloom.engine.stacks import PackedStack
from seqloom.model import Decoder, Encoder, Features, Memory, SequenceModel, Source
from seqloom.model.parts import DecoderModule
from seqloom.randomness import key
from tests.model.models import NAMED, model_of, sources

__all__ = ["KINDS", "RECURRENT", "VOCABULARY", "Used", "compiled", "small_model"]

VOCABULARY = 6
KINDS = [
    "plain sinusoids",
    "plain appended",
    "plain one-hot",
    "plain learned",
    "plain joint",
    "plain rotary",
    "plain none",
    "after sinusoids",
    "sizes rotary",
    "bias learned",
    "gated joint",
    "simple sinusoids",
    "plain sinusoids alone",
    "ssru sinusoids",
    "ssru learned alone",
    "lstm to transformer",
    "sizes rotary reads",
    "ssru appended reads",
]
RECURRENT = [
    "lstm form e",
    "lstm form everything",
    "general global fed",
    "gru-take form d",
    "gru-after-take form summed",
    "elman-sigmoid form a",
    "elman-relu form f",
    "elman-identity from learnt",
    "ssru form c",
    "additive global previous",
    "perceptron local-predicted output-fed",
    "scaled local-bell current",
    "concatenation local-causal previous-fed",
    "additive 3 heads",
    "both both",
    "residual backward",
    "one-hot affine",
    "backwards perceptron",
    "gru reads and writes",
    "lstm alone",
    "gru from copy",
    "lstm to gru",
    "transformer to form everything",
    "lstm form soft-summed",
    "gru form soft",
]


def small_model(name: str, count: int) -> tuple[SequenceModel, Source]:
    """A model of this kind, in float64, and so many sentences for it."""
    torch.manual_seed(key(count, name))
    made = model_of(NAMED[name], source_size=9, target_size=VOCABULARY)
    return made, sources(count, size=9)


def compiled(part: Decoder[Any]) -> CompiledDecoder:
    """A decoder's present weights in the core."""
    arrays = decoder_arrays(part)
    assert not isinstance(arrays, str), arrays
    return CompiledDecoder(PackedStack.of(arrays, "float32"))


def compiled_encoder(part: Encoder) -> CompiledEncoder:
    """An encoder's present weights in the core."""
    arrays = encoder_arrays(part)
    assert not isinstance(arrays, str), arrays
    return CompiledEncoder(PackedStack.of(arrays, "float32"))


class Used(DecoderModule):
    """A decoder that is always used through the core, with its present weights."""

    def __init__(self, decoder: Decoder[Any]) -> None:
        super().__init__()
        self.decoder = decoder
        self.compiled = [compiled(decoder)]  # in a list, since it is no module

    def __deepcopy__(self, memory: dict[int, Any]) -> "Used":
        return Used(self.decoder)

    def start(self, memory: Memory, *, trace: bool = False) -> Any:
        return self.compiled[0].start(memory, trace=trace)

    def read(self, inputs: Tensor, state: Any) -> tuple[Features, Any]:
        return self.compiled[0].read(inputs, state)

    def write(self, hidden: Tensor) -> Tensor:
        return self.compiled[0].write(hidden)
