"""Recurrent encoders and decoders as plain arrays."""

from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from seqloom.engine.exporters.parts import (
    TorchVectors,
    UnfitError,
    affine,
    array,
    decoder_form,
    decoder_table,
    encoder_form,
    norm_form,
    output_arrays,
    token_table,
)
from seqloom.engine.packed import AffineArrays, SideArrays, stack_outputs
from seqloom.engine.recurrent_stacks import (
    AttentionArrays,
    FirstArrays,
    LayerArrays,
    RecurrentArrays,
    ScoreArrays,
    UnitArrays,
    WindowArrays,
    WiringArrays,
)
from seqloom.model.encoders import RecurrentEncoder, VectorsEncoder
from seqloom.model.initial_state import Bridge, CopiedState, OwnState, ReadState
from seqloom.model.recurrent import RecurrentDecoder
from seqloom.model.wiring import AttentionWiring
from seqloom.nn.attention import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    HeadProjections,
    MLPScore,
    PredictedFocus,
    TimeFocus,
)
from seqloom.nn.modules import ConcatCombiner, SumCombiner, TanhCombiner, children_of
from seqloom.nn.recurrent import RecurrentLayer, RecurrentStack
from seqloom.nn.units import Elman, Gru, Lstm, Ssru, Unit

__all__ = ["score_form", "unit_form"]


@encoder_form.register
def _(encoder: RecurrentEncoder) -> SideArrays:
    layers, first = stack_form(encoder.stack, encoder.embedding.width)
    return replace(_reading(encoder.embedding), layers=layers, first=first)


@encoder_form.register
def _(encoder: VectorsEncoder) -> SideArrays:
    return _reading(encoder.embedding)


def _reading(vectors: Any) -> RecurrentArrays:
    """An encoder without layers, over a table of vectors or over vectors from torch."""
    table = token_table(vectors)
    if table is None:
        return RecurrentArrays([], None, vectors.width, vectorizer=TorchVectors(vectors))
    return RecurrentArrays([], array(table), vectors.width)


StackedArrays = tuple[list[LayerArrays], list[np.ndarray]]


@singledispatch
def stack_form(stack: Any, inputs: int) -> StackedArrays:
    """The layers of a stack over inputs of this size, and their initial state, if it is learnt."""
    raise UnfitError(f"recurrent layers of kind {type(stack).__name__}")


@stack_form.register
def _(stack: RecurrentStack, inputs: int) -> StackedArrays:
    found = []
    for layer in children_of(stack.layers, RecurrentLayer):
        units = [unit_form(unit) for unit in children_of(layer.units, Unit)]
        residual = stack.residual and inputs == stack.width
        norm = norm_form(layer.norm)
        found.append(LayerArrays(units, inputs, layer.backward_first, residual, norm))
        inputs = layer.width
    return found, [array(part) for part in stack.first]


@singledispatch
def unit_form(unit: Any) -> UnitArrays:
    """A recurrent unit."""
    raise UnfitError(f"a recurrent unit of kind {type(unit).__name__}")


@unit_form.register
def _(unit: Lstm) -> UnitArrays:
    return UnitArrays("lstm", unit.width, 4, affine(unit.project), array(unit.recur))


@unit_form.register
def _(unit: Gru) -> UnitArrays:
    return UnitArrays(
        "gru",
        unit.width,
        3,
        affine(unit.project),
        array(unit.recur),
        reset_after=unit.reset == "after",
        take=not unit.keep,
    )


@unit_form.register
def _(unit: Elman) -> UnitArrays:
    project, recur = affine(unit.project), array(unit.recur)
    return UnitArrays("elman", unit.width, 1, project, recur, unit.activation)


@unit_form.register
def _(unit: Ssru) -> UnitArrays:
    weights = array(unit.project.weight)
    bias = np.zeros(len(weights), dtype=np.float32)
    if unit.bias is not None:
        bias[: unit.width] = array(unit.bias)
    return UnitArrays("ssru", unit.width, 2, AffineArrays(weights, bias))


@decoder_form.register
def _(decoder: RecurrentDecoder) -> SideArrays:
    table = array(decoder_table(decoder.embedding))
    layers, first = stack_form(decoder.stack, decoder.join.width)
    return RecurrentArrays(
        layers,
        table,
        table.shape[1],
        first,
        _wiring(decoder),
        output_arrays(decoder.output),
    )


def _wiring(decoder: RecurrentDecoder) -> WiringArrays:
    wiring, looking = decoder.wiring, decoder.wiring.attention
    attention = None if looking is None else _attention(looking, decoder)
    return WiringArrays(
        first=first_form(decoder.first),
        readout=readout_form(decoder.readout),
        shown=decoder.readout.width,
        code=_code_width(decoder, attention),
        feedback=wiring.feedback,
        soft=wiring.soft,
        code_input=wiring.code_input,
        code_first=wiring.code_first,
        code_output=wiring.code_output,
        feed=looking is not None and looking.feed,
        joins=joins_form(decoder.join),
        attention=attention,
    )


def _code_width(decoder: RecurrentDecoder, attention: AttentionArrays | None) -> int:
    """The size of the code as an input: the remainder besides the units' other inputs."""
    wiring, looking = decoder.wiring, decoder.wiring.attention
    if not wiring.code:
        return 0
    joins = joins_form(decoder.join)
    if joins is not None:
        return int(joins[0].weights.shape[1]) if wiring.feedback else decoder.join.width
    rest = decoder.embedding.width if wiring.feedback else 0
    if looking is not None and attention is not None:
        rest += attention.heads * attention.source if looking.query is not None else 0
        rest += decoder.readout.width if looking.feed else 0
    return decoder.join.width - rest


