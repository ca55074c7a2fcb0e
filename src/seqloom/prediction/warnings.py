"""Warnings about inputs unlike the training data."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from seqloom.prediction.output import Output

__all__ = ["InputWarning", "WarningCounts"]

UNKNOWN_SHARE = 0.2  # share of an input that may be unknown without a warning
UNKNOWN, LONG = "unknown_input", "long_input"
TRUNCATED, SPLIT, UNSCORED = "truncated", "split", "unscored"
SENTENCES = {
    UNKNOWN: "more than a fifth of the input is unknown to the model",
    LONG: "longer than anything the model has learnt from",
    TRUNCATED: "cut to {longest} tokens, as many as the model takes (data.max_source)",
    SPLIT: "longer than data.max_source tokens, so read in pieces",
    UNSCORED: "without perplexity, since the reference cannot be split as the input is",
}


class InputWarning(NamedTuple):
    """One warning, with the unknown share or the number of tokens."""

    kind: str
    value: float

    @property
    def sentence(self) -> str:
        """The warning as text."""
        return SENTENCES.get(self.kind, self.kind).format(longest=self.value)

    @classmethod
    def of(cls, unknown: float, items: int, longest: int) -> "tuple[InputWarning, ...]":
        """The warnings for an input of so many items with this unknown share."""
        found = [cls(UNKNOWN, round(unknown, 4))] if unknown > UNKNOWN_SHARE else []
        return (*found, cls(LONG, items)) if items > longest > 0 else tuple(found)


class WarningCounts:
    """The number of inputs with each warning."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._inputs = 0
        self._longest = 0  # tokens read of a truncated input

    @classmethod
    def of(cls, outputs: "Iterable[Output]") -> "WarningCounts":
        """Count the warnings of these outputs."""
        counts = cls()
        for output in outputs:
            counts.add(output)
        return counts

    def add(self, output: "Output") -> None:
        """Count the warnings of one input."""
        self._inputs += 1
        self.counts.update(each.kind for each in output.warnings)
        self.counts.update([TRUNCATED] * output.truncated + [SPLIT] * (output.pieces > 1))
        if output.truncated:
            written = sum(start < end for start, end in output.source_offsets)
            self._longest = max(self._longest, written or len(output.source))

    def add_unscored(self, count: int) -> None:
        """Count outputs whose references have no score."""
        self.counts.update({UNSCORED: count} if count else {})

    def lines(self) -> list[str]:
        """A sentence for each kind of warning that occurred."""
        return [
            f"{self.counts[kind]:,} of {self._inputs:,} inputs: "
            f"{sentence.format(longest=self._longest)}"
            for kind, sentence in SENTENCES.items()
            if self.counts[kind]
        ]
