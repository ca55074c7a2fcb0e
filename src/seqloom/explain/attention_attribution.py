"""Attention as it can be put beside other looks: what each thing that is said looked at."""

import numpy as np

from seqloom.explain.attention_heads import cross_map, layer_maps
from seqloom.explain.explained_output import ExplainedBlanks
from seqloom.explain.tracing import Trace
from seqloom.model import HeadModel, Network
from seqloom.model.heads import BlanksHead, CodePool, LabelHead, MeanPool, NumberHead, TagsHead

__all__ = ["attribute_by_attention"]


def attribute_by_attention(network: Network, found: Trace) -> np.ndarray | None:
    """Weights over the source and then over what the decoder read; None where it is not symbols.

    A decoder's are those to the source or, where it has none, to what it read before; those of an
    encoder that is judged are of the positions that the head sees.
    """
    said = found.output
    if said.feature_groups is not None:
        return None
    sizes = len(said.feature_names), len(said.inputs)
    if isinstance(network, HeadModel):
        weights = _head_attention(network, found)
        return weights if weights is not None and weights.shape[1] == sizes[0] else None
    across = cross_map(found)
    if across is not None:
        if len(across.source) != sizes[0]:
            return None
        return np.pad(across.weights, ((0, 0), (0, sizes[1])))
    own = layer_maps(found, "decoder")
    return own[-1].weights if own and not sizes[0] else None


def _head_attention(network: HeadModel, found: Trace) -> np.ndarray | None:
    """The last layer's mean over heads, of each position or of those that are pooled."""
    own = layer_maps(found, "encoder")
    if not own:
        return None
    weights: np.ndarray = own[-1].weights
    match network.head:
        case BlanksHead() if isinstance(found.output, ExplainedBlanks):
            return weights[found.output.blank_positions]
        case TagsHead():
            return weights[: len(found.output.target)]
        case LabelHead(pool=CodePool()) | NumberHead(pool=CodePool()):
            return weights[-1:]
        case LabelHead(pool=MeanPool()) | NumberHead(pool=MeanPool()):
            pooled: np.ndarray = weights.mean(axis=0)[None]
            return pooled
        case _:
            return None
