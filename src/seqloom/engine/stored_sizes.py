"""Validate the sizes of a stored form's parts, so that the core stays within their arrays."""

from collections.abc import Sequence

import numpy as np

from seqloom.engine.matrices import BLOCK, Norm, round_up
from seqloom.engine.packed import AffineArrays, PackedStack, ReadingTurn
from seqloom.engine.recurrent_stacks import (
    AttentionArrays,
    LayerArrays,
    RecurrentArrays,
    WiringArrays,
)
from seqloom.engine.stacks import BlockArrays, StackArrays

__all__ = ["check_pair", "check_sizes"]

GATES = {"elman": 1, "lstm": 4, "gru": 3, "ssru": 2}


def check_sizes(arrays: StackArrays | RecurrentArrays) -> None:
    """Raise ValueError if the parts of an encoder or decoder have inconsistent sizes."""
    if arrays.vectorizer is not None or arrays.front is not None:
        raise ValueError("what gives its vectors is not stored")
    if arrays.vectors is None or arrays.vectors.ndim != 2:
        raise ValueError("there are no token vectors")
    if arrays.output is not None and len(arrays.output.weights) > len(arrays.vectors):
        raise ValueError("the output layer has tokens without a vector")
    _check_turn(arrays.turn)
    if isinstance(arrays, StackArrays):
        _check_blocks(arrays)
    else:
        _check_recurrent(arrays)


def check_pair(encoder: PackedStack, decoder: PackedStack) -> None:
    """Raise ValueError if a decoder does not fit its encoder."""
    reading, writing = (getattr(side, "arrays", None) for side in (encoder, decoder))
    if not isinstance(reading, StackArrays | RecurrentArrays) or reading.output is not None:
        raise ValueError("the encoder is none")
    if isinstance(writing, StackArrays):
        looks = [block.sources for block in writing.blocks if block.sources is not None]
        for part in (part for pair in looks for part in pair):
            _expect("a map of the source", part.weights, None, encoder.width)
    elif isinstance(writing, RecurrentArrays) and writing.wiring is not None:
        _check_source(reading, writing, writing.wiring, encoder.width)
    if decoder.output is None:
        raise ValueError("the decoder is none")


def _expect(name: str, values: np.ndarray | None, *sizes: int | None) -> None:
    """Check the sizes of an array; None stands for any."""
    shape = None if values is None else values.shape
    if shape is None or len(shape) != len(sizes):
        raise ValueError(f"{name} is missing")
    if any(wanted not in (None, size) for size, wanted in zip(shape, sizes, strict=True)):
        raise ValueError(f"{name} has another size than its model")


def _expect_map(name: str, part: AffineArrays | None, outputs: int | None, inputs: int) -> None:
    if part is None:
        raise ValueError(f"{name} is missing")
    _expect(name, part.weights, outputs, inputs)
    if part.bias is not None:
        _expect(name, part.bias, len(part.weights))


def _expect_norm(norm: Norm | None, width: int) -> None:
    if norm is None:
        return
    room = round_up(width, BLOCK)
    _expect("a norm", norm.gain, room)
    _expect("a norm", norm.bias, room)
    if norm.width != width:
        raise ValueError("a norm has another size than its model")


def _check_turn(turn: ReadingTurn | None) -> None:
    if turn is not None and turn.closing < 0:
        raise ValueError("fewer than no items close a source")


def _check_blocks(stack: StackArrays) -> None:
    first = stack.blocks[0]
    looks = stack.source_heads is not None
    if stack.width < 1 or looks != (first.query is not None):
        raise ValueError("the heads of attention are not those of the blocks")
    for block in stack.blocks:
        crossing = {part is not None for part in (block.query, block.sources, block.merge)}
        if crossing != {looks} or (block.combine is None) != (first.combine is None):
            raise ValueError("blocks are of unlike kinds")
        _check_block(block, stack, steps=2 + looks)
    _expect_norm(stack.norm, stack.width)


def _check_block(block: BlockArrays, stack: StackArrays, *, steps: int) -> None:
    if len(block.norms) != steps or len(block.project) != (2 if block.combine is None else 3):
        raise ValueError("a block has another number of parts than its kind")
    for norm in block.norms:
        if norm is None:
            raise ValueError("a norm is missing")
        _expect_norm(norm, stack.width)
    if block.combine is None and round_up(stack.width) != stack.heads.count * stack.heads.room:
        raise ValueError("a unit has another width than its block")


def _check_recurrent(arrays: RecurrentArrays) -> None:
    _expect("the token vectors", arrays.vectors, None, arrays.vector_width)
    if (arrays.wiring is None) != (arrays.output is None):
        raise ValueError("an output layer has no decoder")
    if arrays.wiring is None:
        _check_layers(arrays.layers, arrays.vector_width, arrays.outputs)
        if arrays.first and len(arrays.first) != arrays.parts:
            raise ValueError("the first state has another number of parts than its units")
    else:
        if not arrays.layers or any(len(layer.units) != 1 for layer in arrays.layers):
            raise ValueError("a decoder has no layers, or layers of two directions")
        _check_wiring(arrays, arrays.wiring)
    for values in arrays.first:
        _expect("the first state", values, len(arrays.layers), arrays.outputs)


