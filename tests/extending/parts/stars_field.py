"""A kind of target: ratings from one star to five, given by the head of labels."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from seqloom.config import COLUMNS, TARGETS, TargetOptions
from seqloom.errors import DataError
from seqloom.fields import PersistentField, Symbols, Values


@TARGETS.options("stars")
class StarsOptions(TargetOptions):
    """A column of ratings."""

    head: ClassVar[str] = "label"

    kind: Literal["stars"] = "stars"
    most: int = Field(5, ge=2, le=100, description="the highest rating")


@COLUMNS.part("stars")
class StarsField(PersistentField[StarsOptions]):
    """A rating is a symbol by its own number; 0 is padding."""

    @property
    def items(self) -> Symbols:
        return Symbols(self.config.most + 1)

    def fault(self, cell: str) -> DataError | None:
        ratings = [str(number) for number in range(1, self.config.most + 1)]
        wrong = DataError(f"{cell!r} is no rating", remedy=f"write 1 to {ratings[-1]}")
        return None if cell in ratings else wrong

    def rows(self, cells: Sequence[str]) -> list[Values]:
        return [np.array([int(cell)], np.int32) for cell in cells]

    def tokens(self, row: Any) -> list[str]:
        return [str(number) for number in row]
