"""The net as a graph: rolled, as it is built, and unrolled over an input and its output (S9)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seqloom.explain.attention_heads import cross_map
from seqloom.explain.attention_map import tick_label
from seqloom.explain.explained_output import ExplainedBlanks, ExplainedForecast
from seqloom.explain.graph import GraphEdge, GraphNode, NetworkGraph
from seqloom.explain.instrumented_copy import layer_of, side_of
from seqloom.explain.tracing import Trace, position_labels
from seqloom.model import HeadModel, Network, SequenceModel
from seqloom.model.encoders import NoEncoder
from seqloom.model.front_ends import FrontEndEncoder
from seqloom.model.heads import (
    BlanksHead,
    CodePool,
    LabelHead,
    MaximumPool,
    MeanPool,
    NumberHead,
    TagsHead,
)
from seqloom.nn.attention import Attention
from seqloom.nn.embedding import Embedding, IdentityVectors, OneHot
from seqloom.nn.recurrent import AroundStack, RecurrentLayer
from seqloom.nn.token_mixing import Recurrence
from seqloom.nn.transformer import Block
from seqloom.nn.units import Unit

__all__ = ["architecture_graph", "unroll_graph"]

SYMBOLS = 10  # of a side that an unrolled net shows
SIDE_SPACING = 1.2  # between the two sides
LEAST_WEIGHT = 0.05  # attention that is drawn


@dataclass(frozen=True)
class _LayerSummary:
    """One layer of a side: what it is called, and how its positions meet."""

    number: int  # from 0
    name: str
    label: str
    recurrent: tuple[bool, bool]  # forward, backward
    mixes_positions: bool  # every position looks at others


def architecture_graph(network: Network) -> NetworkGraph:
    """Each part once; a loop is what a recurrent layer hands itself from step to step."""
    nodes, edges = [], []
    tops = {}
    for side, x in (("encoder", 0.0), ("decoder", 2.4)):
        layers = list(_layers(network, side))
        if not _has_side(network, side, layers):
            continue
        stack = [
            (f"{side} symbols", _input_label(network, side), "symbol"),
            (f"{side} vectors", _vectors_label(network, side), "vectors"),
        ]
        stack += [(layer.name, layer.label, "layer") for layer in layers]
        nodes += [
            GraphNode(name, label, x, 1.0 * y, kind) for y, (name, label, kind) in enumerate(stack)
        ]
        edges += [GraphEdge(a[0], b[0], "up") for a, b in pairwise(stack)]
        edges += [GraphEdge(each.name, each.name, "time") for each in layers if any(each.recurrent)]
        tops[side] = (stack[-1][0], float(len(stack)))
    height = max(each for _, each in tops.values())
    handed = tops["encoder"][0] if "encoder" in tops else ""
    if "decoder" not in tops:
        nodes += [
            GraphNode("head", _pooling_label(network), 0.0, height, "layer"),
            GraphNode("output", _output_label(network), 0.0, height + 1.2, "output"),
        ]
        edges += [GraphEdge(handed, "head", "up"), GraphEdge("head", "output", "up")]
        return NetworkGraph(tuple(nodes), tuple(edges))
    top = tops["decoder"][0]
    nodes.append(GraphNode("output", _output_label(network), 2.4, height + 0.2, "output"))
    edges += [GraphEdge(top, "output", "up"), GraphEdge("output", "decoder symbols", "feedback")]
    if _has_cross_attention(network):
        nodes.append(GraphNode("attention", "attention", 1.2, max(2.0, height - 1), "attention"))
        edges += [GraphEdge(handed, "attention", "look"), GraphEdge("attention", top, "look")]
    elif handed:
        edges.append(GraphEdge(handed, next(_layers(network, "decoder")).name, "code"))
    return NetworkGraph(tuple(nodes), tuple(edges))


def unroll_graph(network: Network, found: Trace) -> NetworkGraph:
    """Every layer at every step; the lines of attention are as thick as its weights."""
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    sides = _sides(network, found)
    begin = 0.0
    for side, symbols in sides.items():
        layers = list(_layers(network, side))
        for t, symbol in enumerate(symbols):
            names = [f"{side} {t}", *(f"{layer.name} {t}" for layer in layers)]
            labels = [tick_label(symbol), *(layer.label.partition(" ")[0] for layer in layers)]
            for y, (name, label) in enumerate(zip(names, labels, strict=True)):
                nodes.append(GraphNode(name, label, begin + t, 1.0 * y, "layer" if y else "symbol"))
            edges += [GraphEdge(a, b, "up") for a, b in pairwise(names)]
        edges += [edge for layer in layers for edge in _position_edges(layer, len(symbols), side)]
        begin += len(symbols) + SIDE_SPACING
    height = max(node.y for node in nodes) + 1
    top = {side: [*_layers(network, side)] for side in sides}
    if not sides["decoder"]:
        more = _head_graph(network, found, (top["encoder"], len(sides["encoder"]), height))
        return NetworkGraph((*nodes, *more.nodes), (*edges, *more.edges))
    for t, symbol in enumerate(_outputs(found)[:SYMBOLS]):
        x = begin - SIDE_SPACING - len(sides["decoder"]) + t
        last = f"{top['decoder'][-1].name} {t}"
        nodes.append(GraphNode(f"output {t}", tick_label(symbol), x, height, "output"))
        edges.append(GraphEdge(last, f"output {t}", "up"))
        if t + 1 < len(sides["decoder"]):
            edges.append(GraphEdge(f"output {t}", f"decoder {t + 1}", "feedback"))
    return NetworkGraph(tuple(nodes), (*edges, *_memory_edges(found, top, sides)))


def _sides(network: Network, found: Trace) -> dict[str, tuple[str, ...]]:
    """The symbols that are shown of what each side read; none where a side is not there."""
    said, memory = found.output, found.memory
    source = said.source
    if memory.mask is not None:
        source = position_labels(source, int(memory.mask.sum()))
    inputs = said.inputs
    if isinstance(said, ExplainedForecast) and _has_side(
        network, "decoder", [*_layers(network, "decoder")]
    ):
        inputs = ("last", *_outputs(found)[:-1])
    alone = isinstance(network.encoder, NoEncoder)
    return {"encoder": () if alone else source[:SYMBOLS], "decoder": inputs[:SYMBOLS]}


def _outputs(found: Trace) -> tuple[str, ...]:
    """What is written step by step: tokens, or the steps of a forecast."""
    said = found.output
    if isinstance(said, ExplainedForecast) and said.forecast is not None:
        return tuple(f"+{number}" for number in range(1, len(said.forecast) + 1))
    return said.target


def _head_graph(
    network: Network, found: Trace, below: tuple[list[_LayerSummary], int, float]
) -> NetworkGraph:
    """What a head makes of the encoder's states: something of each, or one thing of all."""
    layers, count, height = below
    top = layers[-1].name if layers else "encoder"
    head = network.head if isinstance(network, HeadModel) else None
    if isinstance(head, TagsHead | BlanksHead):
        nodes = [
            GraphNode(f"output {t}", tick_label(s), t, height, "output")
            for t, s in _output_positions(found, count)
        ]
        around = isinstance(head, BlanksHead) and head.around
        edges = [
            GraphEdge(f"{top} {s}", f"output {t}", "up")
            for t, _ in _output_positions(found, count)
            for s in ((t - 1, t + 1) if around else (t,))
            if 0 <= s < count
        ]
        return NetworkGraph(tuple(nodes), tuple(edges))
    words = ", ".join(map(tick_label, found.output.target[:3]))
    last = isinstance(getattr(head, "pool", None), CodePool)
    places = [count - 1] if last else list(range(count))
    nodes = [
        GraphNode("head", _pooling_label(network), sum(places) / len(places), height, "layer"),
        GraphNode("output", words, sum(places) / len(places), height + 1, "output"),
    ]
    edges = [GraphEdge(f"{top} {t}", "head", "up") for t in places]
    return NetworkGraph(tuple(nodes), (*edges, GraphEdge("head", "output", "up")))


