"""Word alignment read off the attention weights.

Pharaoh format: `0-0 2-1`, source and output words by number from 0, cut at white space.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seqloom.errors import ConfigError, DataError
from seqloom.explain.compute.attention import attention_of
from seqloom.explain.compute.explained_output import ExplainedText
from seqloom.fields import END, TextField, Values
from seqloom.prediction import TextPredictor

__all__ = [
    "Alignment",
    "Alignments",
    "ErrorRate",
    "Gold",
    "align",
    "alignment_errors",
    "parse_gold",
]

Links = frozenset[tuple[int, int]]
LINK = re.compile(r"(\d+)([-p?])(\d+)")


@dataclass(frozen=True, eq=False)
class Alignment:
    """The words of an input and an output, and how much each output word looked at each other.

    The weights of a source word's tokens are added, those of an output word's averaged.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray  # (T, S); what is left to 1 was given to `<end>` or to spaces

    @property
    def links(self) -> Links:
        """Source and output word by number: each output word with the one it looked at most.

        A word that looked at none of them more than at `<end>` belongs to none.
        """
        if not self.source:
            return frozenset()
        rest = 1 - self.weights.sum(axis=1)
        best = self.weights.argmax(axis=1)
        return frozenset(
            (int(s), t)
            for t, s in enumerate(best)
            if self.weights[t, s] > 0 and self.weights[t, s] >= rest[t]
        )

    def pharaoh(self) -> str:
        """The links in Pharaoh format."""
        return " ".join(f"{s}-{t}" for s, t in sorted(self.links))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "links": [list(link) for link in sorted(self.links)],
            "pharaoh": self.pharaoh(),
        }


@dataclass(frozen=True, eq=False)
class Alignments:
    """The alignments of several inputs, and how they compare to gold ones where those are known."""

    alignments: tuple[Alignment, ...]
    errors: "ErrorRate | None" = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {"alignments": [one.as_dict() for one in self.alignments]}
        return plain if self.errors is None else {**plain, **self.errors.as_dict()}


def align(model: TextPredictor, said: ExplainedText, *, layer: int | None = None) -> Alignment:
    """The alignment of an output with its source, which must be text."""
    source = _split_words(_text_source(model), said.values)
    target = _split_words(model.target, said.target_ids)
    attention = attention_of(model, said).select_map(layer=layer)
    weights = _pool_by_word(attention.weights, target.numbers, mean=True)
    weights = _pool_by_word(weights.T, source.numbers).T
    return Alignment(source.words, target.words, weights)


def _text_source(model: TextPredictor) -> TextField:
    """The source column of a model that reads text; ConfigError for any other."""
    if not isinstance(model.source, TextField):
        raise ConfigError(
            f"words are aligned with words, and the source here is {model.source.describe()}: try "
            "--show gradients or steps"
        )
    return model.source


class _Words(NamedTuple):
    """The words of a text, and the word that each token belongs to; −1 where to none."""

    words: tuple[str, ...]
    numbers: tuple[int, ...]


def _split_words(field: TextField, row: Sequence[int] | Values) -> _Words:
    """A token belongs to the word in which its first character that is no space lies."""
    table = np.asarray(row)
    ids = (table if table.ndim == 1 else table[:, 0]).tolist()
    whole = field.decode(ids)
    spans = [match.span() for match in re.finditer(r"\S+", whole)]
    ends = [len(field.decode(ids[:count])) for count in range(len(ids) + 1)]
    numbers = []
    for token, (begin, end) in zip(ids, pairwise(ends), strict=True):
        inside = [
            number
            for number, (first, last) in enumerate(spans)
            if token != END and first < max(end, begin + 1) and begin < last
        ]
        numbers.append(inside[0] if inside else -1)
    return _Words(tuple(whole[first:last] for first, last in spans), tuple(numbers))


def _pool_by_word(rows: np.ndarray, numbers: Sequence[int], *, mean: bool = False) -> np.ndarray:
    """Rows of tokens as rows of their words."""
    table = np.zeros((max(numbers, default=-1) + 1, rows.shape[1]))
    counts = np.zeros(len(table))
    for row, number in zip(rows, numbers, strict=True):
        if number >= 0:
            table[number] += row
            counts[number] += 1
    return table / np.maximum(counts, 1)[:, None] if mean else table


class Gold(NamedTuple):
    """Links that people are sure of, and those they hold for possible, the sure among them."""

    sure: Links
    possible: Links


def parse_gold(lines: Iterable[str], *, place: str) -> Iterator[Gold]:
    """Each line in Pharaoh format; `3-4` is sure, `3p4` or `3?4` possible."""
    for number, line in enumerate(lines, start=1):
        found = []
        for word in line.split():
            match = LINK.fullmatch(word)
            if match is None:
                raise DataError(
                    f"{place}:{number}: {word[:40]!r} is no link; write 3-4 where it is sure and "
                    "3p4 where it is possible"
                )
            found.append((match[2] == "-", (int(match[1]), int(match[3]))))
        sure = frozenset(link for certain, link in found if certain)
        yield Gold(sure, sure | {link for _, link in found})


@dataclass(frozen=True)
class ErrorRate:
    """Alignment error rate: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), over all sentences."""

    sentences: int
    links: int  # |A|
    sure: int  # |S|
    sure_found: int  # |A ∩ S|
    possible_found: int  # |A ∩ P|

    @property
    def value(self) -> float:
        """0 where all agree; 1 where nothing does."""
        total = self.links + self.sure
        return 1 - (self.sure_found + self.possible_found) / total if total else 0.0

    @property
    def precision(self) -> float:
        """The share of links that are possible."""
        return self.possible_found / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """The share of sure links that were found."""
        return self.sure_found / self.sure if self.sure else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rates = {"precision": self.precision, "recall": self.recall}
        return {"alignment_error_rate": self.value, **rates, **vars(self)}

    def __str__(self) -> str:
        return (
            f"alignment error rate {self.value:.3f} (precision {self.precision:.3f}, "
            f"recall {self.recall:.3f}) over {self.sentences:,} sentences"
        )


def alignment_errors(found: Sequence[Links], gold: Sequence[Gold]) -> ErrorRate:
    """How found links compare to gold ones, sentence by sentence."""
    if len(found) != len(gold):
        raise ConfigError(
            f"{len(found):,} sentences were aligned and gold links are there for {len(gold):,}: "
            "give one line for each sentence"
        )
    pairs = list(zip(found, gold, strict=True))
    return ErrorRate(
        sentences=len(pairs),
        links=sum(len(links) for links, _ in pairs),
        sure=sum(len(each.sure) for _, each in pairs),
        sure_found=sum(len(links & each.sure) for links, each in pairs),
        possible_found=sum(len(links & each.possible) for links, each in pairs),
    )