@singledispatch
def joins_form(join: Any) -> list[AffineArrays] | None:
    """The maps of all inputs but the first, if inputs are added; None if they are concatenated."""
    raise UnfitError(f"inputs joined by {type(join).__name__}")


@joins_form.register
def _(join: ConcatCombiner) -> list[AffineArrays] | None:
    return None


@joins_form.register
def _(join: SumCombiner) -> list[AffineArrays] | None:
    return [affine(part) for part in children_of(join.maps, nn.Linear)]


@singledispatch
def readout_form(readout: Any) -> AffineArrays | None:
    """The map to the output layer's features; None if they are concatenated."""
    raise UnfitError(f"a readout of kind {type(readout).__name__}")


@readout_form.register
def _(readout: ConcatCombiner) -> AffineArrays | None:
    return None


@readout_form.register
def _(readout: TanhCombiner) -> AffineArrays | None:
    return affine(readout.map)


@singledispatch
def first_form(first: Any) -> FirstArrays:
    """The initial state of a decoder."""
    raise UnfitError(f"a first state of kind {type(first).__name__}")


@first_form.register
def _(first: OwnState) -> FirstArrays:
    return FirstArrays("own")


@first_form.register
def _(first: CopiedState) -> FirstArrays:
    return FirstArrays("copied")


@first_form.register
def _(first: ReadState) -> FirstArrays:
    return FirstArrays("read")


@first_form.register
def _(first: Bridge) -> FirstArrays:
    maps = [affine(part) for part in children_of(first.maps, nn.Linear)]
    return FirstArrays("mapped", maps, first.activation_name)


def _attention(looking: AttentionWiring, decoder: RecurrentDecoder) -> AttentionArrays:
    """A score function with its heads and its window."""
    attention, heads = looking.attention, looking.attention.heads
    asking = decoder.embedding.width if looking.query and not looking.sequential else None
    query = decoder.stack.width if asking is None else asking
    score = score_form(attention.score, query if heads is None else heads.width)
    asks = "current" if looking.query is None else "output" if asking else "previous"
    source = score.source if heads is None else heads.from_key.in_features
    maps = score.maps if heads is None else _with_heads(score.maps, heads)
    return AttentionArrays(
        query=asks,
        score=maps,
        source=source,
        key=score.compared,
        heads=attention.context_factor,
        causal=attention.causal,
        window=window_form(attention.focus),
    )


class ComparedSizes(NamedTuple):
    """A score function's maps, the size of compared vectors, and the size of unmapped keys."""

    maps: ScoreArrays
    compared: int
    source: int


def _with_heads(score: ScoreArrays, heads: HeadProjections) -> ScoreArrays:
    """The maps of all heads, each composed with its projection."""
    query = _after_heads(score.query, affine(heads.from_query), heads.count)
    key = _after_heads(score.key, affine(heads.from_key), heads.count).scale(score.factor)
    return replace(score, query=query, key=key, factor=1.0)


def _after_heads(part: AffineArrays | None, project: AffineArrays, count: int) -> AffineArrays:
    if part is None:
        return project
    size = len(project.weights) // count
    return stack_outputs(
        [AffineArrays(part.weights @ h.weights, part.bias) for h in project.split(*[size] * count)]
    )


@singledispatch
def score_form(score: Any, query: int) -> ComparedSizes:
    """The score function for queries of this size."""
    raise UnfitError(f"an attention score of kind {type(score).__name__}")


@score_form.register
def _(score: DotScore, query: int) -> ComparedSizes:
    return ComparedSizes(ScoreArrays(factor=score.factor), query, query)


@score_form.register
def _(score: GeneralScore, query: int) -> ComparedSizes:
    key = affine(score.map).scale(score.factor)
    return ComparedSizes(ScoreArrays(key=key), query, score.map.in_features)


@score_form.register
def _(score: AdditiveScore, query: int) -> ComparedSizes:
    key = affine(score.from_key)
    maps = ScoreArrays(
        "additive", affine(score.from_query), key, weigh=array(score.weigh.weight[0])
    )
    return ComparedSizes(maps, len(key.weights), score.from_key.in_features)


@score_form.register
def _(score: ConcatScore, query: int) -> ComparedSizes:
    asked, key = _halves(score.map, query)
    maps = ScoreArrays("additive", asked, key, weigh=array(score.weigh.weight[0]))
    return ComparedSizes(maps, len(key.weights), key.weights.shape[1])


@score_form.register
def _(score: MLPScore, query: int) -> ComparedSizes:
    asked, key = _halves(score.first, query)
    maps = ScoreArrays(
        "perceptron",
        asked,
        key,
        weigh=array(score.weigh.weight[0]),
        second=affine(score.second),
    )
    return ComparedSizes(maps, len(key.weights), key.weights.shape[1])


def _halves(linear: nn.Linear, query: int) -> tuple[AffineArrays, AffineArrays]:
    """The maps of a query and of a key, split from a map of their concatenation; the key has the
    bias.
    """
    whole = affine(linear)
    asked, key = np.split(whole.weights, [query], axis=1)
    return AffineArrays(asked), AffineArrays(key, whole.bias)


@singledispatch
def window_form(focus: Any) -> WindowArrays:
    """The window of visible positions and its centre."""
    raise UnfitError(f"a window of kind {type(focus).__name__}")


@window_form.register
def _(focus: None) -> WindowArrays:
    return WindowArrays()


@window_form.register
def _(focus: TimeFocus) -> WindowArrays:
    return WindowArrays(focus.window, focus.gaussian)


@window_form.register
def _(focus: PredictedFocus) -> WindowArrays:
    return WindowArrays(focus.window, True, affine(focus.map), array(focus.weigh.weight[0]))
