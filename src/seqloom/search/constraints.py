"""Words and phrases that every output must contain (S7.5)."""

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
    """

    phrases: tuple[Phrase, ...]
    end: int = END

    def __post_init__(self) -> None:
        if not self.phrases or not all(self.phrases):
            raise ConfigError("a required phrase needs at least one token")

    @property
    def size(self) -> int:
        """Tokens of all phrases together."""
        return sum(map(len, self.phrases))

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

    def missing(self, written: PathHistory) -> Bool[Tensor, "R P"]:
        """Which phrases each row does not contain yet."""
        found = []
        for phrase in self.phrases:
            windows, inside = written.windows(len(phrase))
            same = (windows == torch.tensor(phrase, device=windows.device)).all(dim=2)
            found.append((same & inside).any(dim=1))
        return ~torch.stack(found, dim=1)

    def count_met_tokens(self, missing: Bool[Tensor, "R P"]) -> Int[Tensor, "R"]:
        """Tokens of the phrases that each row contains."""
        lengths = torch.tensor([len(phrase) for phrase in self.phrases], device=missing.device)
        return (~missing * lengths).sum(dim=1)

    def next_tokens(
        self, written: PathHistory, missing: Bool[Tensor, "R P"]
    ) -> tuple[Int[Tensor, "A"], Int[Tensor, "R A"]]:
        """The tokens of all phrases, and how many tokens of its phrase a row has written by each.

        It is 0 where the token does not go on with a missing phrase.
        """
        tokens, gained = [], []
        for number, phrase in enumerate(self.phrases):
            for place, token in enumerate(phrase):
                before = torch.tensor(phrase[:place], dtype=torch.int64, device=missing.device)
                fits = (written.last(place) == before).all(dim=1) & missing[:, number]
                tokens.append(token)
                gained.append(fits * (place + 1))
        return torch.tensor(tokens, device=missing.device), torch.stack(gained, dim=1)
