"""A network cut at every node of its graph, so that gradients show direct dependence alone.

Every value that is a node becomes a leaf before others read it. A value's gradient then reaches
exactly those leaves that it was computed from without another node in between.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from typing import Any

import torch
from torch import Tensor

from seqloom.fields import START
from seqloom.model import DecoderModule, Memory, Network, Source
from seqloom.model.connections import CODE, SOURCE, STATES, NodeStep
from seqloom.model.encoders import RecurrentEncoder, VectorsEncoder
from seqloom.model.forecast import AutoregressiveForecast
from seqloom.model.recurrent import RecurrentDecoder
from seqloom.model.tag_decoder import TagDecoder
from seqloom.model.transformer import TransformerDecoder, TransformerEncoder
from seqloom.nn.modules import children_of
from seqloom.nn.recurrent import RecurrentLayer, RecurrentStack
from seqloom.nn.token_mixing import Recurrence
from seqloom.nn.transformer import Block

__all__ = ["direct_edges", "run_cut"]

Edge = tuple[NodeStep, NodeStep]


class Cuts:
    """The values of every node and step, and the leaves that stand for them."""

    def __init__(self) -> None:
        self.first = 0  # step of the first position that is being read
        self.order: list[int] | None = None  # positions of the source, in the order of reading
        self.turned = False  # the encoder's states are in that order too
        self.values: dict[NodeStep, list[Tensor]] = defaultdict(list)
        self.leaves: list[tuple[NodeStep, Tensor]] = []

    def at(self, node: str, value: Tensor, first: int | None = None) -> Tensor:
        """A leaf in place of a value (1, T, D)."""
        first = self.first if first is None else first
        leaves = []
        for number, step in enumerate(value.unbind(1)):
            place = first + number
            if self.order is not None and node.startswith("encoder.") and node != STATES:
                place = self.order[number]
            leaves.append(self.single((node, place), step))
        return torch.stack(leaves, dim=1)

    def single(self, node: NodeStep, value: Tensor) -> Tensor:
        """A leaf in place of one step's value."""
        self.values[node].append(value)
        leaf = value.detach().clone().requires_grad_()
        self.leaves.append((node, leaf))
        return leaf

    def edges(self) -> Iterator[Edge]:
        """Every leaf that a value's gradient reaches, and the value."""
        leaves = [leaf for _, leaf in self.leaves]
        for head, values in self.values.items():
            for value in values:
                if not value.requires_grad:
                    continue
                weights = torch.randn_like(value)
                found = torch.autograd.grad(
                    (value * weights).sum(), leaves, allow_unused=True, retain_graph=True
                )
                for (tail, _), gradient in zip(self.leaves, found, strict=True):
                    if gradient is not None and bool(gradient.ne(0).any()):
                        yield tail, head


def direct_edges(model: Network, source: Source, tokens: Tensor | None = None) -> set[Edge]:
    """The edges that a model has over one sentence and the tokens of its output, or over what its
    head gives."""
    return set(run_cut(model, source, tokens).edges())


def run_cut(model: Network, source: Source, tokens: Tensor | None = None) -> Cuts:
    """A model cut at its nodes, over one sentence and the tokens of its output."""
    cuts = Cuts()
    with torch.no_grad():
        length = int(model.encoder.encode(source).source_lengths(source)[0])
    if source.values.is_floating_point():
        items = cuts.at(SOURCE, source.values, 0)
        source = Source(items, source.lengths)
    with instrumented(model, cuts):
        memory = _encode(model, source, cuts, length)
        cuts.order, cuts.first = None, -length
        if tokens is not None and (decoder := _writer(model)) is not None:
            _decode(decoder, memory, tokens, cuts)
        elif model.head is not None:
            for step, output in enumerate(model.head(memory).unbind(1)):
                cuts.single(("head.output", step), output)
    return cuts


def _writer(model: Network) -> DecoderModule | None:
    """What writes symbols one after another, where something does."""
    if model.head is None:
        return model.decoder
    return model.head.decoder_part if isinstance(model.head.decoder_part, TagDecoder) else None


