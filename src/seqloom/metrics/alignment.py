"""Alignment error rate of predicted word alignments against gold alignments.

Pharaoh format: `0-0 2-1`, source and output words by number from 0.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seqloom.errors import ConfigError, DataError

__all__ = ["ErrorRate", "Gold", "Links", "alignment_errors", "parse_gold"]

Links = frozenset[tuple[int, int]]
"""Source and output words by number."""

LINK = re.compile(r"(\d+)([-p?])(\d+)")


class Gold(NamedTuple):
    """The gold alignment of a sentence: sure links, and possible links, which include the sure
    ones.
    """

    sure: Links
    possible: Links


def parse_gold(lines: Iterable[str], *, place: str) -> Iterator[Gold]:
    """Parse lines in Pharaoh format; `3-4` is a sure link, `3p4` or `3?4` a possible one."""
    for number, line in enumerate(lines, start=1):
        found = []
        for word in line.split():
            match = LINK.fullmatch(word)
            if match is None:
                raise DataError(
                    f"{place}:{number}: {word[:40]!r} is no link",
                    remedy="write 3-4 where it is sure and 3p4 where it is possible",
                )
            found.append((match[2] == "-", (int(match[1]), int(match[3]))))
        sure = frozenset(link for certain, link in found if certain)
        yield Gold(sure, sure | {link for _, link in found})


@dataclass(frozen=True)
class ErrorRate:
    """Alignment error rate: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), over all sentences.

    Och and Ney 2003, A Systematic Comparison of Various Statistical Alignment Models.
    """

    sentences: int
    links: int  # |A|
    sure: int  # |S|
    sure_found: int  # |A ∩ S|
    possible_found: int  # |A ∩ P|

    @property
    def value(self) -> float:
        """The error rate, from 0 (all links agree) to 1 (none does)."""
        total = self.links + self.sure
        return 1 - (self.sure_found + self.possible_found) / total if total else 0.0

    @property
    def precision(self) -> float:
        """The share of predicted links that are possible."""
        return self.possible_found / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """The share of sure links that are predicted."""
        return self.sure_found / self.sure if self.sure else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rates = {"precision": self.precision, "recall": self.recall}
        return {"alignment_error_rate": self.value, **rates, **vars(self)}

    def __str__(self) -> str:
        return (
            f"alignment error rate {self.value:.3f} (precision {self.precision:.3f}, "
            f"recall {self.recall:.3f}) over {self.sentences:,} sentences"
        )


def alignment_errors(found: Sequence[Links], gold: Sequence[Gold]) -> ErrorRate:
    """Compute the alignment error rate of predicted links, sentence by sentence."""
    if len(found) != len(gold):
        raise ConfigError(
            f"{len(found):,} sentences were aligned and gold links are there for {len(gold):,}",
            remedy="give one line for each sentence",
        )
    pairs = list(zip(found, gold, strict=True))
    return ErrorRate(
        sentences=len(pairs),
        links=sum(len(links) for links, _ in pairs),
        sure=sum(len(each.sure) for _, each in pairs),
        sure_found=sum(len(links & each.sure) for links, each in pairs),
        possible_found=sum(len(links & each.possible) for links, each in pairs),
    )
