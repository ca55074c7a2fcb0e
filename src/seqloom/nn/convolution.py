"""Front ends: pictures and sound become sequences of vectors by convolutions (SPEC S3.4, S3.5)."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["FrameConvolutions", "Grid", "PictureConvolutions", "SpectrumMask"]

Grid = Literal["cells", "columns", "one"]
GROUPS = 8  # of channels that are brought to one scale together


class PictureConvolutions(nn.Module):
    """Stages that each halve the picture: a convolution, and one more on top of what it gave.

    The last stage's cells are the vectors, or their means over each column or over all of them.
    """

    def __init__(self, channels: int, widths: tuple[int, ...], *, grid: Grid) -> None:
        super().__init__()
        self.width = widths[-1]
        self.grid = grid
        before = (channels, *widths)
        self.stages = nn.ModuleList(
            _Stage(narrow, wide) for narrow, wide in zip(before, widths, strict=False)
        )

    def forward(self, pictures: Float[Tensor, "N C H W"]) -> Float[Tensor, "N P D"]:
        for stage in self.stages:
            pictures = stage(pictures)
        match self.grid:
            case "cells":
                return pictures.flatten(2).transpose(1, 2)
            case "columns":
                return pictures.mean(dim=2).transpose(1, 2)
            case "one":
                return pictures.mean(dim=(2, 3))[:, None]


class _Stage(nn.Module):
    """Half as many rows and columns, of more channels."""

    def __init__(self, narrow: int, wide: int) -> None:
        super().__init__()
        self.halve = nn.Conv2d(narrow, wide, 3, stride=2, padding=1, bias=False)
        self.refine = nn.Conv2d(wide, wide, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.GroupNorm(_groups(wide), wide) for _ in range(2))

    def forward(self, pictures: Float[Tensor, "N C H W"]) -> Float[Tensor, "N D H2 W2"]:
        halved = functional.relu(self.norms[0](self.halve(pictures)))
        return functional.relu(halved + self.norms[1](self.refine(halved)))


class FrameConvolutions(nn.Module):
    """Layers that each halve the number of frames; nothing leaks in from padding."""

    def __init__(self, bands: int, width: int, *, halvings: int) -> None:
        super().__init__()
        self.width = width
        self.layers = nn.ModuleList(
            nn.Conv1d(bands if not layer else width, width, 3, stride=2, padding=1)
            for layer in range(halvings)
        )

    def forward(
        self, frames: Float[Tensor, "B S C"], lengths: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, "B S2 D"], Int[Tensor, "B"]]:
        """The vectors, and how many each recording has: half as many a layer, rounded up."""
        hidden = frames.transpose(1, 2)
        for layer in self.layers:
            hidden = functional.relu(layer(hidden * _real(hidden, lengths)))
            lengths = (lengths + 1) // 2
        return (hidden * _real(hidden, lengths)).transpose(1, 2), lengths


class SpectrumMask(nn.Module):
    """Silences stripes of bands and of frames at random in training, so that none is relied on."""

    def __init__(self, *, bands: int, frames: int, stripes: int = 2) -> None:
        """At most so many bands and frames in a stripe, and so many stripes of each."""
        super().__init__()
        self.widest = bands, frames
        self.stripes = stripes

    def forward(self, spectrum: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        if not self.training or not self.stripes:
            return spectrum
        rows, steps, bands = spectrum.shape
        silent = self._striped(rows, bands, self.widest[0])[:, None]
        silent = silent | self._striped(rows, steps, self.widest[1])[:, :, None]
        return spectrum.masked_fill(silent, 0.0)

    def _striped(self, rows: int, size: int, widest: int) -> Bool[Tensor, "B N"]:
        """Where the stripes of each row are along an axis of this size."""
        widths = torch.randint(0, min(widest, size) + 1, (rows, self.stripes, 1))
        starts = (torch.rand(rows, self.stripes, 1) * (size - widths + 1)).long()
        places = torch.arange(size)
        return ((places >= starts) & (places < starts + widths)).any(dim=1)


def _real(hidden: Float[Tensor, "B D S"], lengths: Int[Tensor, "B"]) -> Float[Tensor, "B 1 S"]:
    steps = torch.arange(hidden.shape[2], device=hidden.device)
    return (steps < lengths[:, None])[:, None].to(hidden.dtype)


def _groups(width: int) -> int:
    """As many groups as divide the channels, up to the usual number."""
    return next(groups for groups in range(GROUPS, 0, -1) if width % groups == 0)
