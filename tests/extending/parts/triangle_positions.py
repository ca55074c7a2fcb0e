"""Positions: one number that rises from 0 to 1 and falls again, appended to token vectors."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from seqloom.config import POSITIONS, PositionsOptions
from seqloom.nn.positions import Positions, PositionSizes


@POSITIONS.options("triangle")
class TriangleOptions(PositionsOptions):
    """A triangle wave."""

    kind: Literal["triangle"] = "triangle"
    period: int = Field(8, ge=2, description="positions from one trough to the next")


@POSITIONS.part("triangle")
class TrianglePositions(Positions):
    """Appends the height of a triangle wave at each position."""

    appends = True
    description = "a triangle wave, appended"

    def __init__(self, period: int) -> None:
        super().__init__()
        self.period = period

    @classmethod
    def build(cls, options: TriangleOptions, sizes: PositionSizes) -> "TrianglePositions":
        return cls(options.period)

    def forward(self, vectors: Tensor, at: Tensor) -> Tensor:
        """(R, T, E) and (1 or R, T) to (R, T, E + 1)."""
        phase = (at % self.period).to(vectors.dtype) / self.period
        height = (1 - (2 * phase - 1).abs())[..., None].expand(*vectors.shape[:2], 1)
        return torch.cat([vectors, height], dim=-1)

    def width(self, vectors: int) -> int:
        return vectors + 1
