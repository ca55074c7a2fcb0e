"""What makes an output doubtful: an input unlike all that a model has learnt from."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from seqloom.prediction.output import Output

__all__ = ["InputWarning", "WarningCounts"]

UNKNOWN_SHARE = 0.2  # of an input that may be unknown without a word
UNKNOWN, LONG = "unknown_input", "long_input"
SENTENCES = {
    UNKNOWN: "more than a fifth of the input is unknown to the model",
    LONG: "longer than anything the model has learnt from",
}


class InputWarning(NamedTuple):
    """One reason to doubt an output, with the share that is unknown or the number of tokens."""

    kind: str
    value: float

    @classmethod
    def of(cls, unknown: float, items: int, longest: int) -> "tuple[InputWarning, ...]":
        """The warnings for an input of so many items, and so large a share that is unknown."""
        found = [cls(UNKNOWN, round(unknown, 4))] if unknown > UNKNOWN_SHARE else []
        return (*found, cls(LONG, items)) if items > longest > 0 else tuple(found)


class WarningCounts:
    """How many inputs each warning is about."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._inputs = 0

    @classmethod
    def of(cls, outputs: "Iterable[Output]") -> "WarningCounts":
        """Those of the inputs of these outputs."""
        counts = cls()
        for output in outputs:
            counts.add(output.warnings)
        return counts

    def add(self, warnings: Iterable[InputWarning]) -> None:
        """Count the warnings of one input."""
        self._inputs += 1
        self.counts.update(each.kind for each in warnings)

    def lines(self) -> list[str]:
        """A sentence for each kind of warning that there was."""
        return warning_lines(self.counts, self._inputs)


def warning_lines(counts: Mapping[str, int], inputs: int) -> list[str]:
    """A sentence for each kind of warning, with how many inputs it is about."""
    return [
        f"{counts[kind]:,} of {inputs:,} inputs: {sentence}"
        for kind, sentence in SENTENCES.items()
        if counts.get(kind)
    ]
