"""Train word vectors on texts with gensim's word2vec (S1.5)."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from seqloom.config import DataConfig
from seqloom.data import Data, Report, WordVectors, describe_data, read_rows
from seqloom.errors import ConfigError, DataError
from seqloom.fields import split_words
from seqloom.remedies import Remedy, Setting
from seqloom.tokenizers import split_symbols
from seqloom.tokenizers.normalization import normalize

__all__ = ["KINDS", "Word2VecOptions", "WordCorpus", "learn_vectors"]

KINDS = ("skip-gram", "cbow")
LONGEST = 10_000  # words per batch of gensim
Tell = Callable[[str], None]


@dataclass(frozen=True)
class WordCorpus:
    """The words of a column, text by text; every iteration reads the file again."""

    data: Data
    config: DataConfig
    unit: Literal["word", "symbol"] = "word"
    lowercase: bool = False

    @classmethod
    def of(cls, data: Data, column: str, *, skip_bad: bool = False) -> "WordCorpus":
        """Open a column by name or position; a text file has only one."""
        return cls(data, DataConfig(source="", target=column, skip_bad=skip_bad))

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the words of each text, tokenized by the unit."""
        return self.texts(Report())

    def texts(self, report: Report) -> Iterator[list[str]]:
        """Yield the words of each text; rows read and skipped are counted in the report."""
        cut = split_words if self.unit == "word" else split_symbols
        for row in read_rows(self.data, self.config, report):
            words = list(cut(normalize(row.target, form="NFC", lowercase=self.lowercase)))
            for start in range(0, len(words), LONGEST):
                yield words[start : start + LONGEST]


@dataclass(frozen=True)
class Word2VecOptions:
    """Training options of word2vec."""

    kind: str = "skip-gram"
    size: int = 100  # dimensions of a vector
    window: int = 5  # context words on either side
    least: int = 5  # occurrences that a word needs to get a vector
    negative: int = 5  # negative samples per positive one
    passes: int = 10
    seed: int = 1


def learn_vectors(corpus: WordCorpus, learning: Word2VecOptions, tell: Tell) -> WordVectors:
    """Train a vector for each frequent word, the most frequent first.

    The result is deterministic for the same texts, options and seed on one machine.
    """
    if learning.kind not in KINDS:
        raise ConfigError(
            "there is no such kind",
            place=Setting("kind", learning.kind),
            remedy=f"choose {' or '.join(KINDS)}",
        )
    word2vec = _word2vec()
    report = Report()
    counts = Counter(word for text in corpus.texts(report) for word in text)
    kept = sum(count >= learning.least for count in counts.values())
    if report.total_dropped:
        tell("\n".join(report.lines()))
    tell(
        f"{report.kept:,} texts, {counts.total():,} words, {len(counts):,} different ones; "
        f"{kept:,} come {learning.least:,} times or more"
    )
    if kept < 2:
        raise DataError(
            f"{'one word comes' if kept else 'no word comes'} {learning.least:,} times or more",
            place=describe_data(corpus.data),
            remedy=Remedy("lower {}, or give more text", Setting("least")),
        )
    model = word2vec(
        corpus,
        sg=int(learning.kind == "skip-gram"),
        vector_size=learning.size,
        window=learning.window,
        min_count=learning.least,
        negative=learning.negative,
        epochs=learning.passes,
        seed=learning.seed,
        workers=1,  # one thread keeps the order of updates fixed
    )
    return WordVectors(tuple(model.wv.index_to_key), np.asarray(model.wv.vectors, np.float32))


def _word2vec() -> Callable[..., Any]:
    try:
        from gensim.models import Word2Vec  # type: ignore[import-untyped]
    except ImportError as error:
        raise ConfigError(
            f"learning word vectors needs {error.name}, which is not installed",
            remedy="pip install 'seqloom[vectors]'",
        ) from None
    logging.getLogger("gensim").setLevel(logging.ERROR)
    found: Callable[..., Any] = Word2Vec
    return found
