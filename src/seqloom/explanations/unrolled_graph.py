"""A network unrolled over an input and its output: every value at every step (S9)."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from seqloom.explanations.network_graphs import (
    GraphEdge,
    GraphNode,
    GraphParts,
    GraphRow,
    NetworkGraph,
    label_with_norm,
)
from seqloom.explanations.plain_values import tick_label
from seqloom.explanations.switches import NOTHING_SILENCED, SilencedParts
from seqloom.explanations.tracing import AttentionTrace, Trace, position_labels
from seqloom.model import Network
from seqloom.model.connections import (
    SOURCE,
    Connection,
    ConnectionNode,
    Connections,
    NodeStep,
    unroll_connections,
)

__all__ = ["SeenStep", "unroll_graph"]


FIRST, LAST = 6, 3  # columns shown of a long side
ENDS, NEAR = 2, 1  # columns shown at both ends, and around a step that must be shown
SIDES = 0.6  # columns between the sides, and on each side of the code


class SeenStep(NamedTuple):
    """A step that is always shown: a position of the source or of the target."""

    side: str  # encoder or decoder
    step: int


def unroll_graph(
    network: Network,
    found: Trace,
    *,
    seen: SeenStep | None = None,
    silenced: SilencedParts = NOTHING_SILENCED,
) -> NetworkGraph:
    """Build the graph of every value at every step, with attention weights."""
    return _Unrolled(GraphParts(network.connections()), found, seen, silenced).graph()


class _Unrolled:
    """The graph of one trace, its sides next to each other."""

    def __init__(
        self, parts: GraphParts, found: Trace, seen: SeenStep | None, silenced: SilencedParts
    ) -> None:
        self.parts, self.trace, self.seen, self.silenced = parts, found, seen, silenced
        said, connections = found.output, parts.connections
        self.items = len(said.values)
        self.positions = int(found.memory.source_lengths(said.source_batch())[0])
        decoded = any(name.startswith("decoder.") for name in parts.nodes)
        outputs = said.decoder_outputs if decoded else said.target
        self.target = len(outputs)
        self.aligned = not decoded and any(
            edge.head == "head.output" and edge.steps == "same" for edge in parts.edges
        )
        if self.aligned:
            self.target = 1 + max(said.positions, default=0)
        self.edges = self._unroll(connections)
        counting = [e for e in connections.edges if (e.head, e.kind) not in silenced.edges]
        self.counting = (
            self._unroll(replace(connections, edges=tuple(counting)))
            if silenced.edges
            else self.edges
        )
        self.first = -self.positions if any(e.kind == "prefix" for e in parts.edges) else 0
        self.inputs: dict[NodeStep, list[NodeStep]] = {}
        for tail, head in self.edges:
            self.inputs.setdefault(head, []).append(tail)
        self.columns = _Columns(self)

    def _unroll(self, connections: Connections) -> dict[tuple[NodeStep, NodeStep], Connection]:
        return unroll_connections(
            connections, source=self.positions, target=self.target, items=self.items
        )

    def graph(self) -> NetworkGraph:
        """The shown nodes and their edges."""
        values = {self._value_of(value) for name in self.parts.nodes for value in self._steps(name)}
        stands: dict[NodeStep, list[NodeStep]] = {}
        for name in self.parts.nodes:
            for value in self._steps(name):
                stands.setdefault(self._value_of(value), []).append(value)
        nodes = {
            value: self._node(value, tuple(stands[value]))
            for value in sorted(values, key=self._place)
            if self.columns.x(value) is not None
        }
        edges = tuple(self._edges(nodes))
        return NetworkGraph(
            tuple(nodes.values()), edges, self.parts.readings(), self._rows(), self._gaps()
        )

    def _steps(self, name: str) -> list[NodeStep]:
        """All steps of a node."""
        match self.parts.nodes[name].sequence:
            case "single":
                return [(name, 0)]
            case "source":
                count = self.items if name == SOURCE else self.positions
                return [(name, step) for step in range(count)]
            case _:
                writes = name.startswith("head.") or self.parts.nodes[name].kind in (
                    "attention", "readout", "output",
                )  # fmt: skip
                first = 0 if writes else self.first
                steps = range(first, self.target)
                chosen = self.trace.output.positions if self.aligned else steps
                return [(name, step) for step in steps if step in chosen]

    def _value_of(self, value: NodeStep) -> NodeStep:
        """The value into which a value is merged."""
        while value[0] in self.parts.merged or self._is_prefix(value):
            (value,) = self.inputs[value]
        return value

    def _is_prefix(self, value: NodeStep) -> bool:
        """Whether a decoder's input is an item of the source."""
        return value[0] == "decoder.input" and value[1] < 0 and len(self.inputs[value]) == 1

    def _place(self, value: NodeStep) -> tuple[float, float]:
        return self.columns.x(value) or 0.0, self.parts.heights[value[0]]

    def _node(self, value: NodeStep, stands: tuple[NodeStep, ...]) -> GraphNode:
        name, step = value
        node = self.parts.nodes[name]
        x = self.columns.x(value)
        label = self._label(name, step)
        y = self.parts.heights[name]
        off = ", ".join(dict.fromkeys(self.silenced.names.get(each, "") for each, _ in stands))
        return GraphNode(
            f"{name} {step}", label, node.kind, x or 0.0, y, stands, node.once, off.strip(", ")
        )

    def _label(self, name: str, step: int) -> str:
        """The label of a node: a symbol, or a layer."""
        said, node = self.trace.output, self.parts.nodes[name]
        label = node.label.partition(",")[0].partition(" of ")[0]
        if name == SOURCE:
            label = self._source_label(step)
        elif name.endswith(".positions"):
            label = str(step - self.first + 1)
        elif name == "decoder.input" and step >= 0:
            label = tick_label(said.decoder_inputs[step])
        elif node.kind == "output":
            label = self._output_label(node, step)
        elif name == "encoder.input" and self.items != self.positions:
            label = self._item(position_labels(said.source, self.positions)[step])
        elif node.kind == "code":
            label = "z*"
        return label

    def _source_label(self, step: int) -> str:
        source = self.trace.output.source
        if len(source) == self.items:
            return self._item(source[step])
        return str(step + 1) if self.items > 1 else "source"

    def _output_label(self, node: ConnectionNode, step: int) -> str:
        said = self.trace.output
        if self.aligned:
            return tick_label(said.target[said.positions.index(step)])
        if node.once:
            return ", ".join(map(tick_label, said.target[:3]))
        return tick_label(said.decoder_outputs[step])

    def _item(self, name: str) -> str:
        """The label of a source item: a symbol, or the name of a picture, a frame or a time."""
        return tick_label(name) if self.trace.output.feature_groups is None else name

    def _edges(self, nodes: Mapping[NodeStep, GraphNode]) -> list[GraphEdge]:
        weights = {}
        for look in self.trace.attention_traces:
            asking = self._asking(look)
            heads = look.weights.double().clone()  # (H, T, S)
            heads[sorted(self.silenced.heads.get(asking, ()))] = 0
            weights[asking] = heads.mean(dim=0).numpy()
        found: dict[tuple[NodeStep, NodeStep], GraphEdge] = {}
        for (tail, head), first in self.edges.items():
            counts = (tail, head) in self.counting
            edge = self.counting.get((tail, head), first)
            if not {tail[0], head[0]} <= set(self.parts.nodes):
                continue
            pair = self._value_of(tail), self._value_of(head)
            if pair[0] == pair[1] or not set(pair) <= set(nodes):
                continue
            weight = None
            if edge.kind in ("attention", "self-attention") and head[0] in weights:
                row, column = self._rank(head), self._rank(tail)
                weight = float(weights[head[0]][row, column])
            begin, end = (nodes[value].name for value in pair)
            if pair not in found or (counts and not found[pair].counts):
                found[pair] = GraphEdge(begin, end, edge.kind, weight, counts)
        return list(found.values())

    def _asking(self, look: AttentionTrace) -> str:
        """The node with the traced attention."""
        step = "self-attention" if look.kind == "self" else "cross-attention"
        name = f"{look.side}.blocks.{look.layer - 1}.{step}"
        return name if name in self.parts.nodes else "decoder.attention"

    def _rank(self, value: NodeStep) -> int:
        """The index of a value in the attention weights."""
        name, step = value
        if name.startswith("encoder.") and name != "encoder.states":
            return self.parts.connections.order.reading(self.positions).index(step)
        if name.startswith("decoder.") and "cross" not in name and name != "decoder.attention":
            return step - self.first
        return step

    def _rows(self) -> tuple[GraphRow, ...]:
        """The labels of the rows: the encoder's on the left, the decoder's on the right."""
        found = []
        for name, y in self.parts.heights.items():
            node = self.parts.nodes[name]
            if node.kind in ("layer", "attention", "states", "readout") or _is_vectors(name, self):
                left = name in self.parts.encoder or not self.columns.encoder
                found.append(GraphRow(label_with_norm(node, node.label), y, left))
        return tuple(found)

    def _gaps(self) -> tuple[tuple[float, float], ...]:
        """The positions of omitted steps."""
        return tuple(
            (x, y)
            for name, y in self.parts.heights.items()
            for x in self.columns.gaps.get(self.columns.lane(name), ())
        )


