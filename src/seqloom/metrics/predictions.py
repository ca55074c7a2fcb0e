"""Outputs beside their references, and the properties by which metrics are selected."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.metrics.class_counts import ClassCounts
from seqloom.metrics.metric import Score, check_rows, score_all
from seqloom.metrics.spans import TagScheme, detect_scheme, find_spans
from seqloom.tokenizers import split_symbols

__all__ = [
    "Predictions",
    "target_scores",
]

SENTENCE_WORDS = 4  # on average: BLEU counts n-grams of up to four words
SYMBOL_LETTERS = 1.8  # on average, of the symbols of a pronunciation
LONGEST_SYMBOL = 4  # letters
LONGEST_WORD = 30  # symbols on average, of something that is pronounced as one word
EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")

LabelRow = tuple[list[str], list[str]]


@dataclass(frozen=True)
class Predictions:
    """Outputs and references of one kind of target, by row.

    `confidences` holds for each row the probability of each output label or tag; it is empty if
    they are unknown.
    """

    kind: str
    outputs: Sequence[str]
    references: Sequence[str]
    lowercase: bool = False
    confidences: Sequence[Sequence[float]] = ()

    def __post_init__(self) -> None:
        check_rows(self.outputs, self.references)
        if self.confidences:
            check_rows(self.outputs, self.confidences)

    def __len__(self) -> int:
        return len(self.references)

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """(output, reference) of each row, lowercased if requested."""
        rows = zip(self.outputs, self.references, strict=True)
        return [(o.lower(), r.lower()) if self.lowercase else (o, r) for o, r in rows]

    @property
    def case(self) -> str:
        """Whether case was ignored, for signatures."""
        return f"case:{'lc' if self.lowercase else 'mixed'}"

    @cached_property
    def words(self) -> list[LabelRow]:
        """The pairs, split at white space."""
        return [(output.split(), reference.split()) for output, reference in self.pairs]

    @cached_property
    def mean_words(self) -> float:
        """Mean number of words in a reference."""
        return sum(len(reference) for _, reference in self.words) / len(self)

    @cached_property
    def are_symbols(self) -> bool:
        """Whether references are symbols separated by spaces, as in pronunciations.

        They are where a reference has two pieces or more on average, a piece has at most 1.8
        letters on average, and no more than one in a hundred has above four. Marks, modifiers
        (length, stress, tone) and digits beside letters do not count: `t͡ʃʰ` and `AH0` have two
        letters. Words of East Asian scripts are as short and are not meant.
        """
        pieces = [piece for _, reference in self.words for piece in reference]
        if len(pieces) < 2 * len(self):
            return False
        counts = {piece: _letters(piece) for piece in set(pieces)}
        letters = np.array([counts[piece] for piece in pieces])
        return bool(letters.mean() <= SYMBOL_LETTERS and np.mean(letters > LONGEST_SYMBOL) <= 0.01)

    @property
    def are_pronunciations(self) -> bool:
        """Whether references are symbols, and few enough for one word each."""
        return self.are_symbols and self.mean_words <= LONGEST_WORD

    @property
    def are_sentences(self) -> bool:
        """Whether references have four words or more on average."""
        return self.mean_words >= SENTENCE_WORDS and not self.are_symbols

    @cached_property
    def labels(self) -> list[LabelRow]:
        """The labels of each row: its tags, or its single label."""
        if self.kind == "tags":
            return self.tags
        return [([output.strip()], [reference.strip()]) for output, reference in self._plain]

    @cached_property
    def right_counts(self) -> NDArray[np.float64]:
        """Correct labels and all labels of each row, (rows, 2)."""
        rows = [(sum(map(str.__eq__, *pair)), len(pair[1])) for pair in self.labels]
        return np.array(rows, np.float64)

    @cached_property
    def class_counts(self) -> ClassCounts:
        """Correct, predicted and expected counts of each class of the references."""
        return ClassCounts.of(self.labels)

    @cached_property
    def tags(self) -> list[LabelRow]:
        """The tags of each row; DataError where an output and its reference differ in length.

        Tags are separated by spaces, as in their field; other white space belongs to a tag.
        """
        rows = [(split_symbols(o), split_symbols(r)) for o, r in self._plain]
        for number, (output, reference) in enumerate(rows, 1):
            if len(output) != len(reference):
                raise DataError(
                    f"row {number}: {len(output)} tags cannot be compared with {len(reference)}",
                    remedy="give each token one tag",
                )
        return rows

    @cached_property
    def scheme(self) -> TagScheme:
        """The tagging scheme of the references."""
        if self.kind != "tags":
            return TagScheme.NONE
        return detect_scheme([reference for _, reference in self.tags])

    @cached_property
    def span_counts(self) -> NDArray[np.float64]:
        """Correct, predicted and expected spans of each row, (rows, 3)."""
        rows = []
        for output, reference in self.tags:
            found = set(find_spans(output, self.scheme))
            expected = set(find_spans(reference, self.scheme))
            rows.append((len(found & expected), len(found), len(expected)))
        return np.array(rows, np.float64)

    @property
    def _plain(self) -> Iterator[tuple[str, str]]:
        return zip(self.outputs, self.references, strict=True)


def _letters(piece: str) -> int:
    """The number of letters of a symbol without marks and modifiers; its length if it has no
    letter.
    """
    if any(unicodedata.name(each, "").startswith(EAST_ASIAN) for each in piece):
        return LONGEST_SYMBOL + 1
    categories = [unicodedata.category(each) for each in piece]
    letters = sum(each[0] == "L" and each != "Lm" for each in categories)
    return letters or len(piece)


def target_scores(
    kind: str,
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    seed: int | None = 1,
) -> list[Score]:
    """The scores that apply to outputs and references of this kind, the main one first."""
    return score_all(Predictions(kind, outputs, references, lowercase), seed=seed)
