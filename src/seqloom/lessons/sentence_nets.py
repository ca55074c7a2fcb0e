"""Network graphs of models unrolled over a source and a target text."""

from collections.abc import Sequence

import numpy as np

from seqloom.explain import ExplainedText, NetworkGraph, trace_output, unroll_graph
from seqloom.fields import END
from seqloom.model import SequenceModel

__all__ = ["count_edges", "count_units", "sentence_net"]


def sentence_net(
    model: SequenceModel, source: Sequence[str], target: Sequence[str]
) -> NetworkGraph:
    """Unroll a model over the words of both; the target ends in <end>."""
    first = END + 1
    said = ExplainedText(
        tuple(source),
        tuple(target),
        np.arange(first, first + len(source), dtype=np.int32),
        target_ids=(*range(first, first + len(target) - 1), END),
    )
    return unroll_graph(model, trace_output(model, said))


def count_units(net: NetworkGraph, side: str) -> int:
    """The number of units in the encoder or the decoder."""
    return sum(node.kind == "layer" and node.name.startswith(side) for node in net.nodes)


def count_edges(net: NetworkGraph, kind: str, end: str = "") -> int:
    """The number of edges of a kind that end in such a node."""
    return sum(edge.kind == kind and edge.end.startswith(end) for edge in net.edges)
