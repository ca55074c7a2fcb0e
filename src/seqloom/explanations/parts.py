"""Properties of network parts for explanations, by tables of their classes.

This is the only module of the explanations that knows the classes of nn/ and model/ one by one.
Each function answers one question; when a part gets a method for it, its table here goes.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import torch
from torch import nn

from seqloom.explanations.instrumented_copy import find_parts
from seqloom.model import Network
from seqloom.model.ctc import NextSymbolSteps
from seqloom.model.encoders import ReversedEncoder
from seqloom.model.front_ends import PictureFrontEnd
from seqloom.model.heads import (
    BlanksHead,
    CodePool,
    MaximumPool,
    MeanPool,
    TagsHead,
)
from seqloom.model.tag_decoder import RecurrentTagsHead
from seqloom.nn.attention import Attention
from seqloom.nn.embedding import (
    CharacterCNNVectors,
    Embedding,
    OneHot,
    WordDropout,
)
from seqloom.nn.positions import Positions, Rotary, sinusoids
from seqloom.nn.token_mixing import SelfAttention, SimpleAttention
from seqloom.nn.transformer import CrossAttention

__all__ = [
    "AttentionKind",
    "Pooling",
    "SourceOrder",
    "attention_kind",
    "makes_token_vectors",
    "output_part",
    "picture_front_end",
    "pooling_of",
    "position_kind",
    "position_table",
    "reading_order",
]

Answer = TypeVar("Answer")
AttentionKind = Literal["cross", "self"]
Pooling = Literal["last", "mean", "maximum", "each", "around", "all"]
"""What a head sees: one pooled state, each position, those beside each position, or all states."""

ATTENTION: dict[type, AttentionKind] = {
    SelfAttention: "self",
    SimpleAttention: "self",
    CrossAttention: "cross",
    Attention: "cross",
    NextSymbolSteps: "cross",
}
TOKEN_VECTORS: dict[type, bool] = {
    Embedding: True, OneHot: True, CharacterCNNVectors: True, WordDropout: True,
}  # fmt: skip
POOLS: dict[type, tuple[Pooling, str]] = {
    CodePool: ("last", "last state"),
    MeanPool: ("mean", "mean of states"),
    MaximumPool: ("maximum", "largest of states"),
}


def _answer(table: Mapping[type, Answer], part: object) -> Answer | None:
    """Look up a part's class, or its nearest base class."""
    return next((table[kind] for kind in type(part).__mro__ if kind in table), None)


def attention_kind(module: nn.Module) -> AttentionKind | None:
    """Whether a module attends to the source or to its own sequence; None if neither."""
    return _answer(ATTENTION, module)


def makes_token_vectors(module: nn.Module) -> bool:
    """Whether a module embeds tokens."""
    return _answer(TOKEN_VECTORS, module) is not None


class SourceOrder(NamedTuple):
    """The order in which an encoder reads its source, and the order of its output states."""

    backward: bool = False
    closing: int = 0  # items at the end that stay in place
    memory_backward: bool = False

    def arrange(self, items: Any) -> Any:
        """Arrange items (a tuple or a tensor) in reading order."""
        return _flip(items, len(items) - self.closing) if self.backward else items

    def arrange_memory(self, items: Any) -> Any:
        """Arrange items in the order of the output states."""
        return _flip(items, len(items) - self.closing) if self.memory_backward else items


def _flip(items: Any, count: int) -> Any:
    order = [*reversed(range(count)), *range(count, len(items))]
    return items[order] if hasattr(items, "index_select") else tuple(items[i] for i in order)


def reading_order(network: Network) -> SourceOrder:
    """The reading order of a network's encoder."""
    for _, encoder in find_parts(network, ReversedEncoder):
        return SourceOrder(backward=True, closing=encoder.closing, memory_backward=encoder.turned)
    return SourceOrder()


def output_part(network: Network) -> Any:
    """The decoder of a network that has one, else its head."""
    return getattr(network, "head", None) or network.decoder


def pooling_of(network: Network) -> Pooling:
    """How the head pools the encoder's states."""
    return _pooling(network)[0]


def _pooling(network: Network) -> tuple[Pooling, str]:
    head = output_part(network)
    known = _answer(POOLS, getattr(head, "pool", None))
    if known is not None:
        return known
    each = _answer({TagsHead: True, RecurrentTagsHead: True, BlanksHead: True}, head)
    around = getattr(head, "around", False)
    return ("around" if around else "each" if each else "all"), "all states"


def picture_front_end(network: Network) -> PictureFrontEnd | None:
    """The front end for pictures, if the network reads pictures."""
    return next((front for _, front in find_parts(network, PictureFrontEnd)), None)


def position_kind(kind: Positions | Rotary) -> str | None:
    """The name of the position encoding; None if there is none."""
    told: str = kind.description
    return told or None


@torch.no_grad()
def position_table(kind: Any, width: int, count: int) -> np.ndarray:
    """The encodings of the first `count` positions, for token vectors of this width.

    They are the vectors added or appended, or, for a joint map, its image of zeros.
    """
    if hasattr(kind, "rotate"):
        return sinusoids(torch.arange(1, count + 1), kind.head_width).double().numpy()
    like = next(kind.parameters(), torch.zeros(0))
    made = kind(torch.zeros(1, count, width, dtype=like.dtype), torch.arange(count)[None])[0]
    table: np.ndarray = made[:, width if kind.appends else 0 :].double().numpy()
    return table
