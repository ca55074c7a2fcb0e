"""The most frequent tag of a word, or of its ending if the word is unknown (S8)."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.baselines.labels import BASELINES, Baseline, TrainingRows
from seqloom.fields import EMPTY, Values

__all__ = ["EndingTags"]

LONGEST = 6  # letters of an ending, including the end-of-word mark
RARE = 10  # largest count of a word whose ending is counted
MOST_TOKENS = 5_000_000

Letters = tuple[int, ...]


@BASELINES.part("commonest tag of each word or ending")
class EndingTags(Baseline):
    """Predicts the most frequent tag of each word; for an unknown word, that of the rare training
    words with the longest ending in common (endings as in Brants 2000).
    """

    target = "tags"
    reads_items = True

    def outputs(self, known: TrainingRows, sources: Sequence[Values]) -> list[str] | None:
        """A cell for each source; None if words are not read by their letters."""
        values, _ = known.rows.flat("source", closing=known.source.closing)
        if not known.countable or values.ndim == 1 or len(values) > MOST_TOKENS:
            return None
        tags = np.asarray(known.rows.flat("target")[0], np.int64)
        words, ends = _count(values, tags)
        usual = {word: counts.most_common(1)[0][0] for word, counts in words.items()}
        by_end: dict[Letters, int] = {(): int(np.bincount(tags).argmax())}
        by_end |= {end: counts.most_common(1)[0][0] for end, counts in ends.items()}
        spelt = [[_spelt(item) for item in row.tolist()] for row in sources]
        return [
            known.target.cell(
                [usual[word] if word in usual else _by_ending(word, by_end) for word in row]
            )
            for row in spelt
        ]


def _count(
    values: Values, tags: NDArray[np.int64]
) -> tuple[dict[Letters, Counter[int]], dict[Letters, Counter[int]]]:
    """Count the tags of each word, and of each ending of rare words."""
    pairs, counts = np.unique(np.column_stack([values, tags]), axis=0, return_counts=True)
    words: dict[Letters, Counter[int]] = defaultdict(Counter)
    ends: dict[Letters, Counter[int]] = defaultdict(Counter)
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        words[_spelt(pair[:-1])][pair[-1]] += count
    for word, tagged in words.items():
        if tagged.total() <= RARE:
            for size in range(min(LONGEST, len(word)) + 1):
                ends[word[len(word) - size :]].update(tagged)
    return words, ends


def _spelt(item: Sequence[int]) -> Letters:
    """The letters of a word."""
    return tuple(int(letter) for letter in item[1:] if letter != EMPTY)


def _by_ending(word: Letters, by_end: dict[Letters, int]) -> int:
    """The tag of the longest known ending."""
    sizes = range(min(LONGEST, len(word)), -1, -1)
    return next(
        by_end[word[len(word) - size :]] for size in sizes if word[len(word) - size :] in by_end
    )
