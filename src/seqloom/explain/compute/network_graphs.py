"""A network as a graph: rolled, as it is built, and unrolled over an input and its output (S9)."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from seqloom.explain.compute.attention import cross_map
from seqloom.explain.compute.parts import LayerSummary, NetworkSummary, network_summary
from seqloom.explain.compute.plain_values import tick_label
from seqloom.explain.compute.tracing import Trace, position_labels
from seqloom.model import Network

__all__ = ["GraphEdge", "GraphNode", "NetworkGraph", "architecture_graph", "unroll_graph"]

SYMBOLS = 10  # of a side that an unrolled network shows
SIDE_SPACING = 1.2  # between the two sides
LEAST_WEIGHT = 0.05  # attention that is drawn


@dataclass(frozen=True)
class GraphNode:
    """A part of the network, or the part at one step, with its place in a picture."""

    name: str
    label: str
    x: float
    y: float
    kind: str  # symbol, vectors, layer, attention, output


@dataclass(frozen=True)
class GraphEdge:
    """A connection from one node to another."""

    begin: str
    end: str
    kind: str  # up, time, look, code, feedback
    weight: float = 1.0


@dataclass(frozen=True)
class NetworkGraph:
    """Nodes and edges, from the source to the output."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"nodes": [asdict(n) for n in self.nodes], "edges": [asdict(e) for e in self.edges]}


def architecture_graph(network: Network) -> NetworkGraph:
    """Each part once; a loop is what a recurrent layer hands itself from step to step."""
    summary = network_summary(network)
    nodes, edges = [], []
    tops = {}
    for name, side in summary.sides.items():
        x = 0.0 if name == "encoder" else 2.4
        stack = [
            (f"{name} symbols", side.inputs, "symbol"),
            (f"{name} vectors", side.vectors, "vectors"),
        ]
        stack += [(layer.name, layer.label, "layer") for layer in side.layers]
        nodes += [
            GraphNode(part, label, x, 1.0 * y, kind) for y, (part, label, kind) in enumerate(stack)
        ]
        edges += [GraphEdge(a[0], b[0], "up") for a, b in pairwise(stack)]
        edges += [GraphEdge(it.name, it.name, "time") for it in side.layers if any(it.recurrent)]
        tops[name] = (stack[-1][0], float(len(stack)))
    more = _architecture_output(summary, tops)
    return NetworkGraph((*nodes, *more.nodes), (*edges, *more.edges))


def _architecture_output(
    summary: NetworkSummary, tops: dict[str, tuple[str, float]]
) -> NetworkGraph:
    """The output on top of the sides, and what the decoder has of the encoder."""
    height = max(each for _, each in tops.values())
    memory = tops["encoder"][0] if "encoder" in tops else ""
    if "decoder" not in tops:
        head = GraphNode("head", summary.pooling_label, 0.0, height, "layer")
        output = GraphNode("output", summary.output, 0.0, height + 1.2, "output")
        return NetworkGraph(
            (head, output), (GraphEdge(memory, "head", "up"), GraphEdge("head", "output", "up"))
        )
    top = tops["decoder"][0]
    nodes = [GraphNode("output", summary.output, 2.4, height + 0.2, "output")]
    edges = [GraphEdge(top, "output", "up"), GraphEdge("output", "decoder symbols", "feedback")]
    if summary.cross_attention:
        nodes.append(GraphNode("attention", "attention", 1.2, max(2.0, height - 1), "attention"))
        edges += [GraphEdge(memory, "attention", "look"), GraphEdge("attention", top, "look")]
    elif memory:
        edges.append(GraphEdge(memory, summary.sides["decoder"].layers[0].name, "code"))
    return NetworkGraph(tuple(nodes), tuple(edges))


def unroll_graph(network: Network, found: Trace) -> NetworkGraph:
    """Every layer at every step; the lines of attention are as thick as its weights."""
    return _Unrolled(network_summary(network), found).graph()


