"""Baselines of labels, tags and numbers: simple rules learnt from the same training rows (S8).

Each is a class that predicts a cell per row. Baselines read rows as the model does, in the same
tokens. Cheap ones are also compared at the end of training.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqloom.baselines.windows import ConcatenatedWindows, beginnings, windows_around
from seqloom.data import Corpus, CorpusPass
from seqloom.errors import RunError
from seqloom.fields import Field, Values
from seqloom.registry import Family

__all__ = ["BASELINES", "MOST_COUNTS", "Baseline", "TrainingRows", "baselines"]

MOST_COUNTS = 1 << 25  # size of a table of label and token counts
FIRST = 16  # first tokens of a text that a linear classifier reads
REACH = 2  # tokens read on either side
SOLVER_STEPS = 200  # solver iterations of the linear baseline

Counts = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class TrainingRows:
    """The training rows, with the fields of their columns."""

    rows: CorpusPass
    source: Field
    target: Field

    @classmethod
    def open(cls, place: Path, source: Field, target: Field) -> "TrainingRows":
        """The rows that a run was trained on; RunError if they are missing or of other fields."""
        rows = Corpus.open(place)
        for column, values in ((source, rows.sources), (target, rows.targets)):
            symbols = column.items.symbols is not None
            if symbols and _first_column(values).max(initial=0) >= column.items.count:
                raise RunError(
                    "its rows are not those of the run", place=place, remedy="train on to mend it"
                )
        return cls(CorpusPass(rows), source, target)

    @property
    def countable(self) -> bool:
        """Whether the source consists of symbols, whose occurrences can be counted."""
        return self.source.items.symbols is not None

    def tokens(self) -> tuple[Ids, Ids]:
        """The concatenated tokens of the source without `<end>`, and the row of each."""
        values, rows = self.rows.flat("source", closing=self.source.closing)
        return token_ids(values), rows

    def source_rows(self, count: int) -> list[Ids]:
        """The tokens of each of the first `count` sources, without `<end>`."""
        tokens, rows = self.tokens()
        ends = np.searchsorted(rows, np.arange(1, count + 1))
        return np.split(tokens[: ends[-1]], ends[:-1]) if count else []

    def target_cell(self, row: int) -> str:
        """The target of a training row."""
        batch = self.rows.batch(np.array([row]))
        return self.target.cell(batch.target[0, : batch.target_lengths[0]])

    def fits_windows(self, size: int) -> bool:
        """Whether a linear classifier on windows of this size is small enough to learn."""
        return self.countable and size * self.source.items.count * self.target.items.count <= (
            MOST_COUNTS
        )


class Baseline(ABC):
    """A rule that predicts targets of one kind; register it in BASELINES under its name."""

    target: ClassVar[str]  # the kind of the target column
    is_cheap: ClassVar[bool] = True  # whether it is compared at the end of training too
    reads_items: ClassVar[bool] = False  # whether it reads encoded items rather than token ids

    @abstractmethod
    def outputs(self, known: TrainingRows, sources: Sequence[Any]) -> list[str] | None:
        """A cell for each source; None if the rule does not apply to the columns."""


BASELINES: Family[Any, type[Baseline]] = Family("baseline", home="seqloom.baselines")


def baselines(
    known: TrainingRows, sources: Sequence[Values], *, only_cheap: bool = False
) -> dict[str, list[str]]:
    """Predictions for these encoded sources by every baseline of the target's kind."""
    items = [row[: len(row) - known.source.closing] for row in sources]
    tokens = [token_ids(row) for row in items] if known.countable else items
    kind, found = known.target.config.kind, {}
    for name in BASELINES.kinds():
        rule = BASELINES.parts[name]
        if rule.target != kind or (only_cheap and not rule.is_cheap):
            continue
        outputs = rule().outputs(known, items if rule.reads_items else tokens)
        if outputs is not None:
            found[name] = outputs
    return found


def token_ids(values: Values) -> Ids:
    """The token ids of items that may also have spellings."""
    return np.asarray(_first_column(values), np.int64)


def _first_column(values: Values) -> Values:
    """The first column, unconverted, as it may be on disk."""
    return values if values.ndim == 1 else values[:, 0]


@BASELINES.part("commonest label")
class MajorityLabel(Baseline):
    """The same for every row."""

    target = "label"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str]:
        """A cell for each source."""
        counts = np.bincount(known.rows.targets, minlength=2)
        return [known.target.cell([int(counts.argmax())])] * len(sources)


@BASELINES.part("naive Bayes")
class NaiveBayes(Baseline):
    """Naive Bayes: the label with the largest log P(label) + Σ log P(token | label), with add-one
    smoothing; unknown tokens are ignored.
    """

    target = "label"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        labels, vocabulary = known.target.items.count, known.source.items.count
        if not known.countable or labels * vocabulary > MOST_COUNTS:
            return None
        tokens, rows = known.tokens()
        own = np.asarray(known.rows.flat("target")[0], np.int64)
        pairs = np.bincount(own[rows] * vocabulary + tokens, minlength=labels * vocabulary)
        counts = pairs.reshape(labels, vocabulary)
        likely = np.log(counts + 1.0) - np.log(counts.sum(axis=1, keepdims=True) + vocabulary)
        likely[:, counts.sum(axis=0) == 0] = 0.0
        shares = np.bincount(own, minlength=labels) / len(own)
        with np.errstate(divide="ignore"):
            before = np.log(shares)
        best = [int(np.argmax(before + likely[:, row].sum(axis=1))) for row in sources]
        return [known.target.cell([label]) for label in best]