def _encode(model: Network, source: Source, cuts: Cuts, length: int) -> Memory:
    order = model.encoder.order
    cuts.order, cuts.turned = order.reading(length), order.turned
    memory = model.encoder.encode(source)
    if memory.states is not None and not _cuts_states(model.encoder):
        memory = replace(memory, states=cuts.at(STATES, memory.states, 0))
    if memory.code is not None:
        code = tuple(cuts.single((CODE, 0), part) for part in memory.code)
        memory = replace(memory, code=code)
    return memory


def _decode(decoder: DecoderModule, memory: Memory, tokens: Tensor, cuts: Cuts) -> None:
    state: Any = decoder.start(memory)
    fed = torch.cat([torch.full_like(tokens[:, :1], START), tokens[:, :-1]], dim=1)
    for step in range(tokens.shape[1]):
        cuts.first = step
        features, state = decoder.read(fed[:, step : step + 1], state)
        cuts.at("decoder.output", decoder.write(features.hidden))


def _cuts_states(encoder: Any) -> bool:
    """Whether the encoder's own norm is where its states are cut."""
    while hasattr(encoder, "inner"):
        encoder = encoder.inner
    return isinstance(encoder, TransformerEncoder)


@contextmanager
def instrumented(model: Network, cuts: Cuts) -> Iterator[None]:
    """The model with every node cut."""
    undo: list[Callable[[], None]] = []
    for name, module in model.named_modules():
        undo += _cut_module(name, module, cuts)
        if isinstance(module, AutoregressiveForecast):
            undo.append(_cut_forecast(module, cuts))
        if isinstance(module, TagDecoder):
            undo.append(_input(module.stack, cuts, "decoder.input"))
    try:
        yield
    finally:
        for each in undo:
            each()


def _cut_module(name: str, module: Any, cuts: Cuts) -> list[Callable[[], None]]:
    side = "encoder" if name.startswith("encoder") else "decoder"
    match module:
        case RecurrentEncoder() | VectorsEncoder():
            return [_output(module.embedding, cuts, "encoder.input")]
        case RecurrentStack():
            branch = name.rpartition(".")[2]
            prefix = f"{side}.{branch}" if branch in ("before", "after") else side
            return _cut_stack(module, cuts, prefix)
        case RecurrentDecoder():
            return _cut_recurrent_decoder(module, cuts)
        case TransformerEncoder() | TransformerDecoder():
            top = (
                _states(module.norm, cuts)
                if side == "encoder"
                else _output(module.norm, cuts, "decoder.readout")
            )
            return [_method(module.embed, "add_positions", cuts, f"{side}.input"), top]
        case Block():
            number = name.rpartition(".")[2]
            return _cut_block(module, cuts, f"{side}.blocks.{number}")
    return []


def _cut_forecast(head: AutoregressiveForecast, cuts: Cuts) -> Callable[[], None]:
    """Every step of a forecast that is fed back."""
    inner = head._read

    def read(values: Tensor, memory: Memory, first: int, state: Any) -> tuple[Tensor, Any]:
        cuts.first = first
        found, state = inner(values, memory, first, state)
        return cuts.at("decoder.output", found.flatten(2)).view_as(found), state

    head._read = read  # type: ignore[method-assign]
    return lambda: delattr(head, "_read")


def _output(module: Any, cuts: Cuts, node: str) -> Callable[[], None]:
    handle = module.register_forward_hook(lambda *call: cuts.at(node, call[-1]))
    return handle.remove  # type: ignore[no-any-return]


def _input(module: Any, cuts: Cuts, node: str) -> Callable[[], None]:
    """Cut the first thing that a module is given."""

    def given(_: Any, inputs: Any) -> Any:
        return (cuts.at(node, inputs[0]), *inputs[1:])

    return module.register_forward_pre_hook(given).remove  # type: ignore[no-any-return]


def _states(module: Any, cuts: Cuts) -> Callable[[], None]:
    """Cut the states of a Transformer, which is inside what turns them round again."""

    def states(_: Any, __: Any, found: Tensor) -> Tensor:
        order = range(found.shape[1]) if cuts.turned or cuts.order is None else cuts.order
        steps = zip(order, found.unbind(1), strict=True)
        return torch.stack([cuts.single((STATES, place), step) for place, step in steps], dim=1)

    return module.register_forward_hook(states).remove  # type: ignore[no-any-return]


