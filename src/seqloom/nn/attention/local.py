"""Local attention: a window around a source position (S4.3).

A focus is added to the scores before the softmax, so that weights stay a distribution: −∞ outside
the window `|s − p| ≤ D`, and where the window is Gaussian `−(s − p)² / 2σ²` with σ = D/2 inside it.
"""

from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.errors import ConfigError

__all__ = ["Focus", "PredictedFocus", "Reach", "TimeFocus"]


class Reach(NamedTuple):
    """The steps of queries and the positions they may attend to; both count from 0."""

    at: Int[Tensor, "B Q"]  # the query's own step
    last: Int[Tensor, "B Q"]  # the last source position
    positions: Int[Tensor, "S"]


class Focus(nn.Module):
    """Base class of windows of local attention."""

    window: int
    """Positions on each side of the centre."""

    follows_time: ClassVar[bool] = False
    """Whether the centre is the query's own step."""

    def forward(self, queries: Float[Tensor, "B Q D"], reach: Reach) -> Float[Tensor, "B Q S"]:
        """The addend of the scores; finite at one visible position at least."""
        raise NotImplementedError


class TimeFocus(Focus):
    """The centre is the query's own step, or the last position if the source is shorter.

    Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation (local-m).
    """

    follows_time = True

    def __init__(self, window: int, *, gaussian: bool = False) -> None:
        super().__init__()
        self.window = _check_window(window)
        self.gaussian = gaussian

    def forward(self, queries: Float[Tensor, "B Q D"], reach: Reach) -> Float[Tensor, "B Q S"]:
        distance = _distance(torch.minimum(reach.at, reach.last).to(queries.dtype), reach)
        inside = _gaussian(distance, self.window) if self.gaussian else torch.zeros_like(distance)
        return _mask_outside(inside, distance, self.window)


class PredictedFocus(Focus):
    """The centre is `p = last · σ(vᵀ tanh(W q))`, a real number.

    The window is always Gaussian: without it, no gradient would reach v and W.

    Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation (local-p;
    here the Gaussian is added before the softmax).
    """

    def __init__(self, query: int, width: int, *, window: int) -> None:
        super().__init__()
        self.window = _check_window(window)
        self.map = nn.Linear(query, width, bias=False)
        self.weigh = nn.Linear(width, 1, bias=False)

    def forward(self, queries: Float[Tensor, "B Q D"], reach: Reach) -> Float[Tensor, "B Q S"]:
        share = self.weigh(self.map(queries).tanh()).squeeze(-1).sigmoid()
        distance = _distance(reach.last * share, reach)
        return _mask_outside(_gaussian(distance, self.window), distance, self.window)


def _check_window(window: int) -> int:
    """Check that the window has a position on each side, so that a centre between two positions
    sees one.
    """
    if window < 1:
        raise ConfigError(
            f"local attention with a window of {window} sees nothing", remedy="give 1 or more"
        )
    return window


def _distance(centres: Tensor, reach: Reach) -> Tensor:
    return reach.positions - centres[..., None]  # (B, Q, S)


def _gaussian(distance: Tensor, window: int) -> Tensor:
    return distance.square() * (-2 / window**2)


def _mask_outside(scores: Tensor, distance: Tensor, window: int) -> Tensor:
    return scores.masked_fill(distance.abs() > window, -torch.inf)