class _Unrolled:
    """The graph of one trace, side by side."""

    def __init__(self, summary: NetworkSummary, found: Trace) -> None:
        self.summary, self.trace = summary, found
        self.symbols = {name: self._symbols(name) for name in ("encoder", "decoder")}

    def graph(self) -> NetworkGraph:
        """All sides, then what is on top of them."""
        nodes: list[GraphNode] = []
        edges: list[GraphEdge] = []
        begin = 0.0
        for side, symbols in self.symbols.items():
            layers = self._layers(side)
            for t, symbol in enumerate(symbols):
                names = [f"{side} {t}", *(f"{layer.name} {t}" for layer in layers)]
                labels = [tick_label(symbol), *(each.label.partition(" ")[0] for each in layers)]
                for y, (name, label) in enumerate(zip(names, labels, strict=True)):
                    kind = "layer" if y else "symbol"
                    nodes.append(GraphNode(name, label, begin + t, 1.0 * y, kind))
                edges += [GraphEdge(a, b, "up") for a, b in pairwise(names)]
            edges += [
                edge for layer in layers for edge in _position_edges(layer, len(symbols), side)
            ]
            begin += len(symbols) + SIDE_SPACING
        height = max(node.y for node in nodes) + 1
        if self.symbols["decoder"]:
            more = self._decoder_output(begin - SIDE_SPACING - len(self.symbols["decoder"]), height)
        else:
            more = self._head_output(height)
        return NetworkGraph((*nodes, *more.nodes), (*edges, *more.edges))

    def _symbols(self, side: str) -> tuple[str, ...]:
        """What a side read, as far as it is shown; nothing where the side is not there."""
        said, memory = self.trace.output, self.trace.memory
        if side not in self.summary.sides:
            return ()
        if side == "decoder":
            return said.decoder_inputs[:SYMBOLS]
        source = said.source
        if memory.mask is not None:
            source = position_labels(source, int(memory.mask.sum()))
        return source[:SYMBOLS]

    def _layers(self, side: str) -> tuple[LayerSummary, ...]:
        return self.summary.sides[side].layers if side in self.summary.sides else ()

    def _top(self) -> str:
        """The name of the encoder's uppermost nodes."""
        layers = self._layers("encoder")
        return layers[-1].name if layers else "encoder"

    def _decoder_output(self, begin: float, height: float) -> NetworkGraph:
        """What the decoder writes at each step, which it reads at the next."""
        nodes, edges = [], []
        for t, symbol in enumerate(self.trace.output.decoder_outputs[:SYMBOLS]):
            last = f"{self._layers('decoder')[-1].name} {t}"
            nodes.append(GraphNode(f"output {t}", tick_label(symbol), begin + t, height, "output"))
            edges.append(GraphEdge(last, f"output {t}", "up"))
            if t + 1 < len(self.symbols["decoder"]):
                edges.append(GraphEdge(f"output {t}", f"decoder {t + 1}", "feedback"))
        return NetworkGraph(tuple(nodes), (*edges, *self._memory_edges()))

    def _memory_edges(self) -> Iterator[GraphEdge]:
        """What the decoder has of the encoder: attention by weight, or else its last state."""
        attention, layers = cross_map(self.trace), self._layers("decoder")
        count, top = len(self.symbols["encoder"]), self._top()
        if attention is None:
            if count:
                yield GraphEdge(f"{top} {count - 1}", f"{layers[0].name} 0", "code")
            return
        for t in range(len(self.symbols["decoder"])):
            for s in range(count):
                weight = float(attention.weights[t, s])
                if weight >= LEAST_WEIGHT:
                    yield GraphEdge(f"{top} {s}", f"{layers[-1].name} {t}", "look", weight)

    def _head_output(self, height: float) -> NetworkGraph:
        """What a head makes of the encoder's states: an output for each, or one for all."""
        count, top = len(self.symbols["encoder"]), self._top()
        if self.summary.pooling in ("each", "around"):
            return self._position_outputs(count, height)
        words = ", ".join(map(tick_label, self.trace.output.target[:3]))
        places = [count - 1] if self.summary.pooling == "last" else list(range(count))
        middle = sum(places) / len(places)
        nodes = (
            GraphNode("head", self.summary.pooling_label, middle, height, "layer"),
            GraphNode("output", words, middle, height + 1, "output"),
        )
        edges = [GraphEdge(f"{top} {t}", "head", "up") for t in places]
        return NetworkGraph(nodes, (*edges, GraphEdge("head", "output", "up")))

    def _position_outputs(self, count: int, height: float) -> NetworkGraph:
        """An output for each position, from its own state or from those beside it."""
        said, top = self.trace.output, self._top()
        shown = [each for each in zip(said.positions, said.target, strict=True) if each[0] < count]
        nodes = [GraphNode(f"output {t}", tick_label(s), t, height, "output") for t, s in shown]
        edges = [
            GraphEdge(f"{top} {s}", f"output {t}", "up")
            for t, _ in shown
            for s in ((t - 1, t + 1) if self.summary.pooling == "around" else (t,))
            if 0 <= s < count
        ]
        return NetworkGraph(tuple(nodes), tuple(edges))


def _position_edges(layer: LayerSummary, count: int, side: str) -> Iterator[GraphEdge]:
    """The connections between the steps of one layer."""
    for t in range(count - 1):
        if layer.recurrent[0]:
            yield GraphEdge(f"{layer.name} {t}", f"{layer.name} {t + 1}", "time")
        if layer.recurrent[1]:
            yield GraphEdge(f"{layer.name} {t + 1}", f"{layer.name} {t}", "time")
    if layer.mixes_positions:
        below = f"{side} blocks.{layer.number - 1}" if layer.number else side
        for t in range(count):
            for s in range(t if side == "decoder" else count):
                if s != t:
                    yield GraphEdge(f"{below} {s}", f"{layer.name} {t}", "meet")
