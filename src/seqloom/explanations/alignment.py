"""Word alignment from attention weights.

Pharaoh format: `0-0 2-1`, indices of source and output words from 0, split at white space.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seqloom.display import Displayed
from seqloom.errors import ConfigError
from seqloom.explanations.attention import attention_of
from seqloom.explanations.explained_output import ExplainedText
from seqloom.fields import END, TextField, Values, as_text_field
from seqloom.metrics.alignment import ErrorRate, Links
from seqloom.prediction import TextPredictor
from seqloom.remedies import Remedy, Setting

__all__ = [
    "Alignment",
    "Alignments",
    "align",
]


@dataclass(frozen=True, eq=False)
class Alignment(Displayed):
    """The words of a source and an output, and the attention between them.

    Weights are summed over the tokens of a source word and averaged over those of an output word.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray  # (T, S); the rest to 1 went to `<end>` or to spaces

    @property
    def links(self) -> Links:
        """Pairs of source and output word indices: each output word with the one of largest weight.

        A word that attended most to `<end>` is not linked.
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
class Alignments(Displayed):
    """Alignments of several inputs, and their error rate if gold links are given."""

    alignments: tuple[Alignment, ...]
    errors: ErrorRate | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {"alignments": [one.as_dict() for one in self.alignments]}
        return plain if self.errors is None else {**plain, **self.errors.as_dict()}


def align(model: TextPredictor, said: ExplainedText, *, layer: int | None = None) -> Alignment:
    """Align an output with its source, which must be text."""
    source = _split_words(_text_source(model), said.values)
    target = _split_words(model.target, said.target_ids)
    attention = attention_of(model, said).select_map(layer=layer)
    weights = _pool_by_word(attention.weights, target.numbers, mean=True)
    weights = _pool_by_word(weights.T, source.numbers).T
    return Alignment(source.words, target.words, weights)


def _text_source(model: TextPredictor) -> TextField:
    """The source field of a model that reads text; ConfigError for any other model."""
    field = as_text_field(model.source)
    if field is None:
        raise ConfigError(
            f"words are aligned with words, and the source here is {model.source.describe()}",
            remedy=Remedy("try {} or steps", Setting("show", "gradients")),
        )
    return field


class _Words(NamedTuple):
    """The words of a text, and the index of each token's word; −1 for none."""

    words: tuple[str, ...]
    numbers: tuple[int, ...]


def _split_words(field: TextField, row: Sequence[int] | Values) -> _Words:
    """Assign each token to the word of its first character that is not a space."""
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
    """Pool rows of tokens to rows of words."""
    table = np.zeros((max(numbers, default=-1) + 1, rows.shape[1]))
    counts = np.zeros(len(table))
    for row, number in zip(rows, numbers, strict=True):
        if number >= 0:
            table[number] += row
            counts[number] += 1
    return table / np.maximum(counts, 1)[:, None] if mean else table
