"""One pass over a data set before anything is learnt from it: sizes, lengths, duplicates, a sample.

Memory does not grow with the length of the texts: a row leaves 24 bytes behind (three hashes), and
at most `SAMPLE` rows are kept whole.

`hold_out` chooses the held-out rows where no held-out data is given. Rows with the same source go
to the same side, so that nothing held out was seen in training; where sources repeat by nature, as
labels do, this holds for identical rows. The choice depends on each row and the seed, not on the
order of rows. Of a stream of text the end is held out, so that the rest is still one text.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice, pairwise
from random import Random
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.config import ColumnStatistics, DataConfig, Facts
from seqloom.data.memory_rows import Data
from seqloom.data.table import Report, Row, is_stream, read_rows
from seqloom.data.table_windows import shared_windows
from seqloom.fields import split_turns, split_words
from seqloom.randomness import key

__all__ = [
    "Distribution",
    "Overlap",
    "Reservoir",
    "Split",
    "Survey",
    "TailSplit",
    "hold_out",
    "overlap",
    "split_key",
    "survey",
    "text_hash",
]

SAMPLE = 100_000
RARE = (2, 3, 5, 10)  # times, below which a word may be rare
COPIED, COPIED_ROWS = 0.8, 0.01  # shares of rare words that are copies, and of rows that have one
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Distribution:
    """How a length is spread over the rows."""

    mean: float
    minimum: int
    median: int
    percentile_95: int
    percentile_99: int
    maximum: int

    @classmethod
    def of(cls, counts: Mapping[int, int]) -> Self:
        """From how often each length occurs; a quantile is a length that occurs."""
        lengths = np.array(sorted(counts))
        upto = np.cumsum([counts[length] for length in lengths.tolist()])
        rows = int(upto[-1])
        mean = sum(length * count for length, count in counts.items()) / rows
        ranks = np.ceil(np.array([0.0, 0.5, 0.95, 0.99, 1.0]) * rows).clip(1)
        return cls(mean, *lengths[np.searchsorted(upto, ranks)].tolist())

    def __str__(self) -> str:
        return (
            f"mean {self.mean:.1f}, from {self.minimum:,} to {self.maximum:,}, half up to "
            f"{self.median:,}, 95 % up to {self.percentile_95:,}, 99 % up to {self.percentile_99:,}"
        )


class Reservoir:
    """A bounded sample of a stream of rows, each as likely to be in it as another."""

    def __init__(self, capacity: int, *, seed: int) -> None:
        self.rows: list[tuple[str, str]] = []
        self._capacity = capacity
        self._seen = 0
        self._random = Random(key(seed, "sample"))

    def add(self, row: tuple[str, str]) -> None:
        """Take the row in, perhaps in place of another, or pass it by."""
        self._seen += 1
        if self._seen <= self._capacity:
            self.rows.append(row)
        elif (place := self._random.randrange(self._seen)) < self._capacity:
            self.rows[place] = row


class Overlap(NamedTuple):
    """Rows of one data set that another holds as well."""

    rows: int
    sources: int


@dataclass(frozen=True)
class Survey:
    """What one pass found; characters are of all rows, words of the sampled ones."""

    facts: Facts
    report: Report
    sample: list[tuple[str, str]]
    characters: tuple[Distribution, Distribution]
    words: tuple[Distribution, Distribution]
    row_hashes: Hashes
    source_hashes: Hashes  # of what rows are split by
    input_hashes: Hashes  # of whole sources, over all their columns

    @property
    def duplicate_rows(self) -> int:
        """Rows that repeat an earlier one, source and target alike."""
        return len(self.row_hashes) - len(np.unique(self.row_hashes))

    @property
    def duplicate_sources(self) -> int:
        """Rows whose source an earlier row has too."""
        return len(self.input_hashes) - len(np.unique(self.input_hashes))

    def lines(self) -> list[str]:
        """The findings in words."""
        sides = zip(("source", "target"), self.characters, self.words, strict=True)
        return [
            *self.report.lines(),
            f"repeated rows: {self.duplicate_rows:,}",
            f"repeated sources: {self.duplicate_sources:,}",
            *(
                f"{side} {unit}: {spread}"
                for side, characters, words in sides
                for unit, spread in (("characters", characters), ("words", words))
            ),
        ]


def survey(data: Data, config: DataConfig, *, seed: int) -> Survey:
    """Read the data once, as training will, and describe it."""
    report = Report()
    reservoir = Reservoir(SAMPLE, seed=seed)
    lengths: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    row_hashes, source_hashes, input_hashes = array("Q"), array("Q"), array("Q")
    for source, target, *_ in read_rows(data, config, report):
        lengths[0][len(_source_text(source, config))] += 1
        lengths[1][len(target)] += 1
        row_hashes.append(text_hash(f"{source}\0{target}"))
        source_hashes.append(text_hash(split_key(source, target, config)))
        input_hashes.append(text_hash(source or target))
        reservoir.add((source, target))
    characters = Distribution.of(lengths[0]), Distribution.of(lengths[1])
    sources = [_source_text(source, config) for source, _ in reservoir.rows]
    targets = [target for _, target in reservoir.rows]
    sides, words = zip(
        *(
            _column_statistics(texts, characters[n].mean)
            for n, texts in enumerate((sources, targets))
        ),
        strict=True,
    )
    columns = _each_column(reservoir.rows, config)
    target = replace(sides[1], source_overlap=_spelt_share(columns))
    several = columns if config.columns else ()
    return Survey(
        facts=Facts(
            report.kept,
            sides[0],
            target,
            is_stream(data),
            several,
            _copying_threshold(reservoir.rows),
        ),
        report=report,
        sample=reservoir.rows,
        characters=characters,
        words=(words[0], words[1]),
        row_hashes=np.sort(np.frombuffer(row_hashes, np.uint64)),
        source_hashes=np.sort(np.frombuffer(source_hashes, np.uint64)),
        input_hashes=np.sort(np.frombuffer(input_hashes, np.uint64)),
    )


def overlap(data: Survey, other: Survey) -> Overlap:
    """How many rows of `other` (held-out data, say) `data` has too: whole, or by their source."""
    return Overlap(
        int(np.isin(other.row_hashes, data.row_hashes).sum()),
        int(np.isin(other.input_hashes, data.input_hashes).sum()),
    )


def split_key(source: str, target: str, config: DataConfig) -> str:
    """What tells a row from others: its source, or all of it where sources come back by nature.

    Histories tell by their first turn, so that the replies of a dialog stay together.
    """
    if config.turns and config.split == "source":
        return split_turns(source)[0]
    return source if source and config.split == "source" else f"{source}\0{target}"


def text_hash(text: str) -> int:
    """A 64-bit number of a text, the same on every machine."""
    return int.from_bytes(blake2b(text.encode("utf-8"), digest_size=8).digest(), "little")


def _source_text(source: str, config: DataConfig) -> str:
    """The text of a source, without what holds its turns together."""
    return " ".join(split_turns(source)) if config.turns or config.columns else source


def _each_column(
    rows: Sequence[tuple[str, str]], config: DataConfig
) -> tuple[ColumnStatistics, ...]:
    """The statistics of each source column, and how much of it is in the target too."""
    cells = [split_turns(source) if config.columns else [source] for source, _ in rows]
    found = []
    for texts in zip(*cells, strict=True):
        characters = sum(map(len, texts)) / len(texts)
        shares = [_pair_overlap(text, row[1]) for text, row in zip(texts, rows, strict=True)]
        statistics, _ = _column_statistics(texts, characters)
        found.append(replace(statistics, target_overlap=sum(shares) / len(shares)))
    return tuple(found)


def _spelt_share(columns: Iterable[ColumnStatistics]) -> float:
    """How much of a source comes back in the target by its letters rather than its symbols."""
    spelt = [each.target_overlap for each in columns if not each.is_symbol_sequence]
    return max(spelt, default=0.0)


def _copying_threshold(rows: Sequence[tuple[str, str]]) -> int:
    """The least count below which nearly all target words stand in their source too, in enough
    rows to learn from; 0 where there is none."""
    counts = Counter(word for _, target in rows for word in target.split())
    rare: list[
        tuple[int, int, bool]
    ] = []  # the count of a rare word, its row, whether it is copied
    for number, (source, target) in enumerate(rows):
        words = [word for word in target.split() if counts[word] < RARE[-1]]
        if words:
            known = set(source.split())
            rare += [(counts[word], number, word in known) for word in words]
    for limit in RARE:
        copies = [(row, copied) for count, row, copied in rare if count < limit]
        touched = {row for row, copied in copies if copied}
        enough = touched and len(touched) >= COPIED_ROWS * len(rows)
        if enough and sum(copied for _, copied in copies) >= COPIED * len(copies):
            return limit
    return 0


def _pair_overlap(text: str, target: str) -> float:
    """The share of the pairs of characters in a text that its target has too."""
    pairs = {first + second for first, second in pairwise(text.casefold())}
    folded = target.casefold()
    return sum(pair in folded for pair in pairs) / len(pairs) if pairs else 0.0


def _column_statistics(
    texts: Iterable[str], mean_characters: float
) -> tuple[ColumnStatistics, Distribution]:
    characters: set[str] = set()
    words: set[str] = set()
    counts: Counter[int] = Counter()
    spaces = 0
    for text in texts:
        found = split_words(text)
        characters.update(text)
        words.update(found)
        counts[len(found)] += 1
        spaces += sum(map(str.isspace, text))
    spread, rows = Distribution.of(counts), counts.total()
    gaps = spaces / rows
    capitals = any(char != char.lower() for char in characters)
    distinct = len(characters), len(words)
    return ColumnStatistics(
        mean_characters, spread.mean, gaps, *distinct, rows, has_capitals=capitals
    ), spread


LARGEST_SHARE = 0.25  # of the rows that one source or row may take when it is held out


@dataclass(frozen=True)
class Split:
    """The hashes of what is held out: sources or, as `data.split` says, rows."""

    holdout: frozenset[int]
    config: DataConfig

    def is_valid(self, row: Row) -> bool:
        """Whether a row is held out."""
        return text_hash(split_key(row.source, row.target, self.config)) in self.holdout

    def train(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows to learn from."""
        return (row for row in rows if not self.is_valid(row))

    def valid(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows held out."""
        return (row for row in rows if self.is_valid(row))


@dataclass(frozen=True)
class TailSplit:
    """The end of a stream is held out, from a row on that is counted from 0.

    So many rows before it are left out, since they are in part the same.
    """

    start: int
    rows: int
    apart: int = 0

    @property
    def holdout(self) -> frozenset[int]:
        """The numbers of the rows held out."""
        return frozenset(range(self.start, self.rows))

    def train(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows to learn from."""
        return islice(rows, max(1, self.start - self.apart))

    def valid(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows held out."""
        return islice(rows, self.start, None)


def hold_out(survey: Survey, config: DataConfig, *, seed: int) -> Split | TailSplit:
    """Hold out about `valid_share` of the rows and at most `valid_rows`.

    Of a stream and of windows over time these are the last rows, whatever they say. Of other data
    at least one row is held out where there are two different sources; none is with a share of 0. A
    source that many rows repeat stays in training, unless all are like that. Where even the rarest
    source has more than a quarter of the rows, and more than one, rows that are wholly alike are
    held out in its place; where those are as many, none are.
    """
    if config.lines == "stream" or config.window:
        rows = survey.facts.rows
        most = min(config.valid_rows, math.ceil(config.valid_share * rows), rows - 1)
        return TailSplit(rows - most, rows, apart=shared_windows(config))
    if config.valid_share == 0 or len(np.unique(survey.source_hashes)) < 2:
        return Split(frozenset(), config)
    most = max(1, min(config.valid_rows, int(config.valid_share * survey.facts.rows)))
    found = _choose_hashes(survey.source_hashes, most, key(seed, "held out"))
    if found:
        return Split(found, config)
    by_row = config.model_copy(update={"split": "row"})
    return Split(_choose_hashes(survey.row_hashes, most, key(seed, "held out")), by_row)


def _choose_hashes(all_hashes: NDArray[np.uint64], most: int, salt: int) -> frozenset[int]:
    """What is held out of rows with these hashes; nothing where that takes too many of them."""
    hashes, counts = np.unique(all_hashes, return_counts=True)
    if counts.min() > max(1, most, LARGEST_SHARE * len(all_hashes)):
        return frozenset()
    often = max(1, most // 10, int(counts.min()))
    order = np.argsort(_mix_hashes(hashes, salt), kind="stable")
    order = order[counts[order] <= often]
    chosen = max(1, int(np.searchsorted(np.cumsum(counts[order]), most, side="right")))
    return frozenset(hashes[order[:chosen]].tolist())


def _mix_hashes(hashes: NDArray[np.uint64], salt: int) -> NDArray[np.uint64]:
    """Other numbers in place of these, one to one, so that each seed has an order of its own."""
    mixed = hashes ^ np.uint64(salt)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(33))
