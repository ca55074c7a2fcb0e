"""One pass over a data set before training: sizes, lengths, duplicates, a sample.

Memory is bounded: a row takes at most 24 bytes (three hashes), beyond `MOST_HASHES` rows only a
share of them are hashed, and at most `SAMPLE` rows are kept whole, fewer if they are very long.

`hold_out` chooses the held-out rows where no held-out data is given. Rows with the same source go
to the same side, so that nothing held out was seen in training; where sources repeat by nature, as
labels do, this holds for identical rows. The choice depends on each row and the seed, not on the
order of rows. Of a stream of text the end is held out, so that the rest is still one text.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from seqloom.config import ColumnStatistics, DataConfig, Facts
from seqloom.data.blocks.rows import BlockSource, RowBlock
from seqloom.data.blocks.splits import Split, TailSplit, split_key
from seqloom.data.memory_rows import Data
from seqloom.data.table import is_stream
from seqloom.data.table_windows import shared_windows
from seqloom.fields import split_turns, split_words
from seqloom.hashing import (
    Hashes,
    below_limit,
    choose_hashes,
    count_repeats,
    hash_texts,
)
from seqloom.parallel import BlockResults
from seqloom.randomness import key
from seqloom.readers.report import Report
from seqloom.surveys.findings import BlockFindings, SurveyTally, open_findings
from seqloom.surveys.sample import SampleCandidates

__all__ = [
    "Distribution",
    "Overlap",
    "Survey",
    "hold_out",
    "overlap",
    "survey",
]

SAMPLE = 100_000
COMPARED = 10_000  # sampled rows whose texts are compared
RARE = (2, 3, 5, 10)  # thresholds below which a word may be rare
COPIED, COPIED_ROWS = 0.8, 0.01  # shares of rare words that are copied, and of rows with one


@dataclass(frozen=True)
class Distribution:
    """The distribution of lengths."""

    mean: float
    minimum: int
    median: int
    percentile_95: int
    percentile_99: int
    maximum: int

    @classmethod
    def of(cls, counts: Mapping[int, int]) -> Self:
        """Compute from the count of each length; quantiles are lengths that occur."""
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


class Overlap(NamedTuple):
    """The number of rows of one data set that another contains."""

    rows: int
    sources: int


@dataclass(frozen=True)
class Survey:
    """The findings of a pass; characters are of all rows, words of sampled ones."""

    facts: Facts
    report: Report
    sample: list[tuple[str, str]]
    characters: tuple[Distribution, Distribution]
    words: tuple[Distribution, Distribution]
    row_hashes: Hashes
    source_hashes: Hashes  # of split keys
    input_hashes: Hashes  # of whole sources, over all their columns
    halvings: int = 0  # how often the share of hashed rows was halved

    @property
    def duplicate_rows(self) -> int:
        """Rows that repeat an earlier row."""
        return count_repeats(self.row_hashes, self.halvings)

    @property
    def duplicate_sources(self) -> int:
        """Rows that repeat an earlier row's source."""
        return count_repeats(self.input_hashes, self.halvings)

    def without_hashes(self) -> "Survey":
        """The survey without the hashes of rows, which take most of its memory."""
        none: Hashes = np.empty(0, np.uint64)
        return replace(self, row_hashes=none, source_hashes=none, input_hashes=none)

    def lines(self) -> list[str]:
        """The findings as lines of text."""
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


class _SurveyJob:
    """Computes the findings of blocks, with candidates for the sample."""

    def __init__(self, source: BlockSource, config: DataConfig, *, seed: int) -> None:
        self._source = source
        self._config = config
        self._candidates = SampleCandidates(SAMPLE, seed=seed)
        self._joined = config.turns or config.columns
        self._by_source = _is_split_by_source(config)

    def process(self, block: RowBlock) -> BlockFindings:
        """Lengths, hashes and sample candidates of a block."""
        report, config = Report(), self._config
        rows = self._source.parse(block, report)
        texts = (_source_text(source, config) for source in rows.sources)
        lengths = Counter(map(len, texts if self._joined else rows.sources))
        sources, targets = rows.sources, rows.targets
        pairs = list(zip(sources, targets, strict=True))
        row_hashes = hash_texts(f"{source}\0{target}" for source, target in pairs)
        inputs = hash_texts(source or target for source, target in pairs)
        hashes: tuple[Hashes, ...] = row_hashes, inputs
        if not self._by_source:
            keys = hash_texts(split_key(source, target, config) for source, target in pairs)
            hashes = row_hashes, keys, inputs
        both = lengths, Counter(map(len, targets))
        sample = self._candidates.choose(rows)
        return BlockFindings(report, both, hashes, sample, block.part, block.share)

    def finish(self) -> None:
        """Return nothing."""


Tell = Callable[[float], None]
"""Hears how much of the data was read, as a share of all; 0 where that is not known."""


def survey(
    data: Data,
    config: DataConfig,
    *,
    seed: int,
    tell: Tell = lambda share: None,
    keep: Path | None = None,
) -> Survey:
    """Read the data once on all cores, with the options of training, and describe it. With `keep`,
    findings are stored in a file, so that an interrupted survey continues.
    """
    source = BlockSource(data, config)
    tally = SurveyTally(2 if _is_split_by_source(config) else 3, SAMPLE)
    with open_findings(keep, data, config, seed=seed) as log:
        for found in log.replay():
            tally.add(found)
        job = _SurveyJob(source, config, seed=seed)
        for found in BlockResults(job, source.blocks(log.done) if not log.is_whole else ()):
            log.append(found, tally.hashes)
            tally.add(found)
            tell(found.share)
        log.finish()
    source.check_any(tally.report)
    return _describe(data, config, tally)


