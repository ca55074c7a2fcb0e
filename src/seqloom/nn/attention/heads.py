"""Multi-head attention over one set of values (S4.5)."""

from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["HeadProjections"]


class HeadProjections(nn.Module):
    """Projections of queries and keys for each head; heads become part of the first axis.

    One score function then compares vectors of `width` for all heads at once. There is no output
    map: contexts are concatenated.
    """

    def __init__(self, query: int, key: int, *, width: int, count: int) -> None:
        """`width` is that of a single head's queries and keys."""
        super().__init__()
        self.count = count
        self.width = width
        self.from_query = nn.Linear(query, count * width, bias=False)
        self.from_key = nn.Linear(key, count * width, bias=False)

    def queries(self, queries: Float[Tensor, "B Q D"]) -> Float[Tensor, "BH Q A"]:
        return self._split(self.from_query(queries))

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "BH S A"]:
        return self._split(self.from_key(states))

    def _split(self, mapped: Tensor) -> Tensor:
        return mapped.unflatten(-1, (self.count, -1)).transpose(1, 2).flatten(0, 1)
