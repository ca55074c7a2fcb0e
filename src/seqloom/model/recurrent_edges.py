"""The edges by which a recurrent decoder is drawn, in all its forms (S3.2)."""

from seqloom.model.connections import CODE, STATES, Connection, ConnectionNode, Connections, Steps
from seqloom.model.initial_state import InitialState
from seqloom.model.stacks import layer_connections, layer_names
from seqloom.model.wiring import AttentionWiring, Wiring
from seqloom.nn.recurrent import RecurrentStack

__all__ = ["decoder_connections"]

INPUT, OUTPUT = "decoder.input", "decoder.output"
READOUT, ATTENTION = "decoder.readout", "decoder.attention"


def decoder_connections(
    wiring: Wiring, first: InitialState, stack: RecurrentStack, vectors: str
) -> Connections:
    """The edges into every value of a step."""
    names = layer_names("decoder", stack.depth)
    nodes = [
        ConnectionNode(INPUT, "input", label=vectors),
        ConnectionNode(READOUT, "readout", label="readout"),
        ConnectionNode(OUTPUT, "output", label="output"),
    ]
    edges = [
        *_input_edges(wiring, names[0]),
        *_initial_edges(first, names),
        Connection(names[-1], READOUT),
        Connection(READOUT, OUTPUT),
    ]
    if wiring.code_output:
        edges.append(Connection(CODE, READOUT, "code", "all"))
    if wiring.attention is not None:
        nodes.append(ConnectionNode(ATTENTION, "attention", label="attention"))
        edges += _attention_edges(wiring.attention, first, names)
    layers = layer_connections(stack, "decoder", INPUT)
    if not wiring.feedback:
        kept = tuple(edge for edge in layers.edges if edge.tail != INPUT)
        layers = Connections(layers.nodes, kept)
    return layers.merge(Connections(tuple(nodes), tuple(edges)))


def _input_edges(wiring: Wiring, lowest: str) -> list[Connection]:
    """The edges into a step's input, beside the previous output."""
    attention = wiring.attention
    edges = []
    if wiring.soft:
        edges.append(Connection(OUTPUT, INPUT, "soft feedback", "previous"))
    elif wiring.feedback or _asks_by_output(attention):
        edges.append(Connection(OUTPUT, INPUT, "feedback", "previous"))
    if wiring.code_input:
        edges.append(Connection(CODE, lowest, "code", "all"))
    if wiring.code_first:
        edges.append(Connection(CODE, lowest, "code", "head-first"))
    if attention is not None and attention.query is not None:
        edges.append(Connection(ATTENTION, lowest, "context"))
    if attention is not None and attention.feed:
        edges.append(Connection(READOUT, lowest, "input feeding", "previous"))
    return edges


def _initial_edges(first: InitialState, layers: list[str]) -> list[Connection]:
    """The edges into the initial state."""
    if first.origin == "code":
        return [Connection(CODE, layer, "initial", "head-first") for layer in layers]
    return [Connection(STATES, INPUT, "prefix", "prefix")] if first.origin == "source" else []


def _attention_edges(
    wiring: AttentionWiring, first: InitialState, layers: list[str]
) -> list[Connection]:
    """The edges of attention: query, keys, and the readers of its context."""
    attention, edges = wiring.attention, [Connection(ATTENTION, READOUT, "context")]
    if wiring.query is None:
        edges.append(Connection(layers[-1], ATTENTION, "query"))
    elif wiring.sequential:
        edges.append(Connection(layers[-1], ATTENTION, "query", "previous"))
        if first.origin == "code":
            edges.append(Connection(CODE, ATTENTION, "initial", "head-first"))
    else:
        edges.append(Connection(INPUT, ATTENTION, "query"))
    seen: Steps = "until" if attention.causal else "all"
    if attention.focus is not None and attention.focus.follows_time:
        seen = "window" if not attention.causal else "window-until"
    window = 0 if attention.focus is None else attention.focus.window
    return [*edges, Connection(STATES, ATTENTION, "attention", seen, window)]


def _asks_by_output(wiring: AttentionWiring | None) -> bool:
    return wiring is not None and wiring.query is not None and not wiring.sequential
