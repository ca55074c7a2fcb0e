"""The net as a graph: rolled, as it is built, and unrolled over an input and its output (S9)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seqloom.explain.attention_heads import cross_map
from seqloom.explain.attention_map import tick
from seqloom.explain.explained_output import Filled, Foretold
from seqloom.explain.instrumented_copy import layer_of, side_of
from seqloom.explain.graph import Edge, Net, Node
from seqloom.explain.tracing import Pass, positions
from seqloom.model import HeadedModel, Network, SequenceModel
from seqloom.model.encoders import NoEncoder
from seqloom.model.front_ends import FrontedEncoder
from seqloom.model.heads import (
    CodePool,
    GapsHead,
    LabelHead,
    MaximumPool,
    MeanPool,
    NumberHead,
    TagsHead,
)
from seqloom.nn.attention import Attention
from seqloom.nn.embedding import Embedding, Given, OneHot
from seqloom.nn.recurrent import AroundStack, Layer
from seqloom.nn.token_mixing import Recurrence
from seqloom.nn.transformer import Block
from seqloom.nn.units import Unit

__all__ = ["rolled", "unrolled"]

SYMBOLS = 10  # of a side that an unrolled net shows
GAP = 1.2  # between the two sides
LEAST = 0.05  # attention that is drawn


@dataclass(frozen=True)
class _Layer:
    """One layer of a side: what it is called, and how its positions meet."""

    number: int  # from 0
    name: str
    label: str
    recurrent: tuple[bool, bool]  # forward, backward
    meets: bool  # every position looks at others


def rolled(network: Network) -> Net:
    """Each part once; a loop is what a recurrent layer hands itself from step to step."""
    nodes, edges = [], []
    tops = {}
    for side, x in (("encoder", 0.0), ("decoder", 2.4)):
        layers = list(_layers(network, side))
        if not _is_there(network, side, layers):
            continue
        stack = [
            (f"{side} symbols", _read(network, side), "symbol"),
            (f"{side} vectors", _vectors(network, side), "vectors"),
        ]
        stack += [(layer.name, layer.label, "layer") for layer in layers]
        nodes += [
            Node(name, label, x, 1.0 * y, kind) for y, (name, label, kind) in enumerate(stack)
        ]
        edges += [Edge(a[0], b[0], "up") for a, b in pairwise(stack)]
        edges += [Edge(each.name, each.name, "time") for each in layers if any(each.recurrent)]
        tops[side] = (stack[-1][0], float(len(stack)))
    height = max(each for _, each in tops.values())
    handed = tops["encoder"][0] if "encoder" in tops else ""
    if "decoder" not in tops:
        nodes += [
            Node("head", _pooled(network), 0.0, height, "layer"),
            Node("output", _said(network), 0.0, height + 1.2, "output"),
        ]
        edges += [Edge(handed, "head", "up"), Edge("head", "output", "up")]
        return Net(tuple(nodes), tuple(edges))
    top = tops["decoder"][0]
    nodes.append(Node("output", _said(network), 2.4, height + 0.2, "output"))
    edges += [Edge(top, "output", "up"), Edge("output", "decoder symbols", "feedback")]
    if _looks(network):
        nodes.append(Node("attention", "attention", 1.2, max(2.0, height - 1), "attention"))
        edges += [Edge(handed, "attention", "look"), Edge("attention", top, "look")]
    elif handed:
        edges.append(Edge(handed, next(_layers(network, "decoder")).name, "code"))
    return Net(tuple(nodes), tuple(edges))


def unrolled(network: Network, found: Pass) -> Net:
    """Every layer at every step; the lines of attention are as thick as its weights."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    sides = _sides(network, found)
    begin = 0.0
    for side, symbols in sides.items():
        layers = list(_layers(network, side))
        for t, symbol in enumerate(symbols):
            names = [f"{side} {t}", *(f"{layer.name} {t}" for layer in layers)]
            labels = [tick(symbol), *(layer.label.partition(" ")[0] for layer in layers)]
            for y, (name, label) in enumerate(zip(names, labels, strict=True)):
                nodes.append(Node(name, label, begin + t, 1.0 * y, "layer" if y else "symbol"))
            edges += [Edge(a, b, "up") for a, b in pairwise(names)]
        edges += [edge for layer in layers for edge in _meetings(layer, len(symbols), side)]
        begin += len(symbols) + GAP
    height = max(node.y for node in nodes) + 1
    top = {side: [*_layers(network, side)] for side in sides}
    if not sides["decoder"]:
        more = _judged(network, found, (top["encoder"], len(sides["encoder"]), height))
        return Net((*nodes, *more.nodes), (*edges, *more.edges))
    for t, symbol in enumerate(_outputs(found)[:SYMBOLS]):
        x = begin - GAP - len(sides["decoder"]) + t
        last = f"{top['decoder'][-1].name} {t}"
        nodes.append(Node(f"output {t}", tick(symbol), x, height, "output"))
        edges.append(Edge(last, f"output {t}", "up"))
        if t + 1 < len(sides["decoder"]):
            edges.append(Edge(f"output {t}", f"decoder {t + 1}", "feedback"))
    return Net(tuple(nodes), (*edges, *_given(found, top, sides)))