def _check_layers(layers: Sequence[LayerArrays], inputs: int, outputs: int) -> None:
    """Check that every layer fits the one below, and that all have equal outputs."""
    for layer in layers:
        width, kind = layers[0].units[0].width, layers[0].units[0].kind
        if not 1 <= len(layer.units) <= 2 or layer.inputs != inputs or width < 1:
            raise ValueError("a layer has other inputs than it is given")
        for unit in layer.units:
            if (unit.kind, unit.width, unit.gates) != (kind, width, GATES[kind]):
                raise ValueError("units are of unlike kinds")
            _expect_map("a unit's map", unit.project, unit.gates * width, inputs)
            if kind != "ssru":
                _expect("a unit's recurrent map", unit.recur, unit.gates * width, width)
        if len(layer.units) * width != outputs or (layer.residual and inputs != outputs):
            raise ValueError("a layer has other outputs than its model")
        _expect_norm(layer.norm, outputs)
        inputs = outputs


def _check_wiring(arrays: RecurrentArrays, wiring: WiringArrays) -> None:
    """Check the inputs of the layers and of the output layer."""
    attention, size = wiring.attention, arrays.outputs
    context = 0 if attention is None else attention.heads * attention.source
    has_code = wiring.code_input or wiring.code_first or wiring.code_output
    if wiring.code < 0 or (has_code and not wiring.code) or wiring.shown < 1:
        raise ValueError("the code has another size than its decoder")
    entering = [
        (wiring.feedback, arrays.vector_width),
        (wiring.code_input or wiring.code_first, wiring.code),
        (attention is not None and attention.query != "current", context),
        (wiring.feed, wiring.shown),
    ]
    parts = [width for enters, width in entering if enters]
    inputs = sum(parts) or 1  # without inputs, a single 0
    if wiring.joins is not None:
        inputs = parts[0]
        for part, width in zip(wiring.joins, parts[1:], strict=True):
            _expect_map("a map of inputs", part, inputs, width)
    _check_layers(arrays.layers, inputs, size)
    seen = size + context + (wiring.code if wiring.code_output else 0)
    if wiring.readout is not None:
        _expect_map("the readout", wiring.readout, wiring.shown, seen)
    elif wiring.shown != seen:
        raise ValueError("the output layer sees more than there is")
    _expect_map("the output layer", arrays.output, None, wiring.shown)
    if wiring.soft and arrays.output is not None:
        _expect("the token vectors", arrays.vectors, len(arrays.output.weights), None)
    if attention is not None:
        _check_attention(attention, arrays.vector_width if attention.query == "output" else size)


def _check_attention(attention: AttentionArrays, asking: int) -> None:
    score, window, size = attention.score, attention.window, attention.key
    if attention.heads < 1 or size < 1 or attention.source < 1 or window.reach < 0:
        raise ValueError("attention has no heads, keys or window")
    for part, width in ((score.query, asking), (score.key, attention.source)):
        if part is not None:
            _expect_map("a map of attention", part, attention.heads * size, width)
        elif attention.heads != 1 or size != width:
            raise ValueError("queries and keys are of unlike sizes")
    if score.kind != "dot":
        _expect("the weights of a score", score.weigh, size)
    if score.kind == "perceptron":
        _expect_map("the second map of a score", score.second, size, size)
    if window.focus is not None:
        _expect_map("the map of a window", window.focus, None, asking)
        _expect("the weights of a window", window.weigh, len(window.focus.weights))


def _check_source(
    reading: StackArrays | RecurrentArrays,
    writing: RecurrentArrays,
    wiring: WiringArrays,
    width: int,
) -> None:
    """Check what a recurrent decoder reads of the encoder's states and code."""
    layers, parts = 1, 1
    if isinstance(reading, RecurrentArrays) and reading.layers:
        layers, parts = len(reading.layers), reading.parts
    source = writing.vector_width if wiring.attention is None else wiring.attention.source
    first = wiring.first
    fits = {
        "own": True,
        "copied": (parts, layers, width) == (writing.parts, len(writing.layers), writing.outputs),
        "mapped": len(first.maps) == writing.parts,
        "read": source == width == writing.vector_width == writing.layers[0].inputs,
    }
    if not fits[first.kind] or wiring.code not in (0, width):
        raise ValueError("the decoder begins with another code than the encoder gives")
    if wiring.attention is not None and source != width:
        raise ValueError("the decoder attends to other states than the encoder gives")
    for part in first.maps:
        _expect_map(
            "a map of the code", part, len(writing.layers) * writing.outputs, layers * width
        )
