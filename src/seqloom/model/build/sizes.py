"""The sizes that one part must know of another."""

from typing import NamedTuple

from seqloom.nn.embedding import Vectors

__all__ = ["EncoderSizes", "Target"]


class EncoderSizes(NamedTuple):
    """What an encoder hands over: the sizes of its states and of its code, where it has them."""

    states: int | None = None
    code: tuple[int, int] | None = None  # layers, width
    parts: int = 1  # tensors in the code
    around: bool = False  # no state shows the position that it stands for


class Target(NamedTuple):
    """What a decoder reads of its own output, and how many numbers it writes at a step."""

    vectors: Vectors
    size: int
