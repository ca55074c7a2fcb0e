"""A search: greedy, but one token is worth more than the model says."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from seqloom.model import Decoder
from seqloom.search import SEARCHES, Greedy, Hypothesis, Limits, Search, option


@SEARCHES.options("favourite")
@dataclass(frozen=True)
class Favourite(Search):
    """Greedy search in which one token is worth more."""

    token: int = option(5, "the token that is worth more", ge=0)
    worth: float = option(0.5, "added to its score", ge=0, flag="--token-worth")

    @property
    def paths(self) -> int:
        return 1

    def begin(self, state: Any, limits: Limits) -> Any:
        return Greedy().begin(state, limits)

    def advance(self, decoder: Decoder[Any], frontier: Any, /) -> Any:
        return Greedy().advance(FavouringDecoder(decoder, self), frontier)

    def results(self, frontier: Any, /) -> list[list[Hypothesis]]:
        return Greedy().results(frontier)


@dataclass
class FavouringDecoder:
    """A decoder that writes one token more readily."""

    decoder: Decoder[Any]
    search: Favourite

    def __getattr__(self, name: str) -> Any:
        return getattr(self.decoder, name)

    def write(self, features: Tensor) -> Tensor:
        logits = self.decoder.write(features).clone()
        logits[..., self.search.token] += self.search.worth
        return logits
