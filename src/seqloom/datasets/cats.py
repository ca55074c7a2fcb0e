"""Cats and dogs: complete a sentence from its first word, with a vocabulary numbered from 1.

The class-to-sequence set of the course texts (S3.3, S10): each input is a word of the vocabulary,
taken as a class, and its output is memorized, so nothing is held out.
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
    """The three pairs, for training and for evaluation, and the 22 words in order."""
    return Splits(
        "cats", PAIRS, PAIRS, PAIRS, columns=("class", "sentence"), vocabulary=CATS_VOCABULARY
    )