def _method(owner: Any, name: str, cuts: Cuts, node: str) -> Callable[[], None]:
    """Cut what a method returns."""
    inner = getattr(owner, name)
    setattr(owner, name, lambda *given: cuts.at(node, inner(*given)))
    return lambda: delattr(owner, name)


def _cut_recurrent_decoder(decoder: RecurrentDecoder, cuts: Cuts) -> list[Callable[[], None]]:
    """Its input, readout and context; a stack that reads the source first has it as its input."""
    undo = [
        _method(decoder, "_feedback_vectors", cuts, "decoder.input"),
        _output(decoder.readout, cuts, "decoder.readout"),
        _soft_output(decoder, cuts),
    ]

    def prefix(_: Any, given: Any) -> Any:
        return (cuts.at("decoder.input", given[0]), *given[1:]) if cuts.first < 0 else None

    undo.append(decoder.stack.register_forward_pre_hook(prefix).remove)
    if decoder.wiring.attention is not None:
        module = decoder.wiring.attention.attention

        def context(_: Any, __: Any, found: Any) -> Any:
            return cuts.at("decoder.attention", found[0]), found[1]

        undo.append(module.register_forward_hook(context).remove)
    return undo


def _soft_output(decoder: RecurrentDecoder, cuts: Cuts) -> Callable[[], None]:
    """Under soft feedback the previous output is computed again at the step that reads it."""
    inner = decoder.write

    def write(hidden: Tensor) -> Tensor:
        if hidden.ndim == 3:  # asked for by the test itself, which cuts it
            return inner(hidden)
        return cuts.at("decoder.output", inner(hidden)[:, None], cuts.first - 1)[:, 0]

    decoder.write = write  # type: ignore[method-assign]
    return lambda: delattr(decoder, "write")


def _cut_stack(stack: RecurrentStack, cuts: Cuts, prefix: str) -> list[Callable[[], None]]:
    """The state of every unit at every step, and the outputs of every layer."""
    names = [f"{prefix}.layers.{number}" for number in range(stack.depth)]
    undo = [
        _cut_unit(unit, cuts, name, backward=layer.backward_first or number == 1)
        for name, layer in zip(names, children_of(stack.layers, RecurrentLayer), strict=True)
        for number, unit in enumerate(layer.units)
    ]
    inner, turn = stack._add_residual, cycle(names)

    def residual(outputs: Tensor, inputs: Tensor) -> Tensor:
        return cuts.at(next(turn), inner(outputs, inputs))

    stack._add_residual = residual  # type: ignore[method-assign]
    return [*undo, lambda: delattr(stack, "_add_residual")]


def _cut_unit(unit: Any, cuts: Cuts, node: str, *, backward: bool = False) -> Callable[[], None]:
    """A unit that takes one step at a time from a leaf of its state."""
    inner = unit.forward

    def forward(inputs: Tensor, state: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
        outputs, states, steps = [], [], inputs.shape[1]
        for number in range(steps):
            place = steps - 1 - number if backward else number
            output, after = inner(inputs[:, number : number + 1], state)
            first = cuts.first + place
            if node.startswith("encoder.") and cuts.order is not None:
                first = cuts.order[place]
            state = tuple(cuts.single((node, first), part[:, 0]) for part in after)
            outputs.append(output)
            states.append(state)
        parts = (torch.stack(part, dim=1) for part in zip(*states, strict=True))
        return torch.cat(outputs, dim=1), tuple(parts)

    unit.forward = forward
    return lambda: delattr(unit, "forward")


def _cut_block(block: Block, cuts: Cuts, name: str) -> list[Callable[[], None]]:
    """The sum after each residual step, and the state of a unit in place of self-attention."""
    inner, sublayers = block._add_residual, block.sublayers

    def residual(values: Tensor, change: Tensor, number: int) -> Tensor:
        return cuts.at(f"{name}.{sublayers[number]}", inner(values, change, number))

    block._add_residual = residual  # type: ignore[method-assign]
    undo: list[Callable[[], None]] = [lambda: delattr(block, "_add_residual")]
    if isinstance(block.attention, Recurrence):
        undo.append(_cut_unit(block.attention.unit, cuts, f"{name}.recurrence"))
    return undo
