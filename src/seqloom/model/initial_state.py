"""Where a recurrent decoder begins: from the encoder's last state, or without it (S3.1)."""

from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.model.state import Code, Memory
from seqloom.nn.recurrent import RecurrentStack

__all__ = ["Bridge", "CopiedState", "InitialState", "OwnState", "ReadState"]

InitialLayers = tuple[Float[Tensor, "B L D"], ...]
BridgeActivation = Literal["tanh", "sigmoid", "identity"]
BRIDGE_ACTIVATIONS: dict[BridgeActivation, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": lambda values: values,
}


@runtime_checkable
class InitialState(Protocol):
    """A decoder's state before its first input."""

    def __call__(self, memory: Memory, stack: RecurrentStack) -> InitialLayers: ...


class CopiedState(nn.Module):
    """The encoder's last state of every layer, as it is."""

    def forward(self, memory: Memory, _stack: RecurrentStack) -> InitialLayers:
        return _code(memory)


class Bridge(nn.Module):
    """The encoder's last state through a learned map, whatever the sizes.

    Each part of the decoder's state has a map of its own, from the same part of the encoder's, or
    from its last where the encoder's unit has fewer.
    """

    def __init__(
        self,
        source: tuple[int, int],
        target: tuple[int, int],
        *,
        parts: int,
        activation: BridgeActivation = "tanh",
        bias: bool = True,
    ) -> None:
        """Sizes are (layers, width)."""
        super().__init__()
        self.target = target
        self.activation = BRIDGE_ACTIVATIONS[activation]
        self.maps = nn.ModuleList(
            nn.Linear(source[0] * source[1], target[0] * target[1], bias=bias) for _ in range(parts)
        )

    def forward(self, memory: Memory, _stack: RecurrentStack) -> InitialLayers:
        """The hidden state is squashed as a unit's output is; a cell is not."""
        code = _code(memory)
        last = len(code) - 1
        mapped = [
            layer(code[min(number, last)].flatten(1)) for number, layer in enumerate(self.maps)
        ]
        mapped[0] = self.activation(mapped[0])
        return tuple(part.unflatten(1, self.target) for part in mapped)


class OwnState(nn.Module):
    """The stack's own first state, learnt or zero; the source is met elsewhere."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, memory: Memory, stack: RecurrentStack) -> InitialLayers:
        learnt = stack.first_state(memory.sentences)
        if learnt is not None:
            return learnt
        like = next(stack.parameters())
        zero = like.new_zeros(memory.sentences, self.layers, stack.width)
        return (zero,) * stack.parts


class ReadState(nn.Module):
    """What is left when the stack itself has read the source: one network that reads and then
    goes on writing (S3.2 g)."""

    def forward(self, memory: Memory, stack: RecurrentStack) -> InitialLayers:
        if memory.states is None or memory.mask is None:
            raise TypeError("a decoder that reads the source needs its vectors")
        _, final = stack(memory.states, lengths=memory.mask.sum(dim=1))
        return tuple(final)


def _code(memory: Memory) -> Code:
    if memory.code is None:
        raise TypeError("this decoder starts from the code, which the encoder does not give")
    return memory.code
