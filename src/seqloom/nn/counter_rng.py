"""Counter-based random numbers for whole tensors.

A draw is a function of its seed and counter: it does not depend on its batch or on earlier draws
(`randomness.key` does the same for one number at a time).
"""

from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["gumbels", "hash_counter", "uniforms"]

# The constants of splitmix64, as signed 64-bit integers.
STRIDE = 0x9E3779B97F4A7C15 - 2**64
FIRST = 0xBF58476D1CE4E5B9 - 2**64
SECOND = 0x94D049BB133111EB - 2**64


def hash_counter(
    before: Int[Tensor, "..."] | int, counter: Int[Tensor, "..."]
) -> Int[Tensor, "..."]:
    """Hash a seed, or an earlier hash, with a counter; shapes are broadcast.

    Steele et al. 2014, Fast Splittable Pseudorandom Number Generators.
    """
    bits = (counter ^ before) + STRIDE
    bits = (bits ^ _shift_right(bits, 30)) * FIRST
    bits = (bits ^ _shift_right(bits, 27)) * SECOND
    return bits ^ _shift_right(bits, 31)


def uniforms(bits: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Uniform numbers in [0, 1), of 53 bits each."""
    return _shift_right(bits, 11).double() * 2.0**-53


def gumbels(bits: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Draws from the standard Gumbel distribution, all of them finite."""
    inside = (_shift_right(bits, 12).double() + 0.5) * 2.0**-52  # neither 0 nor 1
    return -(-inside.log()).log()


def _shift_right(bits: Tensor, places: int) -> Tensor:
    """Logical shift to the right."""
    ones: int = 2 ** (64 - places) - 1
    return (bits >> places) & ones
