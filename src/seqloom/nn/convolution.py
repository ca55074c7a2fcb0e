"""Front ends: pictures and sound become sequences of vectors by convolutions (S3.4, S3.5)."""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seqloom.nn.positions import sinusoids

__all__ = [
    "FrameConvolutions",
    "Grid",
    "GridVectors",
    "PictureConvolutions",
    "SpectrumMask",
    "Warp",
]

Grid = Literal["cells", "columns", "one", "whole"]
GROUPS = 8  # groups of channels in group normalization
SINUSOID_BASE = 100.0  # cells, within which all positions are distinct


class PictureConvolutions(nn.Module):
    """Residual stages of two convolutions each, the first with stride 2."""

    def __init__(self, channels: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.width = widths[-1]
        before = (channels, *widths)
        self.stages = nn.ModuleList(
            _Stage(narrow, wide) for narrow, wide in zip(before, widths, strict=False)
        )

    def forward(self, pictures: Float[Tensor, "N C H W"]) -> Float[Tensor, "N D H2 W2"]:
        for stage in self.stages:
            pictures = stage(pictures)
        return pictures


class Warp(nn.Module):
    """Warps pictures or spectra at random in training (elastic distortion).

    A coarse grid with two cells along the shorter side lies over each picture. Every grid point is
    moved by up to `furthest`, as a share of that side; pixels between are interpolated, and pixels
    from outside are 0.

    Simard et al. 2003, Best Practices for Convolutional Neural Networks Applied to Visual Document
    Analysis.
    """

    def __init__(self, furthest: float) -> None:
        super().__init__()
        self.furthest = furthest

    def forward(
        self, pictures: Float[Tensor, "N C H W"], frames: int = 1
    ) -> Float[Tensor, "N C H W"]:
        """Warped pictures; each run of `frames` belongs to one video and is warped alike."""
        if not self.training or not self.furthest:
            return pictures
        count, _, *sides = pictures.shape
        knots = [1 + max(2, round(2 * side / min(sides))) for side in sides]
        pulls = torch.rand(count // frames, 2, *knots, device=pictures.device) * 2 - 1
        smooth = functional.interpolate(pulls, sides, mode="bilinear", align_corners=True)
        shares = pulls.new_tensor([2 * self.furthest * min(sides) / side for side in sides[::-1]])
        still = functional.affine_grid(torch.eye(2, 3)[None], [1, 1, *sides], align_corners=False)
        drawn = still.to(pulls) + smooth.permute(0, 2, 3, 1) * shares
        return functional.grid_sample(
            pictures, drawn.repeat_interleave(frames, 0).to(pictures.dtype), align_corners=False
        )


class GridVectors(nn.Module):
    """The cells of a picture as a sequence of vectors with their positions.

    Sines and cosines of the row are added to the first half of the channels, of the column to the
    second. `columns` are means over rows, with the position of the column only; `one` is the mean
    of all cells, without a position. `whole` is a learned map of all cells, which shows where
    things are, plus the maximum of each channel, which shows what there is; both are normalized.

    Xu et al. 2015, Show, Attend and Tell.
    """

    def __init__(self, grid: Grid, shape: tuple[int, int, int]) -> None:
        """`shape` is channels, rows and columns."""
        super().__init__()
        self.grid = grid
        self.count = {"cells": shape[1] * shape[2], "columns": shape[2]}.get(grid, 1)
        whole = grid == "whole"
        self.map = nn.Linear(math.prod(shape), shape[0]) if whole else nn.Identity()

    def forward(self, cells: Float[Tensor, "N D H W"]) -> Float[Tensor, "N P D"]:
        match self.grid:
            case "cells":
                rows = cells.permute(0, 2, 3, 1)
                return (rows + _grid_positions(rows)).flatten(1, 2)
            case "columns":
                columns = cells.mean(dim=2).transpose(1, 2)
                return columns + _axis_positions(columns.shape[1], columns)
            case "one":
                return cells.mean(dim=(2, 3))[:, None]
            case "whole":
                where, what = self.map(cells.flatten(1)), cells.amax(dim=(2, 3))
                return (_standardize(where) + _standardize(what))[:, None]


def _standardize(vectors: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
    return functional.layer_norm(vectors, vectors.shape[-1:])


def _grid_positions(cells: Float[Tensor, "N H W D"]) -> Float[Tensor, "H W D"]:
    _, rows, columns, width = cells.shape
    down = _axis_positions(rows, cells, width // 2)[:, None].expand(-1, columns, -1)
    across = _axis_positions(columns, cells, width - width // 2)[None].expand(rows, -1, -1)
    return torch.cat([down, across], dim=2)


def _axis_positions(
    count: int, like: Float[Tensor, "*shape D"], width: int | None = None
) -> Float[Tensor, "N E"]:
    """Sines and cosines of the first positions, of high frequency, since sides are short."""
    places = torch.arange(1, count + 1, device=like.device)
    return sinusoids(places, width or like.shape[-1], base=SINUSOID_BASE).to(like.dtype)


class _Stage(nn.Module):
    """Half as many rows and columns, of more channels.

    Wu and He 2018, Group Normalization.
    """

    def __init__(self, narrow: int, wide: int) -> None:
        super().__init__()
        self.halve = nn.Conv2d(narrow, wide, 3, stride=2, padding=1, bias=False)
        self.refine = nn.Conv2d(wide, wide, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.GroupNorm(_groups(wide), wide) for _ in range(2))

    def forward(self, pictures: Float[Tensor, "N C H W"]) -> Float[Tensor, "N D H2 W2"]:
        halved = functional.relu(self.norms[0](self.halve(pictures)))
        return functional.relu(halved + self.norms[1](self.refine(halved)))


class FrameConvolutions(nn.Module):
    """Layers that each halve the number of frames and of bands; padding does not leak in.

    The channels of the remaining bands become one normalized vector a frame.

    After Chan et al. 2016, Listen, Attend and Spell (time reduction).
    """

    def __init__(self, bands: int, width: int, *, halvings: int) -> None:
        super().__init__()
        self.width = width
        channels = max(1, width // 4)
        self.layers = nn.ModuleList(
            nn.Conv2d(channels if layer else 1, channels, 3, stride=2, padding=1)
            for layer in range(halvings)
        )
        left = -(-bands // 2**halvings)
        self.join = nn.Linear(channels * left, width)
        self.norm = nn.LayerNorm(width)

    def forward(
        self, frames: Float[Tensor, "B S C"], lengths: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, "B S2 D"], Int[Tensor, "B"]]:
        """The vectors, and their number in each recording: halved by each layer, rounded up."""
        hidden = frames[:, None] * _real_mask(frames, lengths)[:, None]
        for layer in self.layers:
            hidden = functional.relu(layer(hidden))
            lengths = (lengths + 1) // 2
            hidden = hidden * _real_mask(hidden[:, 0], lengths)[:, None]
        vectors = self.norm(self.join(hidden.transpose(1, 2).flatten(2)))
        return vectors * _real_mask(vectors, lengths), lengths

    def receptive_field(self, position: int, frames: int) -> range:
        """The frames that a vector is computed from."""
        lengths = [frames]
        for _ in self.layers:
            lengths.append((lengths[-1] + 1) // 2)
        first = last = position
        for length in reversed(lengths[:-1]):
            first, last = max(0, 2 * first - 1), min(length - 1, 2 * last + 1)
        return range(first, last + 1)


class SpectrumMask(nn.Module):
    """Masks random stripes of bands and of frames in training.

    Park et al. 2019, SpecAugment.
    """

    def __init__(self, *, bands: int, frames: int, stripes: int = 2) -> None:
        """The most bands and frames in a stripe, and the number of stripes of each.

        No stripe is wider than a fifth of the bands or of the recording.
        """
        super().__init__()
        self.widest = bands, frames
        self.stripes = stripes

    def forward(
        self, spectrum: Float[Tensor, "B S C"], lengths: Int[Tensor, "B"]
    ) -> Float[Tensor, "B S C"]:
        if not self.training or not any(self.widest):
            return spectrum
        bands = torch.full_like(lengths, spectrum.shape[2])
        silent = self._draw_stripes(bands, spectrum.shape[2], self.widest[0])[:, None]
        silent = silent | self._draw_stripes(lengths, spectrum.shape[1], self.widest[1])[:, :, None]
        return spectrum.masked_fill(silent, 0.0)

    def _draw_stripes(
        self, sizes: Int[Tensor, "B"], places: int, widest: int
    ) -> Bool[Tensor, "B N"]:
        """A mask of the stripes of each row, within its length."""
        draws = torch.rand(2, len(sizes), self.stripes, 1, device=sizes.device)
        most = (sizes // 5).clamp(max=widest)[:, None, None]
        widths = (draws[0] * (most + 1)).long()
        starts = (draws[1] * (sizes[:, None, None] - widths + 1)).long()
        steps = torch.arange(places, device=sizes.device)
        return ((steps >= starts) & (steps < starts + widths)).any(dim=1)


def _real_mask(steps: Float[Tensor, "B S D"], lengths: Int[Tensor, "B"]) -> Float[Tensor, "B S 1"]:
    """1 at real steps, 0 at padding."""
    places = torch.arange(steps.shape[1], device=steps.device)
    return (places < lengths[:, None])[:, :, None].to(steps.dtype)


def _groups(width: int) -> int:
    """The largest number of groups, up to the usual one, that divides the channels."""
    return next(groups for groups in range(GROUPS, 0, -1) if width % groups == 0)
