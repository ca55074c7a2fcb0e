"""Constraints on outputs: length, symbols, required phrases, further rules (S7.5).

Letters as everywhere: B sentences, K paths for each, R = B·K rows, T steps so far, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, END, START, UNK
from seqloom.model.state import pad_cat

__all__ = [
    "ForbiddenPhrases",
    "Limits",
    "NoRepeat",
    "PathHistory",
    "Phrase",
    "Prefix",
    "RequiredPhrases",
    "Rule",
]

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


@dataclass(frozen=True)
class RequiredPhrases:
    """Every finished output contains each of these phrases, in any order (S7.5).

    `<end>` is not written before they are. Where they and `<end>` would no longer fit if another
    token came before, only tokens that go on with a phrase are written, and then `<end>`. So every
    output finishes that has room for them, unless other rules or the model forbid their tokens.
    Room is kept for each phrase apart, though two may overlap. Post and Vilar 2018, Fast Lexically
    Constrained Decoding with Dynamic Beam Allocation.

    Phrases with the same number in `requirements` are alternatives, of which one suffices; without
    it each phrase is required. Room is kept for the longest alternative.
    """

    phrases: tuple[Phrase, ...]
    end: int = END
    requirements: tuple[int, ...] = ()  # for each phrase, counted from 0 in order

    def __post_init__(self) -> None:
        if not self.phrases or not all(self.phrases):
            raise ConfigError("a required phrase needs at least one token")
        if not self.requirements:
            object.__setattr__(self, "requirements", tuple(range(len(self.phrases))))

    @classmethod
    def from_alternatives(cls, required: Sequence[Sequence[Phrase]]) -> "RequiredPhrases":
        """One phrase of each group is required."""
        phrases = tuple(phrase for group in required for phrase in group)
        numbers = tuple(number for number, group in enumerate(required) for _ in group)
        return cls(phrases, requirements=numbers)

    @property
    def alternatives(self) -> list[list[Phrase]]:
        """The phrases by requirement."""
        groups: list[list[Phrase]] = [[] for _ in self.lengths]
        for phrase, number in zip(self.phrases, self.requirements, strict=True):
            groups[number].append(phrase)
        return groups

    @property
    def lengths(self) -> list[int]:
        """Tokens that room is kept for, by requirement."""
        lengths = [0] * (max(self.requirements) + 1)
        for phrase, number in zip(self.phrases, self.requirements, strict=True):
            lengths[number] = max(lengths[number], len(phrase))
        return lengths

    @property
    def size(self) -> int:
        """Tokens of all requirements together."""
        return sum(self.lengths)

    def __call__(self, logits: Float[Tensor, "R V"], written: PathHistory) -> Float[Tensor, "R V"]:
        missing = self.missing(written)  # (R, P)
        incomplete = missing.any(dim=1)
        logits[:, self.end] = logits[:, self.end].masked_fill(incomplete, -torch.inf)
        # A phrase that is abandoned has to be written from its beginning.
        least = self.size - self.count_met_tokens(missing) - (written.room - 2)
        pressed = (least > 0).nonzero().squeeze(1)
        if len(pressed):
            tokens, gained = self.next_tokens(written, missing)
            urgent = torch.cat([gained >= least[:, None], ~incomplete[:, None]], dim=1)[pressed]
            tokens = torch.cat([tokens, tokens.new_tensor([self.end])]).expand_as(urgent)
            values = logits[pressed].gather(1, tokens).masked_fill(~urgent, -torch.inf)
            only = torch.full_like(logits[pressed], -torch.inf)
            logits[pressed] = only.scatter_reduce(1, tokens, values, "amax")
        return logits

    def missing(self, written: PathHistory) -> Bool[Tensor, "R G"]:
        """Which requirements each row does not meet yet."""
        found = torch.zeros(
            len(written.lengths), len(self.lengths), dtype=torch.bool, device=written.lengths.device
        )
        for phrase, number in zip(self.phrases, self.requirements, strict=True):
            windows, inside = written.windows(len(phrase))
            same = (windows == torch.tensor(phrase, device=windows.device)).all(dim=2)
            found[:, number] |= (same & inside).any(dim=1)
        return ~found

    def count_met_tokens(self, missing: Bool[Tensor, "R G"]) -> Int[Tensor, "R"]:
        """Tokens of the requirements that each row meets."""
        lengths = torch.tensor(self.lengths, device=missing.device)
        return (~missing * lengths).sum(dim=1)

    def next_tokens(
        self, written: PathHistory, missing: Bool[Tensor, "R G"]
    ) -> tuple[Int[Tensor, "A"], Int[Tensor, "R A"]]:
        """The tokens of all phrases, and how many tokens of its phrase a row has written by each.

        It is 0 where the token does not go on with a missing phrase, and that of the longest
        alternative where the phrase is then complete.
        """
        tokens, gained, lengths = [], [], self.lengths
        for phrase, number in zip(self.phrases, self.requirements, strict=True):
            for place, token in enumerate(phrase, 1):
                before = torch.tensor(phrase[: place - 1], dtype=torch.int64, device=missing.device)
                fits = (written.last(place - 1) == before).all(dim=1) & missing[:, number]
                tokens.append(token)
                gained.append(fits * (lengths[number] if place == len(phrase) else place))
        return torch.tensor(tokens, device=missing.device), torch.stack(gained, dim=1)


@dataclass(frozen=True)
class Limits:
    """What an output of each sentence may be; tensors have one value a sentence."""

    longest: Int[Tensor, "B"]  # tokens, `<end>` included
    start: int = START
    end: int = END
    forbidden: tuple[int, ...] = (EMPTY, START, UNK)
    shortest: Int[Tensor, "B"] | None = None  # tokens, `<end>` included; at most `longest`
    lines: Int[Tensor, "B"] | None = None  # numbers that random draws come from; 0, 1, … if absent
    sources: Int[Tensor, "B"] | None = None  # real source positions, where coverage counts
    prefix: Prefix | None = None  # of the sentences that the search began with
    required: RequiredPhrases | None = None
    rules: tuple[Rule, ...] = ()
    n_alternatives: int = 0  # likeliest tokens of each step to remember with an output

    @cached_property
    def has_rules(self) -> bool:
        """Whether what may be written depends on what is written."""
        parts = (self.shortest, self.prefix, self.required)
        return bool(self.rules) or any(part is not None for part in parts)

    @cached_property
    def forbidden_ids(self) -> Int[Tensor, "F"]:
        """The tokens that are never written."""
        return torch.tensor(self.forbidden, dtype=torch.int64, device=self.longest.device)

    def select(self, sentences: Int[Tensor, "B2"]) -> "Limits":
        """The limits of these sentences, in this order."""

        def pick(values: Tensor | None) -> Tensor | None:
            return None if values is None else values.index_select(0, sentences)

        return replace(
            self,
            longest=self.longest.index_select(0, sentences),
            shortest=pick(self.shortest),
            lines=pick(self.lines),
            sources=pick(self.sources),
        )

    def renumber(self, sentences: Int[Tensor, "B"]) -> "Limits":
        """The same for a search that is said to have begun with these of its sentences."""
        if self.prefix is None:
            return self
        return replace(self, prefix=Prefix(*(part[sentences] for part in self.prefix)))

    def join(self, other: "Limits") -> "Limits":
        """The limits of these sentences and then of others that are under the same rules."""
        same = ("start", "end", "forbidden", "required", "rules", "n_alternatives")
        if any(getattr(self, name) != getattr(other, name) for name in same):
            raise ValueError("sentences under other rules cannot be searched together")
        prefix = None
        if self.prefix is not None or other.prefix is not None:
            prefix = pad_cat(self._prefix_or_empty(), other._prefix_or_empty())
        return replace(
            self,
            longest=torch.cat([self.longest, other.longest]),
            shortest=_cat_optional(self.shortest, other.shortest, self.longest, other.longest),
            lines=_cat_optional(self.lines, other.lines, self.longest, other.longest),
            sources=_cat_optional(self.sources, other.sources, self.longest, other.longest),
            prefix=prefix,
        )

    def _prefix_or_empty(self) -> Prefix:
        if self.prefix is not None:
            return self.prefix
        return Prefix(self.longest.new_zeros(len(self.longest), 0), torch.zeros_like(self.longest))

    def mask_logits(
        self, logits: Float[Tensor, "R V"], written: PathHistory | None
    ) -> Float[Tensor, "R V"]:
        """The logits with −∞ for what may not be written next; they are changed in place.

        What the rows have written is needed where `ruled`. Where a prefix is not yet written,
        nothing but its next token is possible, whatever else is forbidden.
        """
        if written is None:
            return logits.index_fill_(1, self.forbidden_ids, -torch.inf)
        forced = None if self.prefix is None else self.prefix.next(written)
        if forced is None or not bool((forced >= 0).any()):
            return self._apply_rules(logits, written)
        wanted, inside = forced.clamp(min=0)[:, None], (forced >= 0)[:, None]
        value = logits.gather(1, wanted)
        logits = self._apply_rules(logits, written)
        value = torch.where(inside, value, logits.gather(1, wanted))
        return logits.masked_fill_(inside, -torch.inf).scatter_(1, wanted, value)

    def _apply_rules(self, logits: Tensor, written: PathHistory) -> Tensor:
        logits.index_fill_(1, self.forbidden_ids, -torch.inf)
        if self.shortest is not None:
            logits[:, self.end] = logits[:, self.end].masked_fill(written.due > 1, -torch.inf)
        rules: tuple[Rule, ...] = self.rules
        if self.required is not None:
            rules = (*rules, self.required)
        for rule in rules:
            logits = rule(logits, written)
        return logits


def _cat_optional(
    mine: Tensor | None, theirs: Tensor | None, *counts: Int[Tensor, "_"]
) -> Int[Tensor, "_"] | None:
    """Both one after the other, zeros for what is absent, or nothing where both are."""
    if mine is None and theirs is None:
        return None
    parts = zip((mine, theirs), counts, strict=True)
    return torch.cat([torch.zeros_like(like) if part is None else part for part, like in parts])
