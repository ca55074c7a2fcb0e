"""Attention as it can be put beside other looks: what each thing that is said looked at."""

import numpy as np

from seqloom.explain.attention_heads import cross_map, layer_maps
from seqloom.explain.explained_output import Filled
from seqloom.explain.tracing import Pass
from seqloom.model import HeadedModel, Network
from seqloom.model.heads import CodePool, GapsHead, LabelHead, MeanPool, NumberHead, TagsHead

__all__ = ["attention_beside"]


def attention_beside(network: Network, found: Pass) -> np.ndarray | None:
    """Weights over the source and then over what the decoder read; None where it is not symbols.

    A decoder's are those to the source or, where it has none, to what it read before; those of an
    encoder that is judged are of the positions that the head sees.
    """
    said = found.said
    if said.units is not None:
        return None
    sizes = len(said.evidence), len(said.inputs)
    if isinstance(network, HeadedModel):
        weights = _judged(network, found)
        return weights if weights is not None and weights.shape[1] == sizes[0] else None
    across = cross_map(found)
    if across is not None:
        if len(across.source) != sizes[0]:
            return None
        return np.pad(across.weights, ((0, 0), (0, sizes[1])))
    own = layer_maps(found, "decoder")
    return own[-1].weights if own and not sizes[0] else None


def _judged(network: HeadedModel, found: Pass) -> np.ndarray | None:
    """The last layer's mean over heads, of each position or of those that are pooled."""
    own = layer_maps(found, "encoder")
    if not own:
        return None
    weights: np.ndarray = own[-1].weights
    match network.head:
        case GapsHead() if isinstance(found.said, Filled):
            return weights[found.said.gaps]
        case TagsHead():
            return weights[: len(found.said.target)]
        case LabelHead(pool=CodePool()) | NumberHead(pool=CodePool()):
            return weights[-1:]
        case LabelHead(pool=MeanPool()) | NumberHead(pool=MeanPool()):
            pooled: np.ndarray = weights.mean(axis=0)[None]
            return pooled
        case _:
            return None
