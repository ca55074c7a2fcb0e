"""Initial states of recurrent decoders: from the encoder's last state or without it (S3.1)."""

from collections.abc import Callable
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.config import RecurrentDecoderConfig
from seqloom.errors import ConfigError
from seqloom.model.parts import EncoderSizes
from seqloom.model.state import Code, Memory
from seqloom.nn.recurrent import RecurrentStack

__all__ = [
    "Bridge",
    "CopiedState",
    "InitialState",
    "OwnState",
    "ReadState",
    "build_initial_state",
]

InitialLayers = tuple[Float[Tensor, "B L D"], ...]
BridgeActivation = Literal["tanh", "sigmoid", "identity"]
BRIDGE_ACTIVATIONS: dict[BridgeActivation, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": lambda values: values,
}


class InitialState(nn.Module):
    """A decoder's state before its first input."""

    origin: ClassVar[Literal["code", "source", "own"]] = "own"
    """What it is computed from: the encoder's code, the source's embeddings, or nothing of the "
      "source."""

    def forward(self, memory: Memory, stack: RecurrentStack) -> InitialLayers:
        """The initial state of every layer."""
        raise NotImplementedError


class CopiedState(InitialState):
    """The encoder's last state of every layer, unchanged.

    Sutskever et al. 2014, Sequence to Sequence Learning with Neural Networks.
    """

    origin = "code"

    def forward(self, memory: Memory, _stack: RecurrentStack) -> InitialLayers:
        return _code(memory)


class Bridge(InitialState):
    """A learned map of the encoder's last state, for any sizes.

    Each part of the decoder's state has a map of its own, from the same part of the encoder's, or
    from its last where the encoder's unit has fewer.

    Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and Translate.
    """

    origin = "code"

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
        self.activation_name = activation
        self.activation = BRIDGE_ACTIVATIONS[activation]
        self.maps = nn.ModuleList(
            nn.Linear(source[0] * source[1], target[0] * target[1], bias=bias) for _ in range(parts)
        )

    def forward(self, memory: Memory, _stack: RecurrentStack) -> InitialLayers:
        """The hidden state goes through the activation; a cell does not."""
        code = _code(memory)
        last = len(code) - 1
        mapped = [
            layer(code[min(number, last)].flatten(1)) for number, layer in enumerate(self.maps)
        ]
        mapped[0] = self.activation(mapped[0])
        return tuple(part.unflatten(1, self.target) for part in mapped)


class OwnState(InitialState):
    """The stack's own initial state, learned or zero."""

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


class ReadState(InitialState):
    """The state after the decoder's own stack has read the source: one network for both
    (S3.2 g).
    """

    origin = "source"

    def forward(self, memory: Memory, stack: RecurrentStack) -> InitialLayers:
        if memory.states is None or memory.mask is None:
            raise TypeError("a decoder that reads the source needs its vectors")
        _, final = stack(memory.states, lengths=memory.mask.sum(dim=1))
        return tuple(final)


def build_initial_state(
    options: RecurrentDecoderConfig, encoded: EncoderSizes, parts: int
) -> InitialState:
    """Build the configured initial state; ConfigError if the sizes for a copy differ."""
    size = (options.layers, options.width)
    match options.first_state:
        case "zero" | "learnt":
            return OwnState(options.layers)
        case "read":
            return ReadState()
        case "map":
            return Bridge(
                encoded.code or (0, 0),
                size,
                parts=parts,
                activation=options.map_activation,
                bias=options.map_bias,
            )
        case "copy":
            if (encoded.code, encoded.parts) != (size, parts):
                layers, width = encoded.code or (0, 0)
                raise ConfigError(
                    "model.decoder.first_state = 'copy' needs equal states, not an encoder's of "
                    f"{layers} × {width} in {encoded.parts} parts and a decoder's of {size[0]} × "
                    f"{size[1]} in {parts}",
                    remedy="use 'map'",
                )
            return CopiedState()


def _code(memory: Memory) -> Code:
    if memory.code is None:
        raise TypeError("this decoder starts from the code, which the encoder does not give")
    return memory.code
