"""Initialize forecasters with the least-squares linear map (S1.2).

The ridge penalty is the one that forecasts the validation windows best.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.data import Corpus, even_indices
from seqloom.metrics import linear_forecast, ridge_path
from seqloom.model import HeadModel
from seqloom.model.forecast import ForecastHead
from seqloom.model.networks import weights
from seqloom.runs.progress import Origin

__all__ = ["LinearStart", "fit_linear_start"]

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)  # as shares of the inputs' mean square
LEARNT, HELD_OUT = 20_000, 2_000  # windows for fitting the map, and for selecting the penalty
GROUP = 256

Windows = NDArray[np.floating]


@dataclass(frozen=True)
class LinearStart:
    """A linear forecast that initializes a new run."""

    linear: NDArray[np.float32]  # (window, horizon), for windows minus their last values
    edges: NDArray[np.float32]  # (horizon, Q): offsets of the mean, 0, and of each quantile
    penalty: float

    def __str__(self) -> str:
        return f"the linear forecast with the least squares (penalty {self.penalty:g})"

    @property
    def origin(self) -> Origin:
        """The origin as recorded in the run."""
        return Origin(words=str(self), validated=True)

    def initial_weights(self, network: HeadModel) -> dict[str, Tensor]:
        """The network's own weights, with this map in its linear path."""
        head = network.head
        if not isinstance(head, ForecastHead) or head.linear_map is None:
            raise TypeError("this network has no linear path")
        found = {name: value.clone() for name, value in weights(network).items()}
        names = {id(parameter): name for name, parameter in network.named_parameters()}
        rows = torch.from_numpy(self.linear.T)[:, None].expand(-1, self.edges.shape[1], -1)
        found[names[id(head.linear_map.weight)]] = rows.flatten(0, 1).clone()
        found[names[id(head.linear_map.bias)]] = torch.from_numpy(self.edges.flatten())
        return found


def fit_linear_start(train: Corpus, valid: Corpus, quantiles: tuple[float, ...]) -> LinearStart:
    """Fit the map to the training windows, with the penalty selected on the validation windows."""
    window = train.batch(np.array([0])).source.shape[1]
    spans = (
        np.concatenate([past, ahead], axis=1).swapaxes(1, 2).reshape(-1, window + ahead.shape[1])
        for past, ahead in _groups(train, LEARNT)
    )
    maps = ridge_path(spans, window, PENALTIES)
    errors = np.zeros(len(maps))
    for past, ahead in _groups(valid, HELD_OUT):
        errors += [np.square(linear_forecast(past, each) - ahead).sum() for each in maps]
    best = int(np.argmin(errors))
    off = [
        (ahead - linear_forecast(past, maps[best])).swapaxes(1, 2).reshape(-1, ahead.shape[1])
        for past, ahead in _groups(train, HELD_OUT)
    ]
    edges = np.zeros((maps[best].shape[1], 1 + len(quantiles)), np.float32)
    if quantiles:
        edges[:, 1:] = np.quantile(np.concatenate(off), quantiles, axis=0).T
    return LinearStart(maps[best], edges, PENALTIES[best])


def _groups(corpus: Corpus, most: int) -> Iterator[tuple[Windows, Windows]]:
    """Evenly spaced windows (N, S, C) of the forecast columns, and the following steps."""
    chosen = even_indices(len(corpus), most)
    for first in range(0, len(chosen), GROUP):
        batch = corpus.batch(chosen[first : first + GROUP])
        ahead = np.asarray(batch.target, np.float32)
        yield np.asarray(batch.source, np.float32)[..., : ahead.shape[2]], ahead