def _sides(network: Network, found: Pass) -> dict[str, tuple[str, ...]]:
    """The symbols that are shown of what each side read; none where a side is not there."""
    said, memory = found.said, found.memory
    source = said.source
    if memory.mask is not None:
        source = positions(source, int(memory.mask.sum()))
    inputs = said.inputs
    if isinstance(said, Foretold) and _is_there(network, "decoder", [*_layers(network, "decoder")]):
        inputs = ("last", *_outputs(found)[:-1])
    alone = isinstance(network.encoder, NoEncoder)
    return {"encoder": () if alone else source[:SYMBOLS], "decoder": inputs[:SYMBOLS]}


def _outputs(found: Pass) -> tuple[str, ...]:
    """What is written step by step: tokens, or the steps of a forecast."""
    said = found.said
    if isinstance(said, Foretold) and said.ahead is not None:
        return tuple(f"+{number}" for number in range(1, len(said.ahead) + 1))
    return said.target


def _judged(network: Network, found: Pass, below: tuple[list[_Layer], int, float]) -> Net:
    """What a head makes of the encoder's states: something of each, or one thing of all."""
    layers, count, height = below
    top = layers[-1].name if layers else "encoder"
    head = network.head if isinstance(network, HeadedModel) else None
    if isinstance(head, TagsHead | GapsHead):
        nodes = [
            Node(f"output {t}", tick(s), t, height, "output") for t, s in _placed(found, count)
        ]
        around = isinstance(head, GapsHead) and head.around
        edges = [
            Edge(f"{top} {s}", f"output {t}", "up")
            for t, _ in _placed(found, count)
            for s in ((t - 1, t + 1) if around else (t,))
            if 0 <= s < count
        ]
        return Net(tuple(nodes), tuple(edges))
    words = ", ".join(map(tick, found.said.target[:3]))
    last = isinstance(getattr(head, "pool", None), CodePool)
    places = [count - 1] if last else list(range(count))
    nodes = [
        Node("head", _pooled(network), sum(places) / len(places), height, "layer"),
        Node("output", words, sum(places) / len(places), height + 1, "output"),
    ]
    edges = [Edge(f"{top} {t}", "head", "up") for t in places]
    return Net(tuple(nodes), (*edges, Edge("head", "output", "up")))


def _placed(found: Pass, count: int) -> list[tuple[int, str]]:
    """What is said of each of the first positions, or of those that are gaps."""
    said = found.said
    places = said.gaps.tolist() if isinstance(said, Filled) else range(len(said.target))
    return [pair for pair in zip(places, said.target, strict=True) if pair[0] < count]


def _is_there(network: Network, side: str, layers: Sequence[_Layer]) -> bool:
    """Whether a side takes part: a head has a decoder in it only where it goes step by step."""
    if side == "encoder":
        return not isinstance(network.encoder, NoEncoder)
    return isinstance(network, SequenceModel) or bool(layers)


def _read(network: Network, side: str) -> str:
    if side == "encoder":
        return "source"
    return "output so far" if isinstance(network, SequenceModel) else "forecast so far"