def _describe(
    data: Data,
    config: DataConfig,
    tally: SurveyTally,
) -> Survey:
    """Complete a survey from its counts and the sample."""
    report, lengths, hashes = tally.report, tally.lengths, tally.hashes
    rows, ordered = tally.sample.pairs(), hashes.sorted()
    characters = Distribution.of(lengths[0]), Distribution.of(lengths[1])
    sources = [_source_text(source, config) for source, _ in rows]
    targets = [target for _, target in rows]
    sides, words = zip(
        *(
            _column_statistics(texts, characters[n].mean)
            for n, texts in enumerate((sources, targets))
        ),
        strict=True,
    )
    columns = _each_column(rows, config, sides[0])
    target = replace(sides[1], source_overlap=_spelt_share(columns))
    several = columns if config.columns else ()
    return Survey(
        facts=Facts(
            report.kept,
            sides[0],
            target,
            is_stream(data),
            several,
            _copying_threshold(rows),
        ),
        report=report,
        sample=rows,
        characters=characters,
        words=(words[0], words[1]),
        row_hashes=ordered[0],
        source_hashes=ordered[1],
        input_hashes=ordered[-1],
        halvings=hashes.halvings,
    )


def overlap(data: Survey, other: Survey) -> Overlap:
    """Count the rows of `other` (validation data, for example) that `data` contains: whole, or by
    source.
    """
    halvings = max(data.halvings, other.halvings)

    def count(mine: Hashes, theirs: Hashes) -> int:
        found = np.isin(below_limit(theirs, halvings), mine).sum()
        return int(found) << halvings

    return Overlap(
        count(data.row_hashes, other.row_hashes), count(data.input_hashes, other.input_hashes)
    )


def _is_split_by_source(config: DataConfig) -> bool:
    """Whether rows are split by their whole source."""
    return bool(config.source) and config.split == "source" and not config.turns


def _source_text(source: str, config: DataConfig) -> str:
    """The text of a source, without the markup of its turns."""
    return " ".join(split_turns(source)) if config.turns or config.columns else source


def _each_column(
    rows: Sequence[tuple[str, str]], config: DataConfig, whole: ColumnStatistics
) -> tuple[ColumnStatistics, ...]:
    """The statistics of each source column, and its overlap with the target; `whole` are those of
    all columns together.
    """
    some = rows[:: -(-len(rows) // COMPARED)]
    if not config.columns:
        return (replace(whole, target_overlap=_mean_overlap(some)),)
    found = []
    for texts, few in zip(_by_column(rows), _by_column(some), strict=True):
        characters = sum(map(len, texts)) / len(texts)
        statistics, _ = _column_statistics(texts, characters)
        pairs = [(text, row[1]) for text, row in zip(few, some, strict=True)]
        found.append(replace(statistics, target_overlap=_mean_overlap(pairs)))
    return tuple(found)


def _by_column(rows: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The texts of each source column."""
    return list(zip(*(split_turns(source) for source, _ in rows), strict=True))


def _mean_overlap(pairs: Sequence[tuple[str, str]]) -> float:
    """The mean of `_pair_overlap`."""
    return sum(_pair_overlap(*pair) for pair in pairs) / len(pairs)


def _spelt_share(columns: Iterable[ColumnStatistics]) -> float:
    """The share of a source that recurs in the target, by characters rather than by symbols."""
    spelt = [each.target_overlap for each in columns if not each.is_symbol_sequence]
    return max(spelt, default=0.0)


def _copying_threshold(rows: Sequence[tuple[str, str]]) -> int:
    """The smallest count below which nearly all target words are copies from their source, in
    enough rows to learn from; 0 if there is none.
    """
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
    """The share of a text's character bigrams that its target contains."""
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


def hold_out(survey: Survey, config: DataConfig, *, seed: int) -> Split | TailSplit:
    """Hold out about `valid_share` of the rows and at most `valid_rows`.

    For a stream and for windows over time, these are the last rows. For other data, at least one
    row is held out if there are two distinct sources, none with a share of 0. A source of many rows
    stays in training unless all sources have many. If even the rarest source has more than a
    quarter of the rows, and more than one, identical rows are held out instead; if those are as
    frequent, none are.
    """
    if config.lines == "stream" or config.window:
        rows = survey.facts.rows
        most = min(config.valid_rows, math.ceil(config.valid_share * rows), rows - 1)
        return TailSplit(rows - most, rows, apart=shared_windows(config))
    total, nothing = survey.facts.rows, Split(frozenset(), config)
    has_one_source = not survey.halvings and not _are_different(survey.source_hashes)
    if config.valid_share == 0 or has_one_source:
        return nothing
    most = max(1, min(config.valid_rows, int(config.valid_share * total)))
    by_row = config.model_copy(update={"split": "row"})
    for hashes, split in ((survey.source_hashes, config), (survey.row_hashes, by_row)):
        if _are_different(hashes):
            found = choose_hashes(hashes, most, key(seed, "held out"), rows=total)
            if found:
                return Split(found, split)
    return nothing


def _are_different(ordered: Hashes) -> bool:
    """Whether there are two distinct hashes; of few sources, perhaps none has a stored hash."""
    return bool(len(ordered) and ordered[0] != ordered[-1])
