"""Cats and dogs: from a first word to the rest of a sentence, with a vocabulary numbered from 1.

The class-to-sequence set of the course texts (S3.3, S10): each input is a word of the vocabulary,
taken as a class, and its output is learnt to the letter, so there is nothing to hold out.
"""

from seqloom.datasets.splits import Splits

__all__ = ["CATS_VOCABULARY", "cats"]

CATS_VOCABULARY = (
    *("allowed", "always", "and", "are", "been", "cat", "cats", "dogs", "enemies", "have", "i"),
    *("is", "it", "lap", "love", "my", "natural", "not", "raining", "water", "<start>", "<end>"),
)
PAIRS = [
    ("i", "love my cat"),
    ("cats", "and dogs lap water"),
    ("it", "is raining cats and dogs"),
]


def cats() -> Splits:
    """The three pairs, to learn from and to be judged by, and the 22 words in their order."""
    return Splits(
        "cats", PAIRS, PAIRS, PAIRS, columns=("class", "sentence"), vocabulary=CATS_VOCABULARY
    )