def _output_positions(found: Trace, count: int) -> list[tuple[int, str]]:
    """What is said of each of the first positions, or of those that are gaps."""
    said = found.output
    places = (
        said.blank_positions.tolist()
        if isinstance(said, ExplainedBlanks)
        else range(len(said.target))
    )
    return [pair for pair in zip(places, said.target, strict=True) if pair[0] < count]


def _has_side(network: Network, side: str, layers: Sequence[_LayerSummary]) -> bool:
    """Whether a side takes part: a head has a decoder in it only where it goes step by step."""
    if side == "encoder":
        return not isinstance(network.encoder, NoEncoder)
    return isinstance(network, SequenceModel) or bool(layers)


def _input_label(network: Network, side: str) -> str:
    if side == "encoder":
        return "source"
    return "output so far" if isinstance(network, SequenceModel) else "forecast so far"


def _vectors_label(network: Network, side: str) -> str:
    """What is made of each item first."""
    own = [part for name, part in network.named_modules() if side_of(name) == side]
    if side == "encoder" and isinstance(network.encoder, FrontEndEncoder):
        return "convolutions"
    tokens = any(isinstance(part, Embedding | OneHot) for part in own)
    if tokens or (isinstance(network, SequenceModel) and side == "decoder"):
        return "token vectors"
    return (
        "numbers"
        if any(isinstance(part, IdentityVectors) for part in own)
        else "vectors of numbers"
    )


