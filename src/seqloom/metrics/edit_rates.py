"""Written outputs against written references by the edits that lead from one to the other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.metric import METRICS, SumMetric
from seqloom.metrics.predictions import Predictions
from seqloom.metrics.score import Direction

__all__ = [
    "CharacterErrorRate",
    "SymbolErrorRate",
    "WordErrorRate",
    "WordsWrong",
    "edit_distance",
]


def edit_distance(output: Sequence[str], reference: Sequence[str]) -> int:
    """The fewest items to insert, leave out or replace in one to get the other."""
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(output, reference))


class _EditRate(SumMetric[Predictions]):
    """The edits of all rows in per cent of the items of all references, which may be above 100."""

    direction = Direction.LOWER
    targets = ("text",)

    def fits(self, data: Predictions) -> bool:
        """Texts of words."""
        return not data.are_symbols

    def signature(self, data: Predictions) -> str:
        """How letters were compared, and the number of rows."""
        return f"{data.case}|rows:{len(data)}"

    def items(self, data: Predictions) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
        """What is edited in each row: outputs and references as sequences."""
        return data.words

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Edits, and items of the reference."""
        rows = [(edit_distance(*pair), len(pair[1])) for pair in self.items(data)]
        return np.array(rows, np.float64)

    def combine(self, sums: NDArray[np.float64]) -> float:
        """Edits per item; where references are empty, any edit is infinitely many."""
        edits, items = map(float, sums)
        if not items:
            return float("inf") if edits else 0.0
        return 100 * edits / items


@METRICS.part("WER")
class WordErrorRate(_EditRate):
    """Word error rate: edits of words."""

    name = "WER"
    order = 20


@METRICS.part("CER")
class CharacterErrorRate(_EditRate):
    """Character error rate: edits of characters, runs of white space as one."""

    name = "CER"
    order = 21

    def items(self, data: Predictions) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
        """Characters."""
        return [(" ".join(output), " ".join(reference)) for output, reference in data.words]


@METRICS.part("words wrong")
class WordsWrong(_EditRate):
    """Per cent of pronunciations with any mistake: the sequence error rate, which the literature
    on grapheme-to-phoneme conversion calls WER."""

    name = "words wrong"
    order = 22

    def fits(self, data: Predictions) -> bool:
        """Pronunciations."""
        return data.are_pronunciations

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        """Whether the symbols of a row differ in any way."""
        return np.array([(output != ref, 1) for output, ref in self.items(data)], np.float64)


@METRICS.part("symbols wrong")
class SymbolErrorRate(_EditRate):
    """Edits of symbols, such as phonemes: the token error rate."""

    name = "symbols wrong"
    order = 23

    def fits(self, data: Predictions) -> bool:
        """Symbols set apart by spaces."""
        return data.are_symbols
