"""Data augmentation: copies of training rows in upper, title or lower case."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from seqloom.config import Config
from seqloom.config.columns import ColumnOptions
from seqloom.randomness import key

__all__ = ["Recasing", "title_case"]

WHOLE = 2**63  # exclusive bound of `key`
CAPITALS, TITLES = 0.5, 0.75  # cumulative shares of upper and title case; the others are lower case


def title_case(text: str) -> str:
    """Each word with a capital first; `don't` gives `Don't`."""
    return re.sub(r"\S+", lambda word: word[0][:1].upper() + word[0][1:], text)


@dataclass(frozen=True)
class Recasing:
    """Draws rows to copy in another case, as a function of seed and text.

    The target of a row in upper case is put in upper case too if it is written in subwords and has
    a capital; all other targets are unchanged.
    """

    source: ColumnOptions
    target: ColumnOptions
    share: float
    seed: int

    @classmethod
    def from_config(cls, config: Config) -> "Recasing":
        """Build it from a run's options."""
        return cls(config.source, config.target, config.data.recased, config.seed)

    def copy(self, source: str, target: str) -> tuple[str, str] | None:
        """The recased copy of a row, if it is drawn and differs."""
        if not self.share:
            return None
        place = key(self.seed, "case", source) / WHOLE / self.share
        if place >= 1:
            return None
        change = str.upper if place < CAPITALS else title_case if place < TITLES else str.lower
        changed = self.source.recase(source, change)
        if changed == source:
            return None
        follows = place < CAPITALS and target != target.lower()
        return changed, self.target.recase_target(target, str.upper) if follows else target

    def copies(self, rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """The recased copies of all rows drawn."""
        for source, target in rows:
            if (found := self.copy(source, target)) is not None:
                yield found
