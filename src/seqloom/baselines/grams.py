"""N-gram baselines: naive Bayes, and the nearest training source (S8).

A source of characters has character n-grams, a source of words has word n-grams.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.baselines.labels import BASELINES, MOST_COUNTS, Baseline, TrainingRows

__all__ = ["NGramRows", "number_ngrams"]

Ids = NDArray[np.int64]
Scores = NDArray[np.float64]

LETTERS, WORDS = 5, 2  # longest n-gram, for sources of characters and of words
ADDED = 0.1  # additive smoothing
MOST_NGRAMS = 20_000_000  # the most n-grams, which take about a gigabyte
MOST_COMPARED = 100_000_000  # the most pairs of a source and a training source


class NGramRows(NamedTuple):
    """The concatenated n-grams of several texts, and the row of each."""

    numbers: Ids
    rows: Ids
    kinds: int  # how many different ones

    def of_rows(self, first: int, last: int) -> "NGramRows":
        """The n-grams of these rows, renumbered from 0."""
        kept = (self.rows >= first) & (self.rows < last)
        return NGramRows(self.numbers[kept], self.rows[kept] - first, self.kinds)


def number_ngrams(tokens: Ids, rows: Ids, longest: int) -> NGramRows:
    """Number every n-gram of up to `longest` tokens that lies within one row."""
    places, numbers = np.arange(len(tokens)), np.unique(tokens, return_inverse=True)[1]
    numbers = numbers.astype(np.int64)
    single, kinds = numbers, int(numbers.max(initial=-1)) + 1
    width, found, owners = max(1, kinds), [numbers], [rows]
    for size in range(2, longest + 1):
        inside = places + size - 1 < len(tokens)
        places, numbers = places[inside], numbers[inside]
        inside = rows[places] == rows[places + size - 1]
        places, numbers = places[inside], numbers[inside]
        keys = numbers * width + single[places + size - 1]
        numbers = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        found.append(numbers + kinds)
        owners.append(rows[places])
        kinds += int(numbers.max(initial=-1)) + 1
    return NGramRows(np.concatenate(found), np.concatenate(owners), kinds)


def _learnt_and_asked(
    known: TrainingRows, sources: Sequence[Ids]
) -> tuple[NGramRows, NGramRows] | None:
    """The n-grams of training sources and of these, numbered alike; None if there are too many or
    none.
    """
    if not known.countable:
        return None
    spelt = getattr(known.source.config, "unit", "") in ("character", "byte")
    longest = LETTERS if spelt else WORDS
    tokens, rows = known.tokens()
    count = len(known.rows)
    asked = np.repeat(np.arange(len(sources)), [len(source) for source in sources]) + count
    if longest * (len(tokens) + len(asked)) > MOST_NGRAMS:
        return None
    every = number_ngrams(
        np.concatenate([tokens, *sources]), np.concatenate([rows, asked]), longest
    )
    return every.of_rows(0, count), every.of_rows(count, count + len(sources))


@BASELINES.part("naive Bayes over n-grams")
class NGramNaiveBayes(Baseline):
    """Naive Bayes on all n-grams of up to two words, or five letters, with additive smoothing of
    0.1; unknown n-grams are ignored.
    """

    target = "label"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        found = _learnt_and_asked(known, sources)
        labels = known.target.items.count
        if found is None:
            return None
        learnt, asked = found
        own = np.asarray(known.rows.flat("target")[0], np.int64)
        seen = np.zeros(learnt.kinds, np.bool_)
        seen[learnt.numbers] = True
        useful = np.intersect1d(asked.numbers, np.flatnonzero(seen))
        if labels * len(useful) > MOST_COUNTS:
            return None
        totals = np.bincount(own[learnt.rows], minlength=labels) + ADDED * seen.sum()
        counts = _count_useful(learnt, own[learnt.rows], useful, labels)
        likely = np.log(counts + ADDED) - np.log(totals)  # (n-grams, labels)
        shares = np.bincount(own, minlength=labels) / len(own)
        with np.errstate(divide="ignore"):
            scores = np.repeat(np.log(shares)[None], len(sources), axis=0)
        kept = seen[asked.numbers]
        rows, numbers = asked.rows[kept], np.searchsorted(useful, asked.numbers[kept])
        for label in range(labels):
            scores[:, label] += np.bincount(rows, likely[numbers, label], minlength=len(sources))
        return [known.target.cell([label]) for label in scores.argmax(axis=1).tolist()]


def _count_useful(learnt: NGramRows, labels: Ids, useful: Ids, kinds: int) -> Scores:
    """Count each of these n-grams by label."""
    places = np.searchsorted(useful, learnt.numbers).clip(max=max(0, len(useful) - 1))
    kept = useful[places] == learnt.numbers if len(useful) else np.zeros(len(labels), np.bool_)
    pairs = np.bincount(places[kept] * kinds + labels[kept], minlength=len(useful) * kinds)
    return pairs.reshape(len(useful), kinds).astype(np.float64)


@BASELINES.part("nearest training source")
class NearestSource(Baseline):
    """Predicts the target of the nearest training source, by cosine similarity of TF-IDF vectors of
    n-grams, with weights log(rows / rows with the n-gram) + 1.
    """

    target = "text"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        count = len(known.rows)
        found = None
        if len(sources) * count <= MOST_COMPARED:
            found = _learnt_and_asked(known, sources)
        if found is None:
            return None
        learnt, asked = (_Weights.of(each) for each in found)
        rare = np.log(count / np.maximum(1, np.bincount(learnt.numbers, minlength=found[0].kinds)))
        learnt, asked = learnt.scaled(rare + 1, count), asked.scaled(rare + 1, len(sources))
        order = np.argsort(learnt.numbers, kind="stable")
        numbers, rows, values = (each[order] for each in learnt)
        starts = np.searchsorted(numbers, np.arange(found[0].kinds + 1))
        texts: dict[int, str] = {}
        outputs = []
        for source in range(len(sources)):
            alike = np.zeros(count)
            own = slice(*np.searchsorted(asked.rows, [source, source + 1]))
            for number, value in zip(asked.numbers[own], asked.values[own], strict=True):
                stretch = slice(starts[number], starts[number + 1])
                alike[rows[stretch]] += value * values[stretch]
            best = int(alike.argmax())
            if best not in texts:
                texts[best] = known.target_cell(best)
            outputs.append(texts[best])
        return outputs


class _Weights(NamedTuple):
    """The distinct n-grams of each row with their weights, row after row."""

    numbers: Ids
    rows: Ids
    values: Scores

    @classmethod
    def of(cls, found: NGramRows) -> "_Weights":
        """Weight n-grams by their counts."""
        keys, counts = np.unique(found.rows * found.kinds + found.numbers, return_counts=True)
        return cls(keys % found.kinds, keys // found.kinds, counts.astype(np.float64))

    def scaled(self, weights: Scores, rows: int) -> "_Weights":
        """Multiply by the weights of n-grams, and normalize each row to length 1."""
        values = self.values * weights[self.numbers]
        lengths = np.sqrt(np.bincount(self.rows, values**2, minlength=rows))
        return self._replace(values=values / lengths[self.rows])
