"""A network as a graph: rolled, as it is built, and unrolled over an input and its output (S9).

Nodes and edges are those that the network's parts tell (`connections()`). Two things are left out:
what no output is computed from, and values that are functions of one other value of their step,
which are drawn as that one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from seqloom.display import Displayed
from seqloom.explanations.plain_values import tick_label
from seqloom.explanations.tracing import AttentionTrace, Trace, position_labels
from seqloom.model import Connections, Network
from seqloom.model.connections import (
    SOURCE,
    Connection,
    ConnectionNode,
    NodeStep,
    unroll_connections,
)

__all__ = [
    "GraphEdge",
    "GraphNode",
    "GraphReading",
    "GraphRow",
    "NetworkGraph",
    "architecture_graph",
    "decoder_reads",
    "unroll_graph",
]

FIRST, LAST = 6, 3  # columns of a long side that are shown
ASKING = 0.7  # rows more below one that attends to the source
SIDES = 0.6  # columns between the two sides, and as much on each side of the code
MERGED = ("input", "states", "readout")  # kinds of nodes that may be drawn as what they read
ORDER = ("source", "input", "attention", "layer", "states", "code", "readout", "output")
LATER = ("previous", "next", "recent", "prefix")  # steps that do not lie on the way up
PHRASES = {
    "same": "", "previous": " at t−1", "next": " at t+1", "until": " up to t", "all": " at all t",
    "window": " near t", "window-until": " near t, up to t", "head-first": " at t=0",
    "tail-first": ", the first", "tail-last": ", the last", "prefix": ", before the first step",
    "recent": ", the last few", "field": "",
}  # fmt: skip


@dataclass(frozen=True)
class GraphNode:
    """A value of the network, or the value of one step, with its place in a picture."""

    name: str
    label: str
    kind: str  # source, input, layer, attention, states, code, readout, output
    x: float  # in columns
    y: float  # in rows
    stands_for: tuple[NodeStep, ...]  # the values of the model, and their steps

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name, "label": self.label, "kind": self.kind, "x": self.x, "y": self.y,
        }  # fmt: skip


@dataclass(frozen=True)
class GraphEdge:
    """`end` is computed from `begin`."""

    begin: str
    end: str
    kind: str  # of the connection
    weight: float | None = None  # of attention


@dataclass(frozen=True)
class GraphRow:
    """What the boxes of a row are, on the left of all or on the right."""

    label: str
    y: float
    left: bool


@dataclass(frozen=True)
class GraphReading:
    """What a value reads, in words."""

    head: str
    tails: tuple[str, ...]


@dataclass(frozen=True)
class NetworkGraph(Displayed):
    """Nodes and edges, from the source to the output."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    readings: tuple[GraphReading, ...]
    rows: tuple[GraphRow, ...] = ()
    gaps: tuple[tuple[float, float], ...] = ()  # where steps are left out, and how high

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        edges = [
            {"begin": edge.begin, "end": edge.end, "kind": edge.kind}
            | ({} if edge.weight is None else {"weight": round(edge.weight, 6)})
            for edge in self.edges
        ]
        reads = {reading.head: list(reading.tails) for reading in self.readings}
        return {"nodes": [node.as_dict() for node in self.nodes], "edges": edges, "reads": reads}


def architecture_graph(network: Network) -> NetworkGraph:
    """Each value once; a loop is what a layer hands itself from step to step."""
    parts = _Parts(network.connections())
    columns = {"encoder": 0.0, "decoder": 2.0 if parts.encoder else 0.0}
    nodes = []
    for name, y in parts.heights.items():
        node = parts.nodes[name]
        x = columns["encoder" if name in parts.encoder else "decoder"]
        if node.kind in ("code", "attention"):
            x = 1.0 if parts.encoder else -1.0
        elif name.endswith(".positions"):
            x += -1.0 if name in parts.encoder else 1.0
            y = min(parts.heights[e.head] for e in parts.edges if e.tail == name) - 1.0
        if node.kind == "code" and y == parts.heights.get("decoder.attention"):
            y -= 1.0
        nodes.append(GraphNode(name, parts.full_label(name), node.kind, x, y, ((name, 0),)))
    edges: dict[tuple[str, str], GraphEdge] = {}
    for edge in parts.edges:
        pair = parts.node_of(edge.tail), parts.node_of(edge.head)
        if pair[0] != pair[1] or edge.tail == edge.head:
            if edge.kind != "self-attention":
                edges.setdefault(pair, GraphEdge(*pair, edge.kind))
            else:
                edges[pair] = GraphEdge(*pair, edge.kind)
    return NetworkGraph(tuple(nodes), tuple(edges.values()), parts.readings())


