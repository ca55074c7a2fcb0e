"""A kind of source: colours such as #ff8800, each read as three numbers from 0 to 1."""

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from seqloom.config import COLUMNS, SOURCES, Overrides, Situation, SourceOptions
from seqloom.errors import DataError
from seqloom.fields import Numbers, PersistentField, Values

COLOUR = re.compile("#[0-9a-f]{6}", re.IGNORECASE)


@SOURCES.options("colour")
class ColourOptions(SourceOptions):
    """A column of colours."""

    kind: Literal["colour"] = "colour"
    gamma: float = Field(1.0, gt=0, description="the power that each number is raised to")

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """The three numbers as they are, mapped to one vector."""
        return {"encoder": {"kind": "vectors"}}


@COLUMNS.part("colour")
class ColourField(PersistentField[ColourOptions]):
    """One item a cell: its red, green and blue."""

    @property
    def items(self) -> Numbers:
        return Numbers(3)

    def fault(self, cell: str) -> DataError | None:
        wrong = DataError(f"{cell!r} is no colour", remedy="write it as #ff8800")
        return None if COLOUR.fullmatch(cell) else wrong

    def rows(self, cells: Sequence[str]) -> list[Values]:
        bytes_ = [list(bytes.fromhex(cell[1:])) for cell in cells]
        return [(np.array([row]) / 255).astype(np.float32) ** self.config.gamma for row in bytes_]

    def tokens(self, row: Any) -> list[str]:
        plain = np.rint(np.asarray(row) ** (1 / self.config.gamma) * 255).astype(int)
        return ["#" + "".join(f"{value:02x}" for value in item) for item in plain]
