"""Export networks as ONNX graphs with torch's exporter."""

import contextlib
import io
import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from seqloom.errors import ConfigError
from seqloom.fields import Items
from seqloom.model import HeadModel, SequenceModel, Source
from seqloom.model.state import State
from seqloom.remedies import Command, Remedy, Setting

__all__ = ["DecoderGraphs", "save_head"]

LOGGERS = "torch.onnx", "onnxscript", "onnx_ir"  # loggers to silence
ROWS, READ = 2, 3  # sizes of the example for tracing a step
CACHE_AXES = 4  # (rows, steps, heads, values): keys and values grow with each step
LENGTHS = 5, 7  # example lengths of sources, whose axis is dynamic


class _Start(nn.Module):
    """Maps a source to the decoder's initial state."""

    def __init__(self, network: SequenceModel) -> None:
        super().__init__()
        self.network = network

    def state(self, values: Tensor | None) -> State[Any, Any]:
        """The initial state."""
        decoder, encoder = self.network.decoder, self.network.encoder
        values = torch.zeros(1, 1, dtype=torch.int64) if values is None else values
        found: State[Any, Any] = decoder.start(encoder.encode(_one_source(values)))
        return found

    def forward(self, source: Tensor) -> tuple[Tensor, ...]:
        return _leaves(self.state(source))


class _Step(nn.Module):
    """Maps the last tokens and a state to the scores of the next tokens and the next state."""

    def __init__(self, network: SequenceModel, example: State[Any, Any]) -> None:
        super().__init__()
        self.network = network
        own, self.own = pytree.tree_flatten(example.own)
        self.shared = pytree.tree_flatten(example.shared)[1]
        self.count = len(own)

    def forward(self, tokens: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        own = pytree.tree_unflatten(list(leaves[: self.count]), self.own)
        shared = pytree.tree_unflatten(list(leaves[self.count :]), self.shared)
        features, after = self.network.decoder.read(tokens, State(own, shared))
        scores = self.network.decoder.write(features.hidden[:, -1]).log_softmax(-1)
        return scores, *(part.clone() for part in pytree.tree_leaves(after.own))


class _HeadGraph(nn.Module):
    """Maps a source to the head's output."""

    def __init__(self, network: HeadModel) -> None:
        super().__init__()
        self.network = network

    def forward(self, source: Tensor) -> Tensor:
        found: Tensor = self.network.head(self.network.encoder.encode(_one_source(source)))
        return found


class DecoderGraphs:
    """The two graphs of a network with a decoder: its start and its step."""

    def __init__(self, network: SequenceModel, items: Items) -> None:
        self.start = _Start(network)
        self.examples = [_example(items, steps) for steps in LENGTHS]
        with torch.no_grad():
            states = [self.start.state(each) for each in self.examples]
        self.step = _Step(network, states[0])
        leaves = [_leaves(state) for state in states]
        self.leaves = leaves[0]
        self.moving = [
            {axis for axis in range(one.dim()) if one.shape[axis] != two.shape[axis]}
            for one, two in zip(*leaves, strict=True)
        ]
        own = self.step.count
        self.own = [f"own{number}" for number in range(own)]
        self.names = [*self.own, *(f"shared{number}" for number in range(len(self.leaves) - own))]

    def save_start(self, path: Path) -> None:
        """Save the graph that runs once per source."""
        source = GraphInput(self.examples[0], {1})
        save_graph(self.start, {"source": source}, self.names, path)

    def save_step(self, path: Path) -> None:
        """Save the graph of a step."""
        inputs = {"tokens": GraphInput(torch.zeros(ROWS, 1, dtype=torch.int64), {0})}
        for number, name in enumerate(self.names):
            leaf = self.leaves[number]
            axes = self._step_axes(number, leaf)
            inputs[name] = GraphInput(self._example_leaf(number, leaf), axes)
        save_graph(self.step, inputs, ["scores", *(f"next_{name}" for name in self.own)], path)

    def _example_leaf(self, number: int, leaf: Tensor) -> Tensor:
        if number >= self.step.count:
            return leaf
        rows = leaf.new_zeros(ROWS, *leaf.shape[1:])
        if leaf.dim() == CACHE_AXES:
            return rows.new_zeros(ROWS, READ, *leaf.shape[2:])
        return rows + READ if leaf.dim() == 1 else rows

    def _step_axes(self, number: int, leaf: Tensor) -> set[int]:
        if number >= self.step.count:
            return self.moving[number]
        return {0, 1} if leaf.dim() == CACHE_AXES else {0}


def save_head(network: HeadModel, items: Items, path: Path) -> None:
    """Save the graph of an encoder with its head."""
    example = _example(items, LENGTHS[0])
    moving: set[int] = {1} if items.series is None and items.pixels is None else set()
    save_graph(_HeadGraph(network), {"source": GraphInput(example, moving)}, ["output"], path)


class GraphInput(NamedTuple):
    """An input of a graph: an example, and its dynamic axes."""

    example: Tensor
    axes: set[int]


@torch.no_grad()
def save_graph(
    module: nn.Module, inputs: Mapping[str, GraphInput], outputs: Sequence[str], path: Path
) -> None:
    """Trace a module on an example; ConfigError if torch fails."""
    free = [dict.fromkeys(each.axes, torch.export.Dim.DYNAMIC) for each in inputs.values()]
    first, rest = free[0], tuple(free[1:])
    levels = [logging.getLogger(name) for name in LOGGERS]
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for logger in levels:
            logger.setLevel(logging.ERROR)
        try:
            program = torch.onnx.export(
                module.eval(),
                tuple(each.example for each in inputs.values()),
                input_names=list(inputs),
                output_names=list(outputs),
                dynamic_shapes=(first, rest) if rest else (first,),
                dynamo=True,
                verbose=False,
            )
        except torch.onnx.OnnxExporterError as error:
            raise ConfigError(
                f"torch cannot trace this model ({type(error.__cause__ or error).__name__})",
                place=Setting("to", "onnx"),
                remedy=Remedy("use the model with {}", Command("predict")),
            ) from error
    if program is None:
        raise TypeError("torch gave no graph")
    program.save(str(path))


def _leaves(state: State[Any, Any]) -> tuple[Tensor, ...]:
    return tuple(part.clone() for part in pytree.tree_leaves((state.own, state.shared)))


def _one_source(values: Tensor) -> Source:
    return Source(values, torch.full((1,), values.shape[1], dtype=torch.int64))


def _example(items: Items, steps: int) -> Tensor:
    """An example source, of `steps` items unless its length is fixed."""
    row = torch.from_numpy(items.placeholder(closing=items.closing))
    if items.symbols is not None:
        row = row[:1].expand(steps, *row.shape[1:]).long()
    return row[None].contiguous()
