"""Real positions and the table in which they look at each other.

Products are made of real positions alone, one after the other. Only attention needs a table with
equally many places for each sentence, padded to whole lanes.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from seqloom.model import Memory
from seqloom.torch_engine.weights import round_up

__all__ = ["PackedMemory", "Packing", "pack_memory"]


class Packing:
    """Where the real positions of a batch are, for so many heads."""

    def __init__(self, mask: Bool[Tensor, "B S"], heads: int) -> None:
        flat = mask.flatten()
        self.real: Int[Tensor, "N"] = flat.nonzero().squeeze(1)
        self.room = round_up(mask.shape[1])
        self.heads = heads
        numbers = (flat.cumsum(0) - 1).mul_(flat).view_as(mask)
        self._table = functional.pad(numbers, (0, self.room - mask.shape[1]))  # (B, C)
        self._rows: dict[int, Int[Tensor, "G_B_H_C"]] = {}
        sentence, place = self.real // mask.shape[1], self.real % mask.shape[1]
        head = torch.arange(heads, device=mask.device)
        row = sentence[:, None] * heads + head
        self._back = (row * self.room + place[:, None]).flatten()

    def pack(self, values: Float[Tensor, "B S D"]) -> Float[Tensor, "N D"]:
        """The values at real positions."""
        return values.flatten(0, 1).index_select(0, self.real)

    def unpack(self, values: Float[Tensor, "N D"], mask: Tensor) -> Float[Tensor, "B S D"]:
        """The values at their positions, and 0 at padding."""
        padded = values.new_zeros(mask.numel(), values.shape[1])
        return padded.index_copy_(0, self.real, values).view(*mask.shape, -1)

    def split_heads(self, values: Float[Tensor, "N D"], groups: int) -> Float[Tensor, "G BH C E"]:
        """Groups of values, such as queries, keys and values, by sentence, head and place.

        In a place without a position there is any value.
        """
        parts = groups * self.heads
        if groups not in self._rows:
            part = torch.arange(parts, device=values.device).view(groups, 1, self.heads, 1)
            self._rows[groups] = (self._table[:, None] * parts + part).flatten()
        rows = values.view(len(values) * parts, -1).index_select(0, self._rows[groups])
        return rows.view(groups, -1, self.room, rows.shape[1])

    def merge_heads(self, found: Float[Tensor, "BH C E"]) -> Float[Tensor, "N D"]:
        """What was found at real positions, with the heads of each side by side."""
        rows = found.view(-1, found.shape[2]).index_select(0, self._back)
        return rows.view(len(self.real), -1)


@dataclass(frozen=True, kw_only=True)
class PackedMemory(Memory):
    """What a reader hands over, with its real positions, for which nobody need look again."""

    packing: Packing
    real_states: Float[Tensor, "N D"]  # the states there


def pack_memory(memory: Memory, heads: int) -> tuple[Packing, Float[Tensor, "N D"]]:
    """Real positions for so many heads, and the states there; a reader's own where they fit."""
    if isinstance(memory, PackedMemory) and memory.packing.heads == heads:
        return memory.packing, memory.real_states
    if memory.states is None or memory.mask is None:
        raise TypeError("a Transformer decoder needs the encoder's states")
    places = Packing(memory.mask, heads)
    return places, places.pack(memory.states)
