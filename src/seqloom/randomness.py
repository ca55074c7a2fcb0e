"""The only source of randomness: a number that is a function of a seed and of names.

Whatever is random (an order, a mask, a first weight, a draw) asks for
`key(seed, "what", step, rank)`. Nothing keeps a generator between steps, so nothing of that kind
has to be saved to resume exactly.
"""

from hashlib import blake2b

__all__ = ["key"]


def key(seed: int, *names: str | int) -> int:
    """A 63-bit number that differs wherever the seed or a name differs, on every machine alike.

    A name's type counts too: `key(0, 1)` and `key(0, "1")` are different.
    """
    text = repr((seed, *names))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
