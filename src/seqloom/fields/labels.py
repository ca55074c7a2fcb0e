"""Columns of labels: one for a whole row, or one for each token of the source (S1.1)."""

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from seqloom.config.columns import COLUMNS, LabelConfig, TagsConfig
from seqloom.errors import DataError, RunError
from seqloom.fields.field_files import FACTS, PersistentField
from seqloom.fields.items import Symbols, Values
from seqloom.fields.vocabulary_file import read_vocabulary
from seqloom.tokenizers import split_symbols
from seqloom.tokenizers.specials import EMPTY, FieldState

__all__ = ["LabelField", "TagsField"]

MOST_LABELS = 100_000
MOST_LISTED = 5  # labels in a message
UNSEEN = "<unseen>"  # the id of labels unseen in training

Kind = TypeVar("Kind", LabelConfig, TagsConfig)


class _LabelVocabularyField(PersistentField[Kind]):
    """A vocabulary of labels, whose ids begin after padding."""

    def __init__(self, config: Kind, labels: Sequence[str]) -> None:
        """Use `learn` or `restore`."""
        self.config: Kind = config
        self.labels = tuple(labels)
        self._ids = {label: number for number, label in enumerate(labels, EMPTY + 1)}

    @classmethod
    def learn(cls, config: Kind, cells: Iterable[str], *, seed: int) -> Self:
        """Learn all labels of a stream of cells, in alphabetical order."""
        if listed := getattr(config, "vocabulary", ""):
            return cls(config, read_vocabulary(listed))
        labels: set[str] = set()
        for cell in cells:
            labels.update(cls._split(cell))
            if len(labels) > MOST_LABELS:
                raise DataError(
                    f"there are more than the {MOST_LABELS:,} different labels that can be told "
                    "apart",
                    remedy="is the column text?",
                )
        if not labels:
            raise DataError("there is not one label in the data", remedy="fill the column in")
        return cls(config, sorted(labels))

    @classmethod
    def restore(cls, config: Kind, facts: Mapping[str, Any], directory: Path) -> Self:
        """The field with these facts."""
        labels = facts.get("labels")
        sound = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
        if not sound or not labels or len(set(labels)) != len(labels):
            raise RunError(
                "its labels are damaged", place=directory / FACTS, remedy="restore it from a copy"
            )
        return cls(config, labels)

    @classmethod
    def placeholder_items(cls, config: Kind) -> Symbols:
        """Items of the kind that such a column has, before there is any data."""
        return Symbols(8)

    @property
    def items(self) -> Symbols:
        """The labels, and padding."""
        listed = bool(getattr(self.config, "vocabulary", ""))
        return Symbols(
            len(self.labels) + 1, rows=tuple(range(-1, len(self.labels))) if listed else ()
        )

    def fault(self, cell: str) -> DataError | None:
        """The error of a label unseen in training, naming known ones."""
        if not (unseen := self.unseen(cell)):
            return None
        strange = unseen[0]
        near = difflib.get_close_matches(strange, self.labels, n=1)
        known = ", ".join(self.labels[:MOST_LISTED]) + ", ..." * (len(self.labels) > MOST_LISTED)
        cure = f"write {near[0]!r} if that is meant" if near else f"the labels are {known}"
        problem = f"the label {reprlib.repr(strange)} was never seen in training"
        return DataError(problem, remedy=cure)

    def unseen(self, cell: str) -> list[str]:
        """The labels of a cell unseen in training."""
        return [label for label in self._split(cell) if label not in self._ids]

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """The ids of each cell's labels; unseen ones become padding, which a loss ignores."""
        return [
            np.array([self._ids.get(label, EMPTY) for label in self._split(cell)], dtype=np.int32)
            for cell in cells
        ]

    def tokens(self, row: Any) -> list[str]:
        """The labels of these ids."""
        names = (UNSEEN, *self.labels)
        return [names[number] for number in row]

    def cell(self, row: Any) -> str:
        """The labels joined by spaces."""
        return " ".join(self.tokens(row))

    def facts(self) -> dict[str, Any]:
        """Facts for clients: the number of symbols, and the labels."""
        return {**super().facts(), "labels": self.labels}

    def describe(self) -> str:
        """The number of labels."""
        return f"{self.config.kind.rstrip('s')}s, {len(self.labels):,} different"

    def _state(self) -> FieldState:
        return FieldState({"labels": list(self.labels)})

    @staticmethod
    def _split(cell: str) -> list[str]:
        raise NotImplementedError


@COLUMNS.part("label")
class LabelField(_LabelVocabularyField[LabelConfig]):
    """A field of one label per cell, stripped of white space."""

    needs_all_cells: ClassVar[bool] = True

    @staticmethod
    def _split(cell: str) -> list[str]:
        return [cell.strip()]


@COLUMNS.part("tags")
class TagsField(_LabelVocabularyField[TagsConfig]):
    """A field of space-separated tags, one for each token of the source."""

    needs_all_cells: ClassVar[bool] = True
    is_aligned: ClassVar[bool] = True

    @staticmethod
    def _split(cell: str) -> list[str]:
        return split_symbols(cell)
