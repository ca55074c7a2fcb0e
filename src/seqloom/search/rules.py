"""Rules over what is written, as pure functions of logits and paths (S7.5).

A rule takes the logits (R, V) of the next token and what each row has written, and gives them back
with −∞ where a token may not be written; it may change them in place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.errors import ConfigError

__all__ = ["ForbiddenPhrases", "NoRepeat", "PathHistory", "Phrase", "Prefix", "Rule"]

Phrase = tuple[int, ...]
"""Tokens in a row."""


class PathHistory(NamedTuple):
    """What each row has written so far; after its length, a row is padded by any symbol."""

    tokens: Int[Tensor, "R T"]
    lengths: Int[Tensor, "R"]
    sentences: Int[Tensor, "R"]  # numbers in the batch that the search began with
    room: Int[Tensor, "R"]  # tokens that still fit, `<end>` included
    due: Int[Tensor, "R"]  # tokens that must still come, `<end>` included

    def select(self, rows: Int[Tensor, "R2"]) -> "PathHistory":
        """What these rows have written."""
        return PathHistory(*(part.index_select(0, rows) for part in self))

    def last(self, count: int) -> Int[Tensor, "R N"]:
        """The last so many tokens of each row; −1 before its first."""
        device = self.lengths.device
        at = self.lengths[:, None] + torch.arange(-count, 0, device=device)
        if self.tokens.shape[1] == 0:
            return torch.full_like(at, -1)
        return self.tokens.gather(1, at.clamp(min=0)).masked_fill(at < 0, -1)

    def windows(self, size: int) -> tuple[Int[Tensor, "R W N"], Bool[Tensor, "R W"]]:
        """All stretches of so many tokens, and which of them lie within their row."""
        if self.tokens.shape[1] < size:
            empty = self.tokens.new_zeros(len(self.tokens), 0, size)
            return empty, empty[:, :, 0].bool()
        windows = self.tokens.unfold(1, size, 1)
        ends = torch.arange(size, self.tokens.shape[1] + 1, device=self.lengths.device)
        return windows, ends <= self.lengths[:, None]


Rule = Callable[[Tensor, PathHistory], Tensor]
"""From logits (R, V) and paths to the logits of what may be written."""


class Prefix(NamedTuple):
    """The tokens that the outputs of each sentence begin with."""

    tokens: Int[Tensor, "B P"]
    lengths: Int[Tensor, "B"]

    def next(self, written: PathHistory) -> Int[Tensor, "R"]:
        """The token each row must write now, or −1 where its prefix is written."""
        if self.tokens.shape[1] == 0:
            return torch.full_like(written.lengths, -1)
        place = written.lengths.clamp(max=self.tokens.shape[1] - 1)
        tokens = self.tokens[written.sentences, place]
        return tokens.masked_fill(written.lengths >= self.lengths[written.sentences], -1)


@dataclass(frozen=True)
class ForbiddenPhrases:
    """No output contains one of these phrases; a phrase may be a single token."""

    phrases: tuple[Phrase, ...]

    def __post_init__(self) -> None:
        if not all(self.phrases):
            raise ConfigError("a forbidden phrase needs at least one token")

    def __call__(self, logits: Float[Tensor, "R V"], written: PathHistory) -> Float[Tensor, "R V"]:
        for size in sorted({len(phrase) for phrase in self.phrases}):
            phrases = [phrase for phrase in self.phrases if len(phrase) == size]
            table = torch.tensor(phrases, device=logits.device)  # (P, N)
            begun = (written.last(size - 1)[:, None] == table[:, :-1]).all(dim=2)  # (R, P)
            rows, numbers = begun.nonzero(as_tuple=True)
            logits[rows, table[numbers, -1]] = -torch.inf
        return logits


@dataclass(frozen=True)
class NoRepeat:
    """No output contains the same `size` tokens in a row twice.

    Paulus et al. 2018, A Deep Reinforced Model for Abstractive Summarization.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError("what may not be repeated must have at least one token")

    def __call__(self, logits: Float[Tensor, "R V"], written: PathHistory) -> Float[Tensor, "R V"]:
        windows, inside = written.windows(self.size)
        begun = (windows[:, :, :-1] == written.last(self.size - 1)[:, None]).all(dim=2) & inside
        rows, places = begun.nonzero(as_tuple=True)
        logits[rows, windows[rows, places, -1]] = -torch.inf
        return logits
