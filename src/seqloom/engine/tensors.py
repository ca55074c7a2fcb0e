"""Convert between the engine's arrays and the tensors of networks and searches."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from seqloom.engine.encoder import EncodedArrays
from seqloom.model import Features, Memory, Source

__all__ = ["features", "memory", "memory_arrays", "real_items", "scores"]


def real_items(source: Source) -> tuple[np.ndarray, np.ndarray]:
    """The items of a batch without padding, concatenated by sentence, and its mask."""
    mask = source.mask.numpy()
    return source.values.detach().numpy()[mask], mask


def memory(encoded: EncodedArrays) -> Memory:
    """An encoder's output as a memory for network decoders."""
    code = None if encoded.code is None else tuple(map(torch.from_numpy, encoded.code))
    if encoded.states is None or encoded.mask is None:
        return Memory(encoded.sentences, code=code)
    states, mask = torch.from_numpy(encoded.states), torch.from_numpy(encoded.mask)
    return Memory(encoded.sentences, states, mask, code=code)


def memory_arrays(memory: Memory) -> EncodedArrays:
    """The inverse of `memory`."""
    return EncodedArrays(
        memory.sentences,
        None if memory.states is None else memory.states.detach().numpy(),
        None if memory.mask is None else memory.mask.numpy(),
        None if memory.code is None else tuple(part.detach().numpy() for part in memory.code),
    )


def features(hidden: np.ndarray, attention: np.ndarray | None) -> Features:
    """A decoder's output as features."""
    looked = None if attention is None else torch.from_numpy(attention)
    return Features(torch.from_numpy(hidden), looked)


def scores(logits: np.ndarray, rows: Sequence[int]) -> Tensor:
    """Logits as a tensor with rows of this shape."""
    return torch.from_numpy(logits).contiguous().view(*rows, -1)