def unroll_graph(network: Network, found: Trace) -> NetworkGraph:
    """Every value at every step; attention has its weights."""
    return _Unrolled(_Parts(network.connections()), found).graph()


READINGS = {
    "soft feedback": "the distribution before",
    "code": "z*",
    "input feeding": "the features before",
}  # what a step may read beside a symbol


def decoder_reads(network: Network, steps: int) -> list[tuple[bool, tuple[str, ...]]]:
    """For each step of a decoder, whether it reads the symbol before, and what it reads beside."""
    parts = _Parts(network.connections())
    reads = "decoder.input" in parts.nodes
    edges = unroll_connections(parts.connections, source=1, target=steps)
    found = []
    for step in range(steps):
        beside = {
            edge.kind
            for (tail, head), edge in edges.items()
            if head[1] == step and head[0].startswith("decoder.") and tail[0] in parts.nodes
        }
        soft = step > 0 and "soft feedback" in beside
        words = tuple(READINGS[kind] for kind in READINGS if kind in beside)
        found.append((reads and not soft, words))
    return found


class _Parts:
    """The nodes of a network that are drawn, from below to above, and what each stands for."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        counted = _reaching_output(connections)
        self.nodes = {node.name: node for node in connections.nodes if node.name in counted}
        self.edges = [e for e in connections.edges if {e.tail, e.head} <= counted]
        self.merged = {
            name: edge.tail
            for name, node in self.nodes.items()
            if (edge := self._only_input(node)) is not None
        }
        rows = [name for name in self.nodes if name not in self.merged]
        self.encoder = [name for name in rows if name.startswith("encoder.")]
        self.heights = self._heights(rows)

    def node_of(self, name: str) -> str:
        """The node that a value is drawn as."""
        while name in self.merged:
            name = self.merged[name]
        return name

    def full_label(self, name: str) -> str:
        """What a node is, and what is made of it at once."""
        label = self.nodes[name].label or name
        below = [self.nodes[n].label for n, to in self.merged.items() if to == name]
        vectors = [each for each in below if self.nodes[name].kind == "source" and each]
        return " · ".join([_with_norm(self.nodes[name], label), *vectors[:1]])

    def readings(self) -> tuple[GraphReading, ...]:
        """What each node reads, the output first."""
        found: dict[str, list[str]] = {}
        for edge in self.edges:
            head, tail = self.node_of(edge.head), self.node_of(edge.tail)
            if head != tail or edge.head == edge.tail:
                label = "itself" if head == tail else self.side_label(tail)
                kind = "" if edge.kind in ("up", "time") else f" ({edge.kind})"
                found.setdefault(head, []).append(label + PHRASES[edge.steps] + kind)
        order = sorted(found, key=lambda name: -self.heights[name])
        return tuple(GraphReading(self.side_label(n), tuple(found[n])) for n in order)

    def side_label(self, name: str) -> str:
        """A node's label with its side and its number."""
        side, *rest = name.split(".")
        label = self.nodes[name].label or name
        if label in ("source", "code z*"):
            return label
        numbers = [int(each) + 1 for each in rest if each.isdigit()]
        several = any(n != name and n.startswith(f"{side}.{rest[0]}.") for n in self.nodes)
        return " ".join([side, *(map(str, numbers) if several else ()), label])

    def _only_input(self, node: ConnectionNode) -> Connection | None:
        """The edge that a node is nothing but a function of, where there is one such edge."""
        edges = [edge for edge in self.edges if edge.head == node.name]
        if node.kind not in MERGED or node.norm != "none" or len(edges) != 1:
            return None
        (edge,) = edges
        return edge if (edge.kind, edge.steps) == ("up", "same") else None

    def _heights(self, rows: list[str]) -> dict[str, float]:
        """The row of each node, the encoder's beside the decoder's."""
        own = self._sort(self.encoder)
        other = self._sort([name for name in rows if name not in self.encoder])
        found = {name: float(y) for y, name in enumerate(own) if name != "encoder.code"}
        top = max(found.values(), default=0.0)
        asking = {
            self.node_of(edge.head)
            for edge in self.edges
            if edge.kind == "attention" or (edge.steps == "all" and edge.kind in ("up", "pooling"))
        }
        first = [other.index(name) for name in asking if name in other]
        shift = max(0.0, top + 1 - min(first)) if first and own else 0.0
        layers = [
            next((y for y, n in enumerate(side) if self.nodes[n].kind == "layer"), 0)
            for side in (own, other)
        ]
        shift = max(shift, layers[0] - layers[1]) if own else 0.0
        if any(edge.kind == "prefix" for edge in self.edges):
            beside = self._prefix_merges()  # the source stands where the decoder's inputs do
            shift = 0.0 if beside else top + 1
            found = {name: y + beside * other.index("decoder.input") for name, y in found.items()}
        elif other == ["head.output"]:
            shift = top + 1
        steps = [1 + ASKING * (name in asking and bool(own)) for name in other]
        found |= {name: shift + sum(steps[: y + 1]) - 1 for y, name in enumerate(other)}
        if "encoder.code" in own:
            heads = [found[self.node_of(e.head)] for e in self.edges if e.tail == "encoder.code"]
            found["encoder.code"] = top if other == ["head.output"] else min(heads)
        return {name: round(y, 2) for name, y in found.items()}

    def _prefix_merges(self) -> bool:
        """Whether the source stands where a decoder's inputs stand that reads it first."""
        into = [edge for edge in self.edges if edge.head == "decoder.input"]
        return {edge.kind for edge in into} <= {"prefix", "feedback", "soft feedback"}

    def _sort(self, names: list[str]) -> list[str]:
        """Nodes from below to above: each after those of its step that it reads."""
        below = {
            name: {
                self.node_of(edge.tail)
                for edge in self.edges
                if self.node_of(edge.head) == name and edge.steps not in LATER
            }
            for name in names
        }
        found: list[str] = []
        while len(found) < len(names):
            left = set(names) - set(found)
            ready = [name for name in names if name in left and not below[name] & left - {name}]
            found.append(min(ready, key=lambda n: (ORDER.index(self.nodes[n].kind), n)))
        return found


