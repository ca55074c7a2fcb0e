"""Constraints on outputs: length, symbols, required phrases, further rules (S7.5).

B sentences, K paths for each, R = B·K rows, T steps so far, V vocabulary.
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
"""A sequence of tokens."""


class PathHistory(NamedTuple):
    """The tokens of each row so far; beyond its length a row has arbitrary padding."""

    tokens: Int[Tensor, "R T"]
    lengths: Int[Tensor, "R"]
    sentences: Int[Tensor, "R"]  # indices in the original batch
    room: Int[Tensor, "R"]  # tokens that still fit, including `<end>`
    due: Int[Tensor, "R"]  # tokens still needed for the shortest length, including `<end>`

    def select(self, rows: Int[Tensor, "R2"]) -> "PathHistory":
        """The history of these rows."""
        return PathHistory(*(part.index_select(0, rows) for part in self))

    def last(self, count: int) -> Int[Tensor, "R N"]:
        """The last `count` tokens of each row; −1 before its first."""
        device = self.lengths.device
        at = self.lengths[:, None] + torch.arange(-count, 0, device=device)
        if self.tokens.shape[1] == 0:
            return torch.full_like(at, -1)
        return self.tokens.gather(1, at.clamp(min=0)).masked_fill(at < 0, -1)

    def windows(self, size: int) -> tuple[Int[Tensor, "R W N"], Bool[Tensor, "R W"]]:
        """All n-grams of this size, and a mask of those within their row."""
        if self.tokens.shape[1] < size:
            empty = self.tokens.new_zeros(len(self.tokens), 0, size)
            return empty, empty[:, :, 0].bool()
        windows = self.tokens.unfold(1, size, 1)
        ends = torch.arange(size, self.tokens.shape[1] + 1, device=self.lengths.device)
        return windows, ends <= self.lengths[:, None]


Rule = Callable[[Tensor, PathHistory], Tensor]
"""A function from logits (R, V) and histories to masked logits."""


class Prefix(NamedTuple):
    """Forced prefixes of the outputs of each sentence."""

    tokens: Int[Tensor, "B P"]
    lengths: Int[Tensor, "B"]

    def next(self, written: PathHistory) -> Int[Tensor, "R"]:
        """The next token of each row's prefix, or −1 after it."""
        if self.tokens.shape[1] == 0:
            return torch.full_like(written.lengths, -1)
        place = written.lengths.clamp(max=self.tokens.shape[1] - 1)
        tokens = self.tokens[written.sentences, place]
        return tokens.masked_fill(written.lengths >= self.lengths[written.sentences], -1)


@dataclass(frozen=True)
class ForbiddenPhrases:
    """Forbids these phrases; a phrase may be a single token."""

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
    """Forbids repeating an n-gram of `size` tokens.

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
    """Requires each of these phrases in every finished output, in any order (S7.5).

    `<end>` is forbidden before they are written. When they and `<end>` would otherwise no longer
    fit, only tokens that continue a phrase are allowed, and then `<end>`. So every output with room
    for them finishes, unless other rules or the model forbid their tokens. Room is reserved for
    each phrase separately, though two may overlap. Post and Vilar 2018, Fast Lexically Constrained
    Decoding with Dynamic Beam Allocation.

    Phrases with the same number in `requirements` are alternatives; without it each phrase is
    required. Room is reserved for the longest alternative.
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
    def from_alternatives(
        cls, required: Sequence[Sequence[Phrase]], *, end: int = END
    ) -> "RequiredPhrases":
        """Require one phrase of each group."""
        phrases = tuple(phrase for group in required for phrase in group)
        numbers = tuple(number for number, group in enumerate(required) for _ in group)
        return cls(phrases, end, numbers)

    @property
    def alternatives(self) -> list[list[Phrase]]:
        """The phrases by requirement."""
        groups: list[list[Phrase]] = [[] for _ in self.lengths]
        for phrase, number in zip(self.phrases, self.requirements, strict=True):
            groups[number].append(phrase)
        return groups

    @property
    def lengths(self) -> list[int]:
        """Tokens reserved for each requirement."""
        lengths = [0] * (max(self.requirements) + 1)
        for phrase, number in zip(self.phrases, self.requirements, strict=True):
            lengths[number] = max(lengths[number], len(phrase))
        return lengths

    @property
    def size(self) -> int:
        """Tokens reserved for all requirements together."""
        return sum(self.lengths)

    def __call__(self, logits: Float[Tensor, "R V"], written: PathHistory) -> Float[Tensor, "R V"]:
        missing = self.missing(written)  # (R, P)
        incomplete = missing.any(dim=1)
        logits[:, self.end] = logits[:, self.end].masked_fill(incomplete, -torch.inf)
        # An abandoned phrase must be started again.
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
        """True for requirements that a row does not meet yet."""
        found = torch.zeros(
            len(written.lengths), len(self.lengths), dtype=torch.bool, device=written.lengths.device
        )
        for phrase, number in zip(self.phrases, self.requirements, strict=True):
            windows, inside = written.windows(len(phrase))
            same = (windows == torch.tensor(phrase, device=windows.device)).all(dim=2)
            found[:, number] |= (same & inside).any(dim=1)
        return ~found

    def count_met_tokens(self, missing: Bool[Tensor, "R G"]) -> Int[Tensor, "R"]:
        """The number of tokens of the requirements that each row meets."""
        lengths = torch.tensor(self.lengths, device=missing.device)
        return (~missing * lengths).sum(dim=1)

    def next_tokens(
        self, written: PathHistory, missing: Bool[Tensor, "R G"]
    ) -> tuple[Int[Tensor, "A"], Int[Tensor, "R A"]]:
        """The tokens of all phrases, and each row's progress in the phrase after writing each.

        Progress is 0 if the token does not continue a missing phrase, and that of the longest
        alternative if it completes one.
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
    """Constraints on the outputs of each sentence; tensors have one value per sentence."""

    longest: Int[Tensor, "B"]  # tokens, `<end>` included
    start: int = START
    end: int = END
    forbidden: tuple[int, ...] = (EMPTY, START, UNK)
    shortest: Int[Tensor, "B"] | None = None  # tokens, `<end>` included; at most `longest`
    lines: Int[Tensor, "B"] | None = (
        None  # line numbers from which random draws derive; 0, 1, … if absent
    )
    sources: Int[Tensor, "B"] | None = None  # real source positions, if coverage counts
    prefix: Prefix | None = None  # indices in the original batch
    required: RequiredPhrases | None = None
    rules: tuple[Rule, ...] = ()
    n_alternatives: int = 0  # top tokens of each step to note

    @cached_property
    def has_rules(self) -> bool:
        """Whether any rule depends on the history."""
        parts = (self.shortest, self.prefix, self.required)
        return bool(self.rules) or any(part is not None for part in parts)

    @cached_property
    def forbidden_ids(self) -> Int[Tensor, "F"]:
        """The forbidden tokens."""
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
        """The limits with the sentences renumbered."""
        if self.prefix is None:
            return self
        return replace(self, prefix=Prefix(*(part[sentences] for part in self.prefix)))

    def join(self, other: "Limits") -> "Limits":
        """Append the limits of other sentences under the same rules."""
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
        """Set the logits of forbidden tokens to −∞, in place.

        The tokens of `history` are needed if `has_rules`. While a prefix is incomplete, only its
        next token is possible, whatever else is forbidden.
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
    """Concatenate, with zeros in place of an absent tensor; None if both are absent."""
    if mine is None and theirs is None:
        return None
    parts = zip((mine, theirs), counts, strict=True)
    return torch.cat([torch.zeros_like(like) if part is None else part for part, like in parts])
