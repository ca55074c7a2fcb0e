"""Position encodings of a model, and the distances of neighbours (S5.3, S9)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from seqloom.display import Displayed
from seqloom.errors import ConfigError
from seqloom.explanations.instrumented_copy import find_parts, side_of
from seqloom.explanations.parts import picture_front_end, position_kind, position_table
from seqloom.explanations.plain_values import round_values
from seqloom.model import Network
from seqloom.model.transformer import PositionalEmbedding
from seqloom.nn.positions import Rotary
from seqloom.remedies import Remedy, Setting

__all__ = ["PositionMap", "PositionMaps", "position_maps"]

GRID_NAMES = {
    "cells": "row and column",
    "columns": "the column",
}  # by the grid of the picture's cells
COUNT = 100  # positions shown


@dataclass(frozen=True, eq=False)
class PositionMap:
    """The vectors of the first positions (N, P), and two compared positions, if any."""

    side: str
    kind: str
    table: np.ndarray
    pair: tuple[int, int] | None = None  # counted from 1

    def difference(self) -> np.ndarray:
        """The difference of the two compared vectors, first minus second, (P,)."""
        one, other = self.pair or (1, 1)
        return np.asarray(self.table[one - 1] - self.table[other - 1])

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
class PositionMaps(Displayed):
    """The positions of each side of a model that encodes them."""

    maps: tuple[PositionMap, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"positions": [each.as_dict() for each in self.maps]}


def position_maps(
    network: Network,
    count: int = COUNT,
    *,
    values: int | None = None,
    pair: tuple[int, int] | None = None,
) -> PositionMaps:
    """The position encodings of every Transformer in a model, and of the cells of its pictures:
    `count` positions, `values` values of each, and two compared positions (from 1).

    ConfigError if the model has none.
    """
    count = max(count, *(pair or (1,)))
    maps = list(_picture_positions(network))
    for name, embed in find_parts(network, PositionalEmbedding):
        side = side_of(name)
        kinds: list[Any] = [embed.positions]
        kinds += [part for path, part in find_parts(network, Rotary) if side_of(path) == side]
        for kind in kinds:
            words = position_kind(kind)
            if words is not None:
                table = position_table(kind, embed.embedding.width, count)
                maps.append(PositionMap(side, words, table[:, :values], pair))
                break
    if not maps:
        raise ConfigError(
            "this model has no positions to look at, as it is no Transformer or its positions are "
            "'none'",
            remedy=Remedy("see with {} what a recurrent model keeps", Setting("show", "flow")),
        )
    return PositionMaps(tuple(maps))


@torch.no_grad()
def _picture_positions(network: Network) -> Iterator[PositionMap]:
    """The encodings of a picture's cells, row by row from the upper left."""
    front = picture_front_end(network)
    if front is not None and front.vectors.grid in GRID_NAMES:
        like = next(front.parameters())
        pixels = front.pictures.pixels
        picture = like.new_zeros(1, pixels.channels, pixels.height, pixels.width)
        table = front.vectors(torch.zeros_like(front.convolutions(picture)))[0]
        kind = f"sines and cosines of {GRID_NAMES[front.vectors.grid]}, added"
        yield PositionMap("picture", kind, table.double().numpy())