@BASELINES.part("concatenated window, 16 tokens")
class LinearBeginning(Baseline):
    """A linear classifier on the concatenated one-hot vectors of the first tokens, by ridge
    regression on each label's indicator.
    """

    target = "label"
    is_cheap = False

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        if not known.fits_windows(FIRST):
            return None
        labels = np.asarray(known.rows.flat("target")[0], np.int64)
        learnt = beginnings(known.source_rows(len(labels)), FIRST)
        best = _classify(learnt, labels, beginnings(sources, FIRST), known)
        return [known.target.cell([label]) for label in best.tolist()]


@BASELINES.part("commonest tag of each word")
class MajorityTags(Baseline):
    """The most frequent tag of each token; for an unknown token, the most frequent tag of all."""

    target = "tags"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        if not known.countable:
            return None
        tokens, _ = known.tokens()
        tags, _ = known.rows.flat("target")
        kinds = known.target.items.count
        pairs, counts = np.unique(tokens * kinds + tags, return_counts=True)
        usual = np.full(known.source.items.count, np.bincount(tags).argmax(), np.int64)
        for pair in pairs[np.argsort(counts, kind="stable")].tolist():
            usual[pair // kinds] = pair % kinds
        return [known.target.cell(usual[row]) for row in sources]


@BASELINES.part("concatenated window, 5 tokens")
class LinearWindow(Baseline):
    """A linear classifier on the concatenated one-hot vectors of a token and its neighbours, by
    ridge regression on each tag's indicator.
    """

    target = "tags"
    is_cheap = False

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        if not known.fits_windows(2 * REACH + 1):
            return None
        tags, rows = known.rows.flat("target")
        learnt = windows_around(known.source_rows(int(rows.max(initial=-1)) + 1), REACH)
        asked = windows_around(sources, REACH)
        best = _classify(learnt, np.asarray(tags, np.int64), asked, known)
        ends = np.cumsum([len(row) for row in sources])[:-1]
        return [known.target.cell(row) for row in np.split(best, ends)]


@BASELINES.part("commonest tag")
class MajorityTag(Baseline):
    """The most frequent tag, for sources that are not symbols."""

    target = "tags"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        if known.countable:
            return None
        commonest = int(np.bincount(known.rows.flat("target")[0]).argmax())
        return [known.target.cell([commonest] * len(row)) for row in sources]


@BASELINES.part("mean")
class MeanNumber(Baseline):
    """The same for every row."""

    target = "number"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str]:
        """A cell for each source."""
        return [known.target.cell(known.rows.targets.mean(axis=0, keepdims=True))] * len(sources)


@BASELINES.part("linear")
class RidgeRegression(Baseline):
    """Ridge regression on token counts and the number of tokens: the weights w with the least Σ
    (x·w − y)² + w², found by conjugate gradients.
    """

    target = "number"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        if not known.countable:
            return None
        vocabulary = known.source.items.count
        targets, _ = known.rows.flat("target")
        middle = targets.mean(axis=0)
        learnt = _BagsOfWords(*known.tokens(), len(targets), vocabulary)
        weights = np.stack([learnt.solve_ridge(column) for column in (targets - middle).T], axis=1)
        rows = np.repeat(np.arange(len(sources)), [len(row) for row in sources])
        asked = _BagsOfWords(np.concatenate(sources), rows, len(sources), vocabulary)
        found = np.stack([asked.matvec(column) for column in weights.T], axis=1) + middle
        return [known.target.cell(each[None]) for each in found]


def _classify(learnt: Ids, classes: Ids, asked: Ids, known: TrainingRows) -> Ids:
    """Predict the class of each window, by ridge regression on the training windows."""
    vocabulary, kinds = known.source.items.count, known.target.items.count
    targets = (classes[:, None] == np.arange(kinds)).astype(np.float32)
    shares = targets.mean(axis=0)
    weights = ConcatenatedWindows(learnt, vocabulary).solve_ridge(targets - shares)
    scores = ConcatenatedWindows(asked, vocabulary).multiply(weights) + shares
    scores[:, shares == 0] = -np.inf
    best: Ids = scores.argmax(axis=1)
    return best


@dataclass(frozen=True)
class _BagsOfWords:
    """A matrix of bag-of-words rows: the counts of each token, their total, and 1."""

    tokens: Ids
    rows: Ids  # row of each token
    texts: int
    vocabulary: int

    def matvec(self, weights: Counts) -> Counts:
        """Multiply the matrix by a vector."""
        parts = weights[self.tokens] + weights[-2]
        sums = np.bincount(self.rows, parts, minlength=self.texts)
        return np.asarray(sums + weights[-1], np.float64)

    def rmatvec(self, values: Counts) -> Counts:
        """Multiply the transposed matrix by a vector."""
        parts = values[self.rows]
        tokens = np.bincount(self.tokens, parts, minlength=self.vocabulary)
        return np.concatenate([tokens, [parts.sum(), values.sum()]])

    def solve_ridge(self, targets: Counts) -> Counts:
        """The weights of the ridge regression to these targets, by conjugate gradients."""
        weights = np.zeros(self.vocabulary + 2)
        left = self.rmatvec(np.asarray(targets, np.float64))
        way, size = left, float(left @ left)
        enough = 1e-12 * size
        for _ in range(SOLVER_STEPS):
            if size <= enough:
                break
            image = self.rmatvec(self.matvec(way)) + way
            step = size / float(way @ image)
            weights, left = weights + step * way, left - step * image
            before, size = size, float(left @ left)
            way = left + size / before * way
        return weights
