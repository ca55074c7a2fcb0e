"""What an output may be: its length, its symbols, and rules over what is written (S7.5).

Letters as everywhere: B sentences, K paths for each, R = B·K rows, T steps so far, V vocabulary.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.fields import EMPTY, END, START, UNK
from seqloom.model.state import pad_cat
from seqloom.search.constraints import RequiredPhrases
from seqloom.search.rules import PathHistory, Prefix, Rule

__all__ = ["Limits"]


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
