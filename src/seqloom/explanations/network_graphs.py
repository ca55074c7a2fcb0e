"""Networks as graphs: their nodes and edges, and their rolled (architecture) form (S9).

The network's parts declare their nodes and edges (`connections()`). Two kinds are left out: nodes
that no output depends on, and values that are functions of a single other value of their step,
which are merged with it.
"""

from dataclasses import dataclass
from typing import Any

from seqloom.display import Displayed
from seqloom.model import Connections, Network
from seqloom.model.connections import (
    Connection,
    ConnectionNode,
    NodeStep,
    unroll_connections,
)

__all__ = [
    "GraphEdge",
    "GraphNode",
    "GraphParts",
    "GraphReading",
    "GraphRow",
    "NetworkGraph",
    "architecture_graph",
    "decoder_reads",
    "label_with_norm",
]
ASKING = 0.7  # additional rows below a node that attends to the source
CLOSE, ASIDE = 1.2, 0.75  # columns between the sides without attention, and beside positions
MERGED = ("input", "states", "readout")  # kinds of nodes that may be merged with their input
ORDER = ("source", "input", "attention", "layer", "states", "code", "readout", "output")
LATER = ("previous", "next", "recent", "prefix")  # edges between steps, not between rows
PHRASES = {
    "same": "", "previous": " at t−1", "next": " at t+1", "until": " up to t", "all": " at all t",
    "window": " near t", "window-until": " near t, up to t", "head-first": " at t=0",
    "tail-first": ", the first", "tail-last": ", the last", "prefix": ", before the first step",
    "recent": ", the last few", "field": "",
}  # fmt: skip


@dataclass(frozen=True)
class GraphNode:
    """A value of the network, or its value at one step, with its position in a picture."""

    name: str
    label: str
    kind: str  # source, input, layer, attention, states, code, readout, output
    x: float  # in columns
    y: float  # in rows
    stands_for: tuple[NodeStep, ...]  # the model's values and their steps
    once: bool = False  # one value for the whole source
    off: str = ""  # what is switched off in it

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
    kind: str  # kind of the connection
    weight: float | None = None  # of attention
    counts: bool = True  # False if `end` no longer depends on `begin`, as parts are off


@dataclass(frozen=True)
class GraphRow:
    """The label of a row of boxes, on the left of all or on the right."""

    label: str
    y: float
    left: bool


@dataclass(frozen=True)
class GraphReading:
    """The inputs of a value, in words."""

    head: str
    tails: tuple[str, ...]


@dataclass(frozen=True)
class NetworkGraph(Displayed):
    """The nodes and edges of a network, from the source to the output."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    readings: tuple[GraphReading, ...]
    rows: tuple[GraphRow, ...] = ()
    gaps: tuple[
        tuple[float, float], ...
    ] = ()  # where steps are omitted, and the height of each gap

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
    """Each value once; loops stand for recurrence."""
    parts = GraphParts(network.connections())
    between = any(parts.nodes[name].kind in ("code", "attention") for name in parts.heights)
    beside = 2.0 if between else CLOSE
    columns = {"encoder": 0.0, "decoder": beside if parts.encoder else 0.0}
    nodes = []
    for name, y in parts.heights.items():
        node = parts.nodes[name]
        x = columns["encoder" if name in parts.encoder else "decoder"]
        if node.kind in ("code", "attention"):
            x = 1.0 if parts.encoder else -1.0
        elif name.endswith(".positions"):
            x += -ASIDE if name in parts.encoder else ASIDE
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


READINGS = {
    "soft feedback": "the distribution before",
    "code": "z*",
    "input feeding": "the features before",
}  # inputs of a step besides a symbol


def decoder_reads(network: Network, steps: int) -> list[tuple[bool, tuple[str, ...]]]:
    """For each step of a decoder, whether it reads the previous symbol, and its other inputs."""
    parts = GraphParts(network.connections())
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


class GraphParts:
    """The nodes to draw, from bottom to top, and the values merged into each."""

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
        """The node into which a value is merged."""
        while name in self.merged:
            name = self.merged[name]
        return name

    def full_label(self, name: str) -> str:
        """The label of a node with the values merged into it."""
        label = self.nodes[name].label or name
        below = [self.nodes[n].label for n, to in self.merged.items() if to == name]
        vectors = [each for each in below if self.nodes[name].kind == "source" and each]
        return " · ".join([label_with_norm(self.nodes[name], label), *vectors[:1]])

    def readings(self) -> tuple[GraphReading, ...]:
        """The inputs of each node, the output first."""
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
        """A node's label with its side and number."""
        side, *rest = name.split(".")
        label = self.nodes[name].label or name
        if label in ("source", "code z*"):
            return label
        numbers = [int(each) + 1 for each in rest if each.isdigit()]
        several = any(n != name and n.startswith(f"{side}.{rest[0]}.") for n in self.nodes)
        return " ".join([side, *(map(str, numbers) if several else ()), label])

    def _only_input(self, node: ConnectionNode) -> Connection | None:
        """The single edge of which a node is a plain function, if there is one."""
        edges = [edge for edge in self.edges if edge.head == node.name]
        if node.kind not in MERGED or node.norm != "none" or len(edges) != 1:
            return None
        (edge,) = edges
        return edge if (edge.kind, edge.steps) == ("up", "same") else None

    def _heights(self, rows: list[str]) -> dict[str, float]:
        """The row of each node, with the encoder beside the decoder."""
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
            beside = self._prefix_merges()  # the source occupies the row of the decoder's inputs
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
        """Whether the source shares a row with the inputs of a decoder that reads it first."""
        into = [edge for edge in self.edges if edge.head == "decoder.input"]
        return {edge.kind for edge in into} <= {"prefix", "feedback", "soft feedback"}

    def _sort(self, names: list[str]) -> list[str]:
        """Sort nodes topologically, from bottom to top within a step."""
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


def _reaching_output(connections: Connections) -> set[str]:
    """The outputs and all nodes that they depend on."""
    found = {node.name for node in connections.nodes if node.kind == "output"}
    while more := {e.tail for e in connections.edges if e.head in found} - found:
        found |= more
    return found


def label_with_norm(node: ConnectionNode, label: str) -> str:
    """The label of a residual step with its norm, before it or after the sum."""
    if node.kind != "layer" or node.norm == "none":
        return label
    return f"norm, {label}, add" if node.norm == "first" else f"{label}, add and norm"