class _Columns:
    """The columns of the steps of each side, from left to right."""

    def __init__(self, graph: "_Unrolled") -> None:
        self.graph = graph
        parts = graph.parts
        reading = parts.connections.order.reading(graph.positions)
        prefix = graph.first < 0
        self.encoder = {} if prefix else _visible(reading, self._seen("encoder"))
        width = max(self.encoder.values(), default=-1.0) + 1
        self.code = width - 1 + 1.0 if "encoder.code" in parts.nodes else width - 1
        begin = 0.0 if not width else self.code + 1 + SIDES * (self.code < width)
        self.decoder: dict[int, float] = {}
        for steps in (range(graph.first, 0), range(graph.target)):  # the source read first
            shown = _visible([*steps], self._seen("decoder"))
            self.decoder |= {step: begin + x for step, x in shown.items()}
            begin = max([begin - 1, *self.decoder.values()]) + 1
        self.items = self._spread(width)
        self.gaps = {side: _gaps(getattr(self, side)) for side in ("encoder", "decoder", "items")}

    def _seen(self, side: str) -> int | None:
        """The step of a side that must be shown; a decoder may read the source itself."""
        seen = self.graph.seen
        if seen is None:
            return None
        if seen.side == "encoder" and self.graph.first < 0:
            return self.graph.first + seen.step if side == "decoder" else None
        return seen.step if seen.side == side else None

    def lane(self, name: str) -> str:
        """The group of columns of a node's steps."""
        node = self.graph.parts.nodes[name]
        if node.once:
            return "single"
        if name == SOURCE and self.graph.items != self.graph.positions:
            return "items"
        return "encoder" if name.startswith("encoder.") or self.graph.aligned else "decoder"

    def x(self, value: NodeStep) -> float | None:
        """The column of a value; None if it is omitted."""
        name, step = value
        lane = self.lane(name)
        if lane == "single":
            over = [*self.encoder.values()] or [0.0]
            code = self.code if "encoder.code" in self.graph.parts.nodes else None
            return sum(over) / len(over) if code is None else code
        if lane == "encoder" and self.graph.first < 0:
            order = self.graph.parts.connections.order.states(self.graph.positions)
            rank = step if name == "encoder.states" else order.index(step)
            return self.decoder.get(self.graph.first + rank)
        columns: dict[int, float] = getattr(self, lane)
        return columns.get(step)

    def _spread(self, width: float) -> dict[int, float]:
        """The columns of a source's items when a front end changes the number of positions."""
        shown = _visible(list(range(self.graph.items)))
        room = max(width, 1.0)
        wide = max(shown.values(), default=0.0) + 1
        return {item: (x + 0.5) * room / wide - 0.5 for item, x in shown.items()}