def _pooling_label(network: Network) -> str:
    """What a head sees of the encoder's states."""
    pool = getattr(network.head, "pool", None) if isinstance(network, HeadModel) else None
    match pool:
        case CodePool():
            return "last state"
        case MeanPool():
            return "mean of states"
        case MaximumPool():
            return "largest of states"
        case _:
            return "all states"


def _output_label(network: Network) -> str:
    match network:
        case HeadModel(head=TagsHead()):
            return "a tag for each"
        case HeadModel(head=BlanksHead()):
            return "a token for each gap"
        case HeadModel(head=LabelHead()):
            return "label"
        case HeadModel(head=NumberHead()):
            return "number"
        case HeadModel():
            return "forecast"
        case _:
            return "probabilities"


def _memory_edges(
    found: Trace, top: dict[str, list[_LayerSummary]], sides: dict[str, tuple[str, ...]]
) -> Iterator[GraphEdge]:
    """What the decoder has of the encoder: attention by weight, or else its last state."""
    attention = cross_map(found)
    names = [layer.name for layer in top["encoder"]]
    count = len(sides["encoder"])
    handed = names[-1] if names else "encoder"
    if attention is None:
        if count:
            yield GraphEdge(f"{handed} {count - 1}", f"{top['decoder'][0].name} 0", "code")
        return
    for t in range(len(sides["decoder"])):
        for s in range(count):
            weight = float(attention.weights[t, s])
            if weight >= LEAST_WEIGHT:
                yield GraphEdge(f"{handed} {s}", f"{top['decoder'][-1].name} {t}", "look", weight)


def _position_edges(layer: _LayerSummary, count: int, side: str) -> Iterator[GraphEdge]:
    """How the steps of one layer know of each other."""
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


def _layers(network: Network, side: str) -> Iterator[_LayerSummary]:
    """The layers of a side, the lowest first."""
    around = [stack for stack in network.modules() if isinstance(stack, AroundStack)]
    others = {id(layer) for stack in around for layer in stack.after.layers}
    for name, module in network.named_modules():
        if side_of(name) != side:
            continue
        number = layer_of(name) - 1
        match module:
            case RecurrentLayer() if id(module) not in others:
                yield _recurrent_layer(module, side, number, around=bool(around))
            case Block():
                unit = isinstance(module.attention, Recurrence)
                place = f"{side} blocks.{number}"
                yield _LayerSummary(
                    number,
                    place,
                    f"block of {module.width}",
                    (unit, False),
                    mixes_positions=not unit,
                )


def _recurrent_layer(
    layer: RecurrentLayer, side: str, number: int, *, around: bool
) -> _LayerSummary:
    """A layer of units; one that reads around has a second that reads the other way."""
    units = [unit for unit in layer.units if isinstance(unit, Unit)]
    both = len(units) == 2
    ways = ", around" if around else ", both ways" if both else ""
    return _LayerSummary(
        number,
        f"{side} layers.{number}",
        f"{type(units[0]).__name__.upper()} of {units[0].width}{ways}",
        (around or both or not layer.backward_first, around or both or layer.backward_first),
        mixes_positions=False,
    )


def _has_cross_attention(network: Network) -> bool:
    """Whether the decoder looks at the source."""
    return any(
        isinstance(module, Attention) or (isinstance(module, Block) and module.cross is not None)
        for module in network.modules()
    )
