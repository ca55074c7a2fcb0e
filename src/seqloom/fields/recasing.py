"""Further forms of training rows: the same text in capitals, in title case or in small letters."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from seqloom.config import Config
from seqloom.config.columns import ColumnOptions
from seqloom.randomness import key

__all__ = ["Recasing", "title_case"]

WHOLE = 2**63  # what `key` is below
CAPITALS, TITLES = 0.5, 0.75  # of the copies, up to these shares; the others are in small letters


def title_case(text: str) -> str:
    """Each word with a capital first; `don't` gives `Don't`."""
    return re.sub(r"\S+", lambda word: word[0][:1].upper() + word[0][1:], text)


@dataclass(frozen=True)
class Recasing:
    """Draws the rows that are learnt once more in another case, a function of seed and text.

    Of a row in capitals the target is in capitals too if it is written in parts of words and has
    a capital itself; all other targets stay as they are.
    """

    source: ColumnOptions
    target: ColumnOptions
    share: float
    seed: int

    @classmethod
    def from_config(cls, config: Config) -> "Recasing":
        """What the options of a run ask for."""
        return cls(config.source, config.target, config.data.recased, config.seed)

    def copy(self, source: str, target: str) -> tuple[str, str] | None:
        """The other form of a row, if it is drawn and differs."""
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
        """The other forms of all rows that are drawn."""
        for source, target in rows:
            if (found := self.copy(source, target)) is not None:
                yield found
