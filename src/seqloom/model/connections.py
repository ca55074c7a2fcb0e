"""The computation graph of a network over time: which value of which step each value depends on.

Encoders, decoders and heads declare their edges once for all steps (`connections()`); `unroll`
expands them over a source and a target. Nodes are named `encoder.input`, `encoder.layers.0`,
`encoder.states`, `encoder.code`, `decoder.blocks.1.self-attention`, `decoder.output` and so on.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

__all__ = [
    "CODE",
    "SOURCE",
    "STATES",
    "Connection",
    "ConnectionKind",
    "ConnectionNode",
    "Connections",
    "NodeStep",
    "ReadingOrder",
    "Steps",
    "unroll",
    "unroll_connections",
]

SOURCE, STATES, CODE = "encoder.source", "encoder.states", "encoder.code"

ConnectionKind = Literal[
    "up",  # from the layer below
    "time",  # the state of a recurrent layer
    "feedback",  # the previous output, as a token
    "soft feedback",  # the previous output, as the mean vector under its distribution
    "input feeding",  # the previous step's features
    "initial",  # the code as the first state
    "code",  # the code as an input
    "prefix",  # the source's vectors, read before the first output
    "query",  # the query of attention
    "attention",  # keys and values of attention
    "context",  # the context vector
    "self-attention",
    "positions",
    "convolution",
    "pooling",
    "level",  # the last value of a series, subtracted from all and added to the forecast
    "values",  # values of a series as they are
]
Steps = Literal[
    "same",  # t
    "previous",  # t-1
    "next",  # t+1
    "until",  # up to t
    "all",
    "window",  # within a window around t
    "window-until",  # the same, up to t
    "head-first",  # all, at the head's first step alone
    "tail-first",  # the tail's first step
    "tail-last",  # the tail's last step
    "prefix",  # each position of the source at a step of its own before the first
    "recent",  # the last `window` steps before t
    "field",  # the steps that the connection's own function returns
]
"""The steps of the tail that step t of the head reads."""
NodeStep = tuple[str, int]
"""A node and its step; a decoder that reads the source itself does so at steps -S to -1."""


@dataclass(frozen=True)
class ConnectionNode:
    """A value that a network computes at every step of its source or target, or once."""

    name: str
    kind: Literal["source", "input", "layer", "attention", "states", "code", "readout", "output"]
    norm: Literal["none", "first", "after"] = "none"  # where its layer norm is
    once: bool = False  # one value for the whole source
    label: str = ""  # a short description

    @property
    def sequence(self) -> Literal["source", "target", "single"]:
        """The sequence over whose steps the value exists."""
        if self.once:
            return "single"
        return "source" if self.name.startswith("encoder.") else "target"


@dataclass(frozen=True)
class Connection:
    """An edge: `head` is computed from `tail`, at the steps given by `steps`."""

    tail: str
    head: str
    kind: ConnectionKind = "up"
    steps: Steps = "same"
    window: int = 0  # positions on each side of the centre, or before t
    field: Callable[[int, int], Sequence[int]] | None = None
    """The items that a position reads, given their number, if `steps` is "field"."""


class ReadingOrder(NamedTuple):
    """The order in which an encoder reads its source, and the order of its states."""

    backwards: bool = False
    closing: int = 0  # items at the end that keep their place
    turned: bool = False  # states keep the order of reading

    def reading(self, length: int) -> list[int]:
        """The positions of a source of this length, in reading order."""
        if not self.backwards:
            return list(range(length))
        items = length - self.closing
        return [*reversed(range(items)), *range(items, length)]

    def states(self, length: int) -> list[int]:
        """The positions of a source of this length, in the order of the states."""
        return self.reading(length) if self.turned else list(range(length))


FORWARD = ReadingOrder()


@dataclass(frozen=True)
class Connections:
    """The nodes and edges of a part."""

    nodes: tuple[ConnectionNode, ...] = ()
    edges: tuple[Connection, ...] = ()
    order: ReadingOrder = FORWARD

    def merge(self, other: "Connections") -> "Connections":
        """The nodes and edges of both, with the reading order of this one."""
        return replace(self, nodes=self.nodes + other.nodes, edges=self.edges + other.edges)

    def into(self, head: str) -> list[Connection]:
        """The edges that end at a node."""
        return [edge for edge in self.edges if edge.head == head]


class _Layout(NamedTuple):
    """The steps of every node of a network."""

    items: int  # of the source, before any front end
    source: int
    first: int  # step of the target: 0, or before it where the source is read first
    target: int
    order: ReadingOrder
    sequences: dict[str, str]

    def steps(self, node: str) -> range:
        """The steps of a node, in the order in which they are computed."""
        match self.sequences[node]:
            case "single":
                return range(1)
            case "source":
                return range(self.items if node == SOURCE else self.source)
            case _:
                return range(0 if _writes(node) else self.first, self.target)

    def rank(self, node: str, step: int) -> int:
        """The rank of a step in computation: for an encoder, its place in the reading order."""
        if self.sequences[node] == "source" and node not in (SOURCE, STATES):
            return self.order.reading(self.source).index(step)
        return step

    def by_rank(self, node: str) -> dict[int, int]:
        """The steps of a node, by rank."""
        return {self.rank(node, step): step for step in self.steps(node)}


def unroll(
    connections: Connections, *, source: int, target: int = 0, items: int | None = None
) -> set[tuple[NodeStep, NodeStep]]:
    """All edges, from tail to head, of a network over a source and a target of these lengths."""
    return set(unroll_connections(connections, source=source, target=target, items=items))


def unroll_connections(
    connections: Connections, *, source: int, target: int = 0, items: int | None = None
) -> dict[tuple[NodeStep, NodeStep], Connection]:
    """As `unroll`, with the first connection that each edge belongs to.

    `source` counts the encoder's positions, and `items` what a front end makes them of.
    """
    prefix = any(edge.kind == "prefix" for edge in connections.edges)
    sequences = {node.name: node.sequence for node in connections.nodes}
    first = -source if prefix else 0
    count = source if items is None else items
    layout = _Layout(count, source, first, target, connections.order, dict(sequences))
    found: dict[tuple[NodeStep, NodeStep], Connection] = {}
    for edge in connections.edges:
        for head in layout.steps(edge.head):
            for tail in _tails(edge, head, layout):
                found.setdefault(((edge.tail, tail), (edge.head, head)), edge)
    return found


def _tails(edge: Connection, head: int, layout: _Layout) -> Iterator[int]:
    """The steps of an edge's tail that a step of its head reads."""
    if edge.field is not None:
        yield from edge.field(head, layout.items)
        return
    if edge.steps == "prefix":
        if head < 0:
            yield head + layout.source
        return
    tails = layout.by_rank(edge.tail)
    if edge.tail == SOURCE:  # items are read by their positions, whatever the order
        rank = head
    elif edge.head == STATES:  # states may lie in another order than the source
        position = layout.order.states(layout.source)[head]
        rank = layout.rank(edge.tail, position)
    else:
        rank = layout.rank(edge.head, head)
    if edge.steps == "head-first" and rank != min(layout.by_rank(edge.head)):
        return
    for wanted in _ranks(edge, rank, sorted(tails)):
        if wanted in tails:
            yield tails[wanted]


def _ranks(edge: Connection, rank: int, tails: Sequence[int]) -> Sequence[int]:
    """The ranks of the tail that rank `rank` of the head reads."""
    near = [each for each in tails if abs(each - min(rank, tails[-1])) <= edge.window]
    found: dict[Steps, Sequence[int]] = {
        "same": [rank],
        "previous": [rank - 1],
        "next": [rank + 1],
        "until": [each for each in tails if each <= rank],
        "window": near,
        "window-until": [each for each in near if each <= rank],
        "tail-first": tails[:1],
        "tail-last": tails[-1:],
        "recent": range(rank - edge.window, rank),
    }
    return found.get(edge.steps, tails)


def _writes(node: str) -> bool:
    """Whether a node of a decoder exists only at steps that write."""
    return node in ("decoder.attention", "decoder.readout", "decoder.output", "head.output")