class _Unrolled:
    """The graph of one trace, its sides next to each other."""

    def __init__(self, parts: _Parts, found: Trace) -> None:
        self.parts, self.trace = parts, found
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
        self.edges = unroll_connections(
            connections, source=self.positions, target=self.target, items=self.items
        )
        self.first = -self.positions if any(e.kind == "prefix" for e in parts.edges) else 0
        self.inputs: dict[NodeStep, list[NodeStep]] = {}
        for tail, head in self.edges:
            self.inputs.setdefault(head, []).append(tail)
        self.columns = _Columns(self)

    def graph(self) -> NetworkGraph:
        """All nodes that are shown, and the edges between them."""
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
        """A node at all its steps."""
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
        """The value that a value is drawn as."""
        while value[0] in self.parts.merged or self._is_prefix(value):
            (value,) = self.inputs[value]
        return value

    def _is_prefix(self, value: NodeStep) -> bool:
        """Whether a decoder's input is nothing but an item of the source."""
        return value[0] == "decoder.input" and value[1] < 0 and len(self.inputs[value]) == 1

    def _place(self, value: NodeStep) -> tuple[float, float]:
        return self.columns.x(value) or 0.0, self.parts.heights[value[0]]

    def _node(self, value: NodeStep, stands: tuple[NodeStep, ...]) -> GraphNode:
        name, step = value
        kind = self.parts.nodes[name].kind
        x = self.columns.x(value)
        label = self._label(name, step)
        y = self.parts.heights[name]
        return GraphNode(f"{name} {step}", label, kind, x or 0.0, y, stands)

    def _label(self, name: str, step: int) -> str:
        """A symbol, or what a layer is."""
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
        """An item of the source: a symbol, or the name of a picture, a frame, a time."""
        return tick_label(name) if self.trace.output.feature_groups is None else name

    def _edges(self, nodes: Mapping[NodeStep, GraphNode]) -> list[GraphEdge]:
        weights = {}
        for look in self.trace.attention_traces:
            weights[self._asking(look)] = look.weights.double().mean(dim=0).numpy()
        found: dict[tuple[NodeStep, NodeStep], GraphEdge] = {}
        for (tail, head), edge in self.edges.items():
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
            found.setdefault(pair, GraphEdge(begin, end, edge.kind, weight))
        return list(found.values())

    def _asking(self, look: AttentionTrace) -> str:
        """The node whose attention was traced."""
        step = "self-attention" if look.kind == "self" else "cross-attention"
        name = f"{look.side}.blocks.{look.layer - 1}.{step}"
        return name if name in self.parts.nodes else "decoder.attention"

    def _rank(self, value: NodeStep) -> int:
        """The row or column of a value in the weights of attention."""
        name, step = value
        if name.startswith("encoder.") and name != "encoder.states":
            return self.parts.connections.order.reading(self.positions).index(step)
        if name.startswith("decoder.") and "cross" not in name and name != "decoder.attention":
            return step - self.first
        return step

    def _rows(self) -> tuple[GraphRow, ...]:
        """The names of the rows: the encoder's on the left, the decoder's on the right."""
        found = []
        for name, y in self.parts.heights.items():
            node = self.parts.nodes[name]
            if node.kind in ("layer", "attention", "states", "readout") or _is_vectors(name, self):
                left = name in self.parts.encoder or not self.columns.encoder
                found.append(GraphRow(_with_norm(node, node.label), y, left))
        return tuple(found)

    def _gaps(self) -> tuple[tuple[float, float], ...]:
        """The places where steps are left out."""
        return tuple(
            (x, y)
            for name, y in self.parts.heights.items()
            for x in self.columns.gaps.get(self.columns.lane(name), ())
        )


