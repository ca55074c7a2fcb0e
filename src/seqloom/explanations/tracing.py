"""Trace one forward pass over an input and its output, with all internal values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.explanations.explained_output import ExplainedOutput, ExplainedText
from seqloom.explanations.instrumented_copy import (
    AnyNetwork,
    UnitLocation,
    instrument,
    layer_of,
    recurrent_units,
    side_of,
)
from seqloom.explanations.parts import AttentionKind, attention_kind, reading_order
from seqloom.model import Memory, Network, SequenceModel
from seqloom.nn.attention import Attention
from seqloom.nn.token_mixing import Cache, NextSteps, SelfAttention, SimpleAttention
from seqloom.nn.transformer import CrossAttention
from seqloom.nn.units import Unit, UnitState

__all__ = [
    "AttentionTrace",
    "DecoderTrace",
    "Trace",
    "UnitTrace",
    "has_attention",
    "position_labels",
    "trace_decoder",
    "trace_output",
]


class AttentionTrace(NamedTuple):
    """Attention weights of one layer, by head."""

    side: str  # encoder or decoder
    kind: AttentionKind  # to the source, or to its own sequence
    layer: int  # from 1
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: Float[Tensor, "H T S"]


class UnitTrace(NamedTuple):
    """Inputs and states of one unit, step by step, in its reading order."""

    location: UnitLocation
    unit: Unit
    symbols: tuple[str, ...]
    inputs: Float[Tensor, "T I"]
    before: tuple[Float[Tensor, "T D"], ...]  # each tensor of the state before a step
    after: tuple[Float[Tensor, "T D"], ...]


@dataclass(frozen=True, eq=False)
class Trace:
    """The internal values of a model for an input and its output."""

    output: ExplainedOutput
    memory: Memory
    attention_traces: tuple[AttentionTrace, ...]
    unit_traces: tuple[UnitTrace, ...]


@dataclass(frozen=True, eq=False)
class DecoderTrace(Trace):
    """A trace of a model with a decoder, with its output layer."""

    hidden: Float[Tensor, "T D"]  # features before the output layer at each step
    log_probabilities: Float[Tensor, "T V"]


@torch.no_grad()
def trace_output(network: Network, said: ExplainedOutput) -> Trace:
    """Run the input and the output once; the network itself is not changed."""
    notes = _Recorder(network)
    memory = notes.instrumented.encoder.encode(said.source_batch())
    said.replay(notes.instrumented, memory)
    return Trace(said, memory, *notes.traces(network, said, memory))


@torch.no_grad()
def trace_decoder(network: SequenceModel, said: ExplainedText) -> DecoderTrace:
    """Trace a model with a decoder, with the probabilities of all tokens at each step."""
    notes = _Recorder(network)
    memory = notes.instrumented.encoder.encode(said.source_batch())
    hidden = said.decoder_features(notes.instrumented, memory)[0]
    scores = notes.instrumented.decoder.write(hidden).log_softmax(-1)
    return DecoderTrace(said, memory, *notes.traces(network, said, memory), hidden, scores)


@dataclass
class _AttentionCalls:
    """Recorded weights by call: (H, T, C)."""

    side: str
    kind: AttentionKind
    layer: int
    weights: list[Tensor]


@dataclass
class _UnitCalls:
    """Recorded steps of a unit for the single row: inputs, state before, states after."""

    location: UnitLocation
    unit: Unit
    steps: list[tuple[Tensor, UnitState, tuple[Tensor, ...]]]


class _Recorder(Generic[AnyNetwork]):
    """A copy of a network whose attention and units record their values."""

    def __init__(self, network: AnyNetwork) -> None:
        self.attention_calls: list[_AttentionCalls] = []
        self.unit_calls: list[_UnitCalls] = []
        changes: list[tuple[nn.Module, Callable[[Any], nn.Module]]] = [
            (module, partial(_RecordingSelfAttention, self._add_attention(name, "self")))
            for name, module in network.named_modules()
            if attention_kind(module) == "self"
        ]
        self.instrumented = instrument(network, changes)
        for name, module in self.instrumented.named_modules():
            if attention_kind(module) == "cross":
                module.register_forward_hook(
                    partial(_record_attention, self._add_attention(name, "cross"))
                )
        for place, unit in recurrent_units(self.instrumented):
            self.unit_calls.append(_UnitCalls(place, unit, []))
            unit.register_forward_hook(partial(_record_unit, self.unit_calls[-1]))

    def traces(
        self, network: Network, said: ExplainedOutput, memory: Memory
    ) -> tuple[tuple[AttentionTrace, ...], tuple[UnitTrace, ...]]:
        """The recorded values with their symbols."""
        timeline = _Timeline.of(network, said, memory)
        return (
            tuple(timeline.attention_trace(look) for look in self.attention_calls if look.weights),
            tuple(timeline.unit_trace(part) for part in self.unit_calls if part.steps),
        )

    def _add_attention(self, name: str, kind: AttentionKind) -> _AttentionCalls:
        self.attention_calls.append(_AttentionCalls(side_of(name), kind, layer_of(name), []))
        return self.attention_calls[-1]


def has_attention(network: Network) -> bool:
    """Whether a network has attention."""
    return any(attention_kind(module) is not None for module in network.modules())


class _RecordingSelfAttention(nn.Module):
    """Self-attention that records its weights, which torch's fused kernel does not return."""

    def __init__(self, look: _AttentionCalls, inner: SelfAttention | SimpleAttention) -> None:
        super().__init__()
        self.calls, self.inner = look, inner

    def forward(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        at = torch.arange(inputs.shape[1], device=inputs.device)[None]
        query, key, _ = self.inner.queries_keys_values(inputs, at)
        self._record(query, key, mask)
        output: Tensor = self.inner(inputs, mask)
        return output

    def extend(self, inputs: Tensor, cache: Cache, steps: NextSteps) -> tuple[Tensor, Cache]:
        output, after = self.inner.extend(inputs, cache, steps)
        query, _, _ = self.inner.queries_keys_values(inputs, steps.at)
        past = torch.arange(steps.end, device=inputs.device) <= steps.at[:, None, :, None]
        self._record(query, after[0][:, : steps.end], past)
        return output, after

    def empty_cache(self, like: Tensor) -> Cache:
        return self.inner.empty_cache(like)

    def _record(self, query: Tensor, key: Tensor, seen: Tensor | None) -> None:
        query, key = query.transpose(1, 2), key.transpose(1, 2)
        scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5  # (1, H, T, C)
        if seen is not None:
            scores = scores.masked_fill(~seen, -torch.inf)
        self.calls.weights.append(scores.softmax(-1)[0])


def _record_attention(
    look: _AttentionCalls, module: CrossAttention | Attention, inputs: Any, _outputs: Any
) -> None:
    look.weights.append(module.weigh(*inputs)[0])


def _record_unit(part: _UnitCalls, _module: nn.Module, inputs: Any, outputs: Any) -> None:
    part.steps.append((inputs[0][0], tuple(each[0] for each in inputs[1]), outputs[1]))


@dataclass(frozen=True)
class _Timeline:
    """The symbols that each part of a model reads, in its order."""

    output: ExplainedOutput
    encoder_symbols: tuple[str, ...]  # the source in the encoder's reading order
    memory_symbols: tuple[str, ...]  # the source in the order of the encoder's output

    @classmethod
    def of(cls, network: Network, said: ExplainedOutput, memory: Memory) -> "_Timeline":
        count = int(memory.source_lengths(said.source_batch())[0])
        source = said.source if memory.mask is None else position_labels(said.source, count)
        order = reading_order(network)
        return cls(said, order.arrange(source), order.arrange_memory(source))

    def attention_trace(self, look: _AttentionCalls) -> AttentionTrace:
        """Label a layer's weights; later calls have more columns."""
        columns = look.weights[-1].shape[-1]
        padded = [nn.functional.pad(part, (0, columns - part.shape[-1])) for part in look.weights]
        weights = torch.cat(padded, dim=1)
        steps = weights.shape[1]
        if look.kind == "cross":
            names = self.output.output_labels(steps), self.memory_symbols
        elif look.side == "encoder":
            names = self.encoder_symbols, self.encoder_symbols
        else:
            names = (self.output.input_labels(steps, self.memory_symbols),) * 2
        return AttentionTrace(look.side, look.kind, look.layer, *names, weights)

    def unit_trace(self, part: _UnitCalls) -> UnitTrace:
        """Concatenate a unit's steps and label them with the symbols read."""
        inputs = torch.cat([step[0] for step in part.steps])
        before, after = [], []
        for number in range(part.unit.parts):
            rows, firsts = [], []
            for _, first, states in part.steps:
                rows.append(states[number][0])
                firsts.append(torch.cat([first[number][None], states[number][0, :-1]]))
            before.append(torch.cat(firsts))
            after.append(torch.cat(rows))
        symbols = self.encoder_symbols
        if part.location.side == "decoder":
            symbols = self.output.input_labels(len(inputs), self.memory_symbols)
        if part.location.direction == "backward":
            symbols = symbols[::-1]
        return UnitTrace(part.location, part.unit, symbols, inputs, tuple(before), tuple(after))


def position_labels(source: Sequence[str], count: int) -> tuple[str, ...]:
    """Labels of `count` positions computed from the items of a source."""
    if len(source) >= count:
        return tuple(source[:: -(-len(source) // count)])
    return tuple(str(number) for number in range(1, count + 1))
