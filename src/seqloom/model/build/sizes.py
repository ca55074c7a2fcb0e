"""The sizes that one part must know of another."""

from typing import NamedTuple

from seqloom.nn.embedding import TokenVectors

__all__ = ["Encoded", "Target"]


class Encoded(NamedTuple):
    """What an encoder hands over: the sizes of its states and of its code, where it has them."""

    states: int | None = None
    code: tuple[int, int] | None = None  # layers, width
    parts: int = 1  # tensors in the code


class Target(NamedTuple):
    """The vocabulary a decoder reads and writes."""

    vectors: TokenVectors
    size: int
