"""Positions as vectors (S5.3).

The formulas count positions from 1; `at` counts what a row has read before, so it starts at 0.
"""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

__all__ = [
    "AddedSinusoids",
    "AppendedSinusoids",
    "JointPositions",
    "LearnedPositions",
    "NoPositions",
    "OneHotPositions",
    "Positions",
    "Rotary",
    "sinusoids",
]


def sinusoids(
    positions: Int[Tensor, "*shape"], width: int, *, base: float = 10_000.0
) -> Float[Tensor, "*shape {width}"]:
    """Interleaved sines and cosines: `r_{2i} = sin(t / M^{2i/p})`, `r_{2i+1} = cos` of the same."""
    even = torch.arange(0, width, 2, device=positions.device, dtype=torch.float64)
    angles = positions[..., None].double() / base ** (even / width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :width]


@runtime_checkable
class Positions(Protocol):
    """Tells token vectors where they stand in their row."""

    def __call__(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]: ...

    def width(self, vectors: int) -> int:
        """The size D of what is made of token vectors of this size."""
        ...


class NoPositions(nn.Module):
    """Token vectors as they are."""

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T E"]:
        return vectors

    def width(self, vectors: int) -> int:
        return vectors


class OneHotPositions(nn.Module):
    """Token vectors with the one-hot vector of the position; past the last, that of the last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        hot = functional.one_hot(_clamp_positions(at, self.most), self.most).to(vectors)
        return _append(vectors, hot)

    def width(self, vectors: int) -> int:
        return vectors + self.most


class AppendedSinusoids(nn.Module):
    """Token vectors with so many sines and cosines of the position, an even number."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.table = _Sinusoids()

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        return _append(vectors, self.table(at, self.size, vectors))

    def width(self, vectors: int) -> int:
        return vectors + self.size


class AddedSinusoids(nn.Module):
    """Token vectors plus sines and cosines of the position."""

    def __init__(self) -> None:
        super().__init__()
        self.table = _Sinusoids()

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T E"]:
        return vectors + self.table(at, vectors.shape[-1], vectors)

    def width(self, vectors: int) -> int:
        return vectors


class LearnedPositions(nn.Module):
    """Token vectors plus a learned vector of the position; past the last, that of the last."""

    def __init__(self, most: int, width: int) -> None:
        super().__init__()
        self.most = most
        self.table = nn.Parameter(torch.empty(most, width))
        nn.init.normal_(self.table, std=0.1)

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T E"]:
        return vectors + functional.embedding(_clamp_positions(at, self.most), self.table)

    def width(self, vectors: int) -> int:
        return vectors


class JointPositions(nn.Module):
    """A learned map of vector and position: `W_1 S(W_2 x + W_3 e_t + b)` with S the ReLU.

    Past the last position, e_t is that of the last.
    """

    def __init__(self, most: int, vectors: int, width: int) -> None:
        super().__init__()
        self.most = most
        self.vector = nn.Linear(vectors, width)
        self.position = nn.Parameter(torch.empty(most, width))
        self.mix = nn.Linear(width, width, bias=False)
        for weight in (self.vector.weight, self.mix.weight):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.vector.bias)
        nn.init.normal_(self.position)

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        placed = functional.embedding(_clamp_positions(at, self.most), self.position)
        return self.mix((self.vector(vectors) + placed).relu())

    def width(self, vectors: int) -> int:
        return self.mix.out_features


class Rotary(nn.Module):
    """Turns queries and keys by angles that grow with the position.

    Each pair of values is turned by the angle its sine and cosine have in `sinusoids`, so the
    product of a query and a key depends on their distance alone.
    """

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width
        self.table = _Sinusoids()

    def rotate(
        self, values: Float[Tensor, "R H T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R H T E"]:
        """Queries or keys at these positions."""
        angles = self.table(at, self.head_width, values)[:, None]
        sine, cosine = angles.unflatten(-1, (-1, 2)).unbind(-1)
        left, right = values.unflatten(-1, (-1, 2)).unbind(-1)
        turned = [left * cosine - right * sine, left * sine + right * cosine]
        return torch.stack(turned, dim=-1).flatten(-2)


class _Sinusoids:
    """Sines and cosines by position; those of the first are kept once they were needed."""

    def __init__(self) -> None:
        self.known: Tensor | None = None

    def __call__(
        self, at: Int[Tensor, "#R T"], width: int, like: Tensor
    ) -> Float[Tensor, "#R T E"]:
        known, count = self.known, int(at.max()) + 1
        if (
            known is None
            or len(known) < count
            or known.dtype != like.dtype
            or known.device != like.device
        ):
            steps = torch.arange(1, max(512, 2 * count) + 1, device=like.device)
            self.known = known = sinusoids(steps, width).to(like)
        return functional.embedding(at, known)


def _append(vectors: Tensor, positions: Tensor) -> Tensor:
    return torch.cat([vectors, positions.expand(len(vectors), -1, -1)], dim=-1)


def _clamp_positions(at: Tensor, most: int) -> Tensor:
    return at.clamp(max=most - 1)