def _visible(steps: list[int], seen: int | None = None) -> dict[int, float]:
    """The columns of the shown steps; omitted steps leave one column free."""
    if len(steps) <= FIRST + LAST + 1:
        return {step: float(x) for x, step in enumerate(steps)}
    shown = [*range(FIRST), *range(len(steps) - LAST, len(steps))]
    if seen in steps:
        most = len(steps) - ENDS - NEAR - 1
        middle = min(max(steps.index(seen), ENDS + NEAR), most)
        ends = *range(ENDS), *range(len(steps) - ENDS, len(steps))
        shown = sorted({*ends, *range(middle - NEAR, middle + NEAR + 1)})
    skipped = 0
    found = {}
    for x, (place, before) in enumerate(zip(shown, [-1, *shown], strict=False)):
        skipped += place > before + 1
        found[steps[place]] = float(x + skipped)
    return found


def _gaps(columns: Mapping[int, float]) -> list[float]:
    """The positions between steps that are not consecutive."""
    found = sorted((x, step) for step, x in columns.items())
    return [
        (x + u) / 2
        for (x, step), (u, other) in pairwise(found)
        if abs(step - other) > 1 and len(found) > FIRST
    ]


def _is_vectors(name: str, graph: _Unrolled) -> bool:
    return name.endswith(".positions") or (
        name == "encoder.input" and graph.items == graph.positions
    )
