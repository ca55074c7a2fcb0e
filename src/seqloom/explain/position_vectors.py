"""How a model tells positions apart: their vectors, and how far neighbours lie apart (S5.3, S9)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from seqloom.drawing.image_files import Drawing
from seqloom.errors import ConfigError
from seqloom.explain.attention_map import round_values, wrap_lines
from seqloom.explain.instrumented_copy import side_of
from seqloom.model import Network
from seqloom.model.front_ends import FrontEndEncoder, PictureFrontEnd
from seqloom.model.transformer import PositionalEmbedding
from seqloom.nn.positions import (
    AddedSinusoids,
    AppendedSinusoids,
    JointPositions,
    LearnedPositions,
    OneHotPositions,
    Positions,
    Rotary,
    sinusoids,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PositionMap", "PositionMaps", "position_maps", "position_table"]

GRID_NAMES = {"cells": "row and column", "columns": "the column"}  # by the grids that tell places
COUNT = 100  # positions shown
NAMES: dict[type, str] = {
    AddedSinusoids: "sines and cosines, added",
    AppendedSinusoids: "sines and cosines, appended",
    OneHotPositions: "one-hot, appended",
    LearnedPositions: "learnt vectors, added",
    JointPositions: "learnt joint map",
    Rotary: "rotary, its sines and cosines",
}


@dataclass(frozen=True, eq=False)
class PositionMap:
    """The vector of each position from the first on, (N, P)."""

    side: str
    kind: str
    table: np.ndarray

    def neighbor_distances(self) -> np.ndarray:
        """‖r_{t+1} − r_t‖ for each pair of neighbours."""
        sizes: np.ndarray = np.linalg.norm(np.diff(self.table, axis=0), axis=1)
        return sizes

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {"side": self.side, "kind": self.kind}
        return {
            **plain,
            "table": round_values(self.table),
            "steps": round_values(self.neighbor_distances()),
        }


@dataclass(frozen=True, eq=False)
class PositionMaps:
    """The positions of each side of a model that has them."""

    maps: tuple[PositionMap, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"positions": [each.as_dict() for each in self.maps]}

    def text(self, width: int = 80) -> str:
        """For each side the kind, the size, and how far neighbours lie apart."""
        lines = []
        for each in self.maps:
            steps = each.neighbor_distances()
            lines.append(f"{each.side}: {each.kind}; {each.table.shape[1]} values a position")
            if len(steps):
                lines.append(
                    f"  neighbours lie {steps.min():.4f} to {steps.max():.4f} apart, "
                    f"the first two {steps[0]:.4f}"
                )
        return wrap_lines(lines, width)

    def drawing(self) -> Drawing:
        """A heat map for each side, and beside it the distance of neighbours."""
        return Drawing((), partial(_fill, self), 120)


def position_maps(network: Network, count: int = COUNT) -> PositionMaps:
    """The positions of every Transformer in a model, and of the cells of its pictures.

    ConfigError where it has none.
    """
    maps = list(_picture_positions(network))
    for name, module in network.named_modules():
        if isinstance(module, PositionalEmbedding):
            side = side_of(name)
            kind: Positions | Rotary = module.positions
            if type(kind) not in NAMES:
                turned = [
                    part
                    for path, part in network.named_modules()
                    if isinstance(part, Rotary) and path.startswith(f"{side}.")
                ]
                if not turned:
                    continue
                kind = turned[0]
            table = position_table(kind, module.embedding.width, count)
            maps.append(PositionMap(side, NAMES[type(kind)], table))
    if not maps:
        raise ConfigError(
            "this model has no positions to look at, as it is no Transformer or its positions are "
            "'none': --show flow tells what a recurrent model keeps"
        )
    return PositionMaps(tuple(maps))


@torch.no_grad()
def _picture_positions(network: Network) -> Iterator[PositionMap]:
    """What tells the cells of a picture apart, row by row from the upper left."""
    encoder = network.encoder
    front = encoder.front if isinstance(encoder, FrontEndEncoder) else None
    if isinstance(front, PictureFrontEnd) and front.vectors.grid in GRID_NAMES:
        like = next(front.parameters())
        pixels = front.pictures.pixels
        picture = like.new_zeros(1, pixels.channels, pixels.height, pixels.width)
        table = front.vectors(torch.zeros_like(front.convolutions(picture)))[0]
        kind = f"sines and cosines of {GRID_NAMES[front.vectors.grid]}, added"
        yield PositionMap("picture", kind, table.double().numpy())


@torch.no_grad()
def position_table(kind: Positions | Rotary, width: int, count: int) -> np.ndarray:
    """What tells the first so many positions apart, for token vectors of this size.

    That is the vector added or appended; of a joint map, what it makes of a vector of zeros.
    """
    if isinstance(kind, Rotary):
        return sinusoids(torch.arange(1, count + 1), kind.head_width).double().numpy()
    like = next(kind.parameters(), torch.zeros(0)) if isinstance(kind, torch.nn.Module) else None
    nothing = torch.zeros(1, count, width, dtype=None if like is None else like.dtype)
    made = kind(nothing, torch.arange(count)[None])[0]
    appended = isinstance(kind, OneHotPositions | AppendedSinusoids)
    table: np.ndarray = made[:, width if appended else 0 :].double().numpy()
    return table


def _fill(found: PositionMaps, figure: "Figure", _labels: Sequence[str]) -> None:
    figure.set_size_inches(9, 3.4 * len(found.maps))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(found.maps), 2, width_ratios=(3, 2), squeeze=False)
    for each, (left, right) in zip(found.maps, grid, strict=True):
        count, size = each.table.shape
        most = np.abs(each.table).max() or 1.0
        image = left.imshow(
            each.table, aspect="auto", cmap="RdBu", interpolation="nearest", vmin=-most, vmax=most,
            extent=(-0.5, size - 0.5, count + 0.5, 0.5),
        )  # fmt: skip
        figure.colorbar(image, ax=left)
        left.set_title(f"{each.side}: {each.kind}", fontsize=10)
        left.set_xlabel(f"value, of {size}")
        left.set_ylabel("position t")
        right.plot(range(1, count), each.neighbor_distances(), lw=2, color="#1f5fa8")
        right.set_ylim(bottom=0)
        right.set_xlabel("position t")
        right.set_ylabel("distance to the next, ‖r(t+1) − r(t)‖", fontsize=9)
        right.grid(color="0.92")
        right.spines[["top", "right"]].set_visible(False)