def _vectors(network: Network, side: str) -> str:
    """What is made of each item first."""
    own = [part for name, part in network.named_modules() if side_of(name) == side]
    if side == "encoder" and isinstance(network.encoder, FrontedEncoder):
        return "convolutions"
    tokens = any(isinstance(part, Embedding | OneHot) for part in own)
    if tokens or (isinstance(network, SequenceModel) and side == "decoder"):
        return "token vectors"
    return "numbers" if any(isinstance(part, Given) for part in own) else "vectors of numbers"


def _pooled(network: Network) -> str:
    """What a head sees of the encoder's states."""
    pool = getattr(network.head, "pool", None) if isinstance(network, HeadedModel) else None
    match pool:
        case CodePool():
            return "last state"
        case MeanPool():
            return "mean of states"
        case MaximumPool():
            return "largest of states"
        case _:
            return "all states"


def _said(network: Network) -> str:
    match network:
        case HeadedModel(head=TagsHead()):
            return "a tag for each"
        case HeadedModel(head=GapsHead()):
            return "a token for each gap"
        case HeadedModel(head=LabelHead()):
            return "label"
        case HeadedModel(head=NumberHead()):
            return "number"
        case HeadedModel():
            return "forecast"
        case _:
            return "probabilities"


def _given(
    found: Pass, top: dict[str, list[_Layer]], sides: dict[str, tuple[str, ...]]
) -> Iterator[Edge]:
    """What the decoder has of the encoder: attention by weight, or else its last state."""
    attention = cross_map(found)
    names = [layer.name for layer in top["encoder"]]
    count = len(sides["encoder"])
    handed = names[-1] if names else "encoder"
    if attention is None:
        if count:
            yield Edge(f"{handed} {count - 1}", f"{top['decoder'][0].name} 0", "code")
        return
    for t in range(len(sides["decoder"])):
        for s in range(count):
            weight = float(attention.weights[t, s])
            if weight >= LEAST:
                yield Edge(f"{handed} {s}", f"{top['decoder'][-1].name} {t}", "look", weight)


def _meetings(layer: _Layer, count: int, side: str) -> Iterator[Edge]:
    """How the steps of one layer know of each other."""
    for t in range(count - 1):
        if layer.recurrent[0]:
            yield Edge(f"{layer.name} {t}", f"{layer.name} {t + 1}", "time")
        if layer.recurrent[1]:
            yield Edge(f"{layer.name} {t + 1}", f"{layer.name} {t}", "time")
    if layer.meets:
        below = f"{side} blocks.{layer.number - 1}" if layer.number else side
        for t in range(count):
            for s in range(t if side == "decoder" else count):
                if s != t:
                    yield Edge(f"{below} {s}", f"{layer.name} {t}", "meet")


def _layers(network: Network, side: str) -> Iterator[_Layer]:
    """The layers of a side, the lowest first."""
    around = [stack for stack in network.modules() if isinstance(stack, AroundStack)]
    others = {id(layer) for stack in around for layer in stack.after.layers}
    for name, module in network.named_modules():
        if side_of(name) != side:
            continue
        number = layer_of(name) - 1
        match module:
            case Layer() if id(module) not in others:
                yield _recurrent(module, side, number, around=bool(around))
            case Block():
                unit = isinstance(module.attention, Recurrence)
                place = f"{side} blocks.{number}"
                yield _Layer(
                    number, place, f"block of {module.width}", (unit, False), meets=not unit
                )


def _recurrent(layer: Layer, side: str, number: int, *, around: bool) -> _Layer:
    """A layer of units; one that reads around has a second that reads the other way."""
    units = [unit for unit in layer.units if isinstance(unit, Unit)]
    both = len(units) == 2
    ways = ", around" if around else ", both ways" if both else ""
    return _Layer(
        number,
        f"{side} layers.{number}",
        f"{type(units[0]).__name__.upper()} of {units[0].width}{ways}",
        (around or both or not layer.backward_first, around or both or layer.backward_first),
        meets=False,
    )


def _looks(network: Network) -> bool:
    """Whether the decoder looks at the source."""
    return any(
        isinstance(module, Attention) or (isinstance(module, Block) and module.cross is not None)
        for module in network.modules()
    )
