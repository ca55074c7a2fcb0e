"""Words and phrases that every output must contain (S7.5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.errors import ConfigError
from seqloom.fields import END
from seqloom.search.rules import PathHistory, Phrase

__all__ = ["RequiredPhrases"]


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
