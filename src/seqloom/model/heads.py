"""Heads: targets that need no decoder, one label for the source or one for each position."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seqloom.model.encoders import mean_state
from seqloom.model.state import Memory

__all__ = ["CodePool", "LabelHead", "MaximumPool", "MeanPool", "TagsHead"]


@runtime_checkable
class Pool(Protocol):
    """One vector for a whole source."""

    def __call__(self, memory: Memory) -> Float[Tensor, "B D"]: ...


class CodePool(nn.Module):
    """The top layer's last state."""

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        if memory.code is None:
            raise TypeError("this head judges the code, which the encoder does not give")
        return memory.code[0][:, -1]


class MeanPool(nn.Module):
    """The mean of all real positions."""

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        return mean_state(*_states(memory))


class MaximumPool(nn.Module):
    """The largest of each value over all real positions."""

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        states, mask = _states(memory)
        return states.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)


class LabelHead(nn.Module):
    """Scores of each label, from one vector for the source (an acceptor, SPEC S1.1, S5.6)."""

    def __init__(self, pool: Pool, width: int, labels: int) -> None:
        super().__init__()
        self.pool = pool
        self.output = nn.Linear(width, labels)

    def forward(self, memory: Memory) -> Float[Tensor, "B V"]:
        return self.output(self.pool(memory))


class TagsHead(nn.Module):
    """Scores of each tag at each position of the source (a transducer, SPEC S1.1, S5.6)."""

    def __init__(self, width: int, tags: int) -> None:
        super().__init__()
        self.output = nn.Linear(width, tags)

    def forward(self, memory: Memory) -> Float[Tensor, "B S V"]:
        return self.output(_states(memory)[0])


def _states(memory: Memory) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
    if memory.states is None or memory.mask is None:
        raise TypeError("this head judges the encoder's states, which it does not give")
    return memory.states, memory.mask