class _Columns:
    """Where the steps of each side stand, from left to right."""

    def __init__(self, graph: "_Unrolled") -> None:
        self.graph = graph
        parts = graph.parts
        reading = parts.connections.order.reading(graph.positions)
        prefix = graph.first < 0
        self.encoder = {} if prefix else _visible(reading)
        width = max(self.encoder.values(), default=-1.0) + 1
        self.code = width - 1 + 1.0 if "encoder.code" in parts.nodes else width - 1
        begin = 0.0 if not width else self.code + 1 + SIDES * (self.code < width)
        self.decoder: dict[int, float] = {}
        for steps in (range(graph.first, 0), range(graph.target)):  # the source read first
            self.decoder |= {step: begin + x for step, x in _visible([*steps]).items()}
            begin = max([begin - 1, *self.decoder.values()]) + 1
        self.items = self._spread(width)
        self.gaps = {side: _gaps(getattr(self, side)) for side in ("encoder", "decoder", "items")}

    def lane(self, name: str) -> str:
        """Which columns a node's steps stand in."""
        node = self.graph.parts.nodes[name]
        if node.once:
            return "single"
        if name == SOURCE and self.graph.items != self.graph.positions:
            return "items"
        return "encoder" if name.startswith("encoder.") or self.graph.aligned else "decoder"

    def x(self, value: NodeStep) -> float | None:
        """The column of a value; None where it is left out."""
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
        """The items of a source of which a front end made more or fewer positions."""
        shown = _visible(list(range(self.graph.items)))
        room = max(width, 1.0)
        wide = max(shown.values(), default=0.0) + 1
        return {item: (x + 0.5) * room / wide - 0.5 for item, x in shown.items()}


def _visible(steps: list[int]) -> dict[int, float]:
    """The columns of steps; of many, some in the middle are left out."""
    if len(steps) <= FIRST + LAST + 1:
        return {step: float(x) for x, step in enumerate(steps)}
    shown = dict(enumerate(steps[:FIRST])) | dict(enumerate(steps[-LAST:], FIRST + 1))
    return {step: float(x) for x, step in shown.items()}


def _gaps(columns: Mapping[int, float]) -> list[float]:
    """The places between steps that do not follow one another."""
    found = sorted((x, step) for step, x in columns.items())
    return [
        (x + u) / 2
        for (x, step), (u, other) in pairwise(found)
        if abs(step - other) > 1 and len(found) > FIRST
    ]


def _reaching_output(connections: Connections) -> set[str]:
    """The nodes that some output is computed from, and the outputs."""
    found = {node.name for node in connections.nodes if node.kind == "output"}
    while more := {e.tail for e in connections.edges if e.head in found} - found:
        found |= more
    return found


def _with_norm(node: ConnectionNode, label: str) -> str:
    """A residual step with its norm, before it or after the sum."""
    if node.kind != "layer" or node.norm == "none":
        return label
    return f"norm, {label}, add" if node.norm == "first" else f"{label}, add and norm"


def _is_vectors(name: str, graph: _Unrolled) -> bool:
    return name.endswith(".positions") or (
        name == "encoder.input" and graph.items == graph.positions
    )
