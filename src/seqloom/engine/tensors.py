"""Between the engine's arrays and the tensors of the protocol that networks and searches have."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from seqloom.engine.encoder import EncodedArrays
from seqloom.model import Features, Memory, Source

__all__ = ["features", "memory", "memory_arrays", "real_items", "scores"]


def real_items(source: Source) -> tuple[np.ndarray, np.ndarray]:
    """The items of a batch without its padding, one sentence after the other, and its mask."""
    mask = source.mask.numpy()
    return source.values.detach().numpy()[mask], mask


def memory(encoded: EncodedArrays) -> Memory:
    """What an encoder gives, as a decoder of a network takes it."""
    code = None if encoded.code is None else tuple(map(torch.from_numpy, encoded.code))
    if encoded.states is None or encoded.mask is None:
        return Memory(encoded.sentences, code=code)
    states, mask = torch.from_numpy(encoded.states), torch.from_numpy(encoded.mask)
    return Memory(encoded.sentences, states, mask, code=code)


def memory_arrays(memory: Memory) -> EncodedArrays:
    """The inverse."""
    return EncodedArrays(
        memory.sentences,
        None if memory.states is None else memory.states.detach().numpy(),
        None if memory.mask is None else memory.mask.numpy(),
        None if memory.code is None else tuple(part.detach().numpy() for part in memory.code),
    )


def features(hidden: np.ndarray, attention: np.ndarray | None) -> Features:
    """What a decoder gives."""
    looked = None if attention is None else torch.from_numpy(attention)
    return Features(torch.from_numpy(hidden), looked)


def scores(logits: np.ndarray, rows: Sequence[int]) -> Tensor:
    """What an output layer gives, in rows of this shape."""
    return torch.from_numpy(logits).contiguous().view(*rows, -1)
