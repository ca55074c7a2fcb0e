"""Positional encodings of Transformers (S5.3).

The formulas count positions from 1; `at` counts the tokens before each one, so it starts at 0.
"""

from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seqloom.config import (
    POSITIONS,
    AppendedSinusoidsConfig,
    JointPositionsConfig,
    LearnedPositionsConfig,
    OneHotPositionsConfig,
)
from seqloom.errors import ConfigError
from seqloom.nn.modules import is_traced

__all__ = [
    "AddedSinusoids",
    "AppendedSinusoids",
    "HalvedSinusoids",
    "JointPositions",
    "LearnedPositions",
    "NoPositions",
    "OneHotPositions",
    "PositionSizes",
    "Positions",
    "Rotary",
    "RotaryPositions",
    "sinusoids",
]


def sinusoids(
    positions: Int[Tensor, "*shape"], width: int, *, base: float = 10_000.0
) -> Float[Tensor, "*shape {width}"]:
    """Interleaved sines and cosines: `r_{2i} = sin(t / M^{2i/p})`, `r_{2i+1} = cos` of the same.

    Vaswani et al. 2017, Attention Is All You Need.
    """
    even = torch.arange(0, width, 2, device=positions.device, dtype=torch.float64)
    angles = positions[..., None].double() / base ** (even / width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :width]


class PositionSizes(NamedTuple):
    """The sizes around an encoding of positions, and the section of the configuration it is in."""

    vectors: int  # of a token
    width: int  # of the Transformer
    head: int  # of a head's queries and keys
    place: str = "model.encoder"


class Positions(nn.Module):
    """Base class of positional encodings of embeddings: (R,T,E), (R,T) -> (R,T,D).

    To add an encoding, register its options with `POSITIONS.options` and its class with
    `POSITIONS.part`.
    """

    absolute: ClassVar[bool] = True
    """Whether the encoding changes the embeddings."""

    appends: ClassVar[bool] = False
    """Whether the position is appended to the embedding rather than added."""

    description: ClassVar[str] = "positions"
    """A short description; empty if positions are not encoded."""

    rotary: ClassVar[bool] = False
    """Whether self-attention rotates its queries and keys by their position."""

    @classmethod
    def build(cls, options: Any, sizes: PositionSizes) -> "Positions":
        """Build the encoding; ConfigError if it does not fit the sizes."""
        return cls()

    def width(self, vectors: int) -> int:
        """The size D of embeddings of size `vectors` after the encoding."""
        return vectors


@POSITIONS.part("none")
class NoPositions(Positions):
    """Leaves embeddings unchanged."""

    absolute = False
    description = ""

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T E"]:
        return vectors


@POSITIONS.part("rotary")
class RotaryPositions(NoPositions):
    """Leaves embeddings unchanged; self-attention rotates queries and keys (see `Rotary`)."""

    rotary = True

    @classmethod
    def build(cls, options: Any, sizes: PositionSizes) -> "RotaryPositions":
        if sizes.head % 2:
            raise ConfigError(
                f"rotary positions need heads of an even size, not {sizes.head}", place=sizes.place
            )
        return cls()


@POSITIONS.part("one-hot")
class OneHotPositions(Positions):
    """Appends the one-hot vector of the position; positions past the last share its vector."""

    appends = True
    description = "one-hot, appended"

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    @classmethod
    def build(cls, options: OneHotPositionsConfig, sizes: PositionSizes) -> "OneHotPositions":
        return cls(options.most)

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        hot = functional.one_hot(_clamp_positions(at, self.most), self.most).to(vectors)
        return _append(vectors, hot)

    def width(self, vectors: int) -> int:
        return vectors + self.most


@POSITIONS.part("sinusoids-appended")
class AppendedSinusoids(Positions):
    """Appends `size` sines and cosines of the position, an even number."""

    appends = True
    description = "sines and cosines, appended"

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.table = _Sinusoids()

    @classmethod
    def build(cls, options: AppendedSinusoidsConfig, sizes: PositionSizes) -> "AppendedSinusoids":
        _check_even(f"{sizes.place}.positions.size", options.size)
        return cls(options.size)

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        return _append(vectors, self.table(at, self.size, vectors))

    def width(self, vectors: int) -> int:
        return vectors + self.size


@POSITIONS.part("sinusoids")
class AddedSinusoids(Positions):
    """Adds sines and cosines of the position.

    Vaswani et al. 2017, Attention Is All You Need.
    """

    description = "sines and cosines, added"

    def __init__(self) -> None:
        super().__init__()
        self.table = _Sinusoids()

    @classmethod
    def build(cls, options: Any, sizes: PositionSizes) -> "AddedSinusoids":
        _check_even("model.embedding", sizes.vectors)
        return cls()

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T E"]:
        return vectors + self.table(at, vectors.shape[-1], vectors)


@POSITIONS.part("sinusoids-halved")
class HalvedSinusoids(AddedSinusoids):
    """Adds the sines of the position to the first half of a vector and the cosines to the second.

    Positions count from 0, as in Marian (Junczys-Dowmunt et al. 2018, Marian: Fast Neural Machine
    Translation in C++).
    """

    def __init__(self) -> None:
        super().__init__()
        self.table = _Sinusoids(first=0, halved=True)


@POSITIONS.part("learned")
class LearnedPositions(Positions):
    """Adds a learned vector of the position; positions past the last share its vector.

    Vaswani et al. 2017, Attention Is All You Need.
    """

    description = "learnt vectors, added"

    def __init__(self, most: int, width: int) -> None:
        super().__init__()
        self.most = most
        self.table = nn.Parameter(torch.empty(most, width))
        nn.init.normal_(self.table, std=0.1)

    @classmethod
    def build(cls, options: LearnedPositionsConfig, sizes: PositionSizes) -> "LearnedPositions":
        return cls(options.most, sizes.vectors)

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T E"]:
        return vectors + functional.embedding(_clamp_positions(at, self.most), self.table)


@POSITIONS.part("joint")
class JointPositions(Positions):
    """A learned map of vector and position: `W_1 S(W_2 x + W_3 e_t + b)` with S the ReLU.

    Positions past the last share its e_t.
    """

    description = "learnt joint map"

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

    @classmethod
    def build(cls, options: JointPositionsConfig, sizes: PositionSizes) -> "JointPositions":
        return cls(options.most, sizes.vectors, sizes.width)

    def forward(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        placed = functional.embedding(_clamp_positions(at, self.most), self.position)
        return self.mix((self.vector(vectors) + placed).relu())

    def width(self, vectors: int) -> int:
        return self.mix.out_features


class Rotary(nn.Module):
    """Rotary position embedding: rotates queries and keys by angles that grow with the position.

    Each pair of values is rotated by the angle its sine and cosine have in `sinusoids`, so the
    product of a query and a key depends on their distance alone.

    Su et al. 2021, RoFormer.
    """

    description: ClassVar[str] = "rotary, its sines and cosines"

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width
        self.table = _Sinusoids()

    def rotate(
        self, values: Float[Tensor, "R H T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R H T E"]:
        """Queries or keys, rotated for these positions."""
        angles = self.table(at, self.head_width, values)[:, None]
        sine, cosine = angles.unflatten(-1, (-1, 2)).unbind(-1)
        left, right = values.unflatten(-1, (-1, 2)).unbind(-1)
        turned = [left * cosine - right * sine, left * sine + right * cosine]
        return torch.stack(turned, dim=-1).flatten(-2)


class _Sinusoids:
    """A table of sinusoids by position, extended when later positions are needed."""

    def __init__(self, *, first: int = 1, halved: bool = False) -> None:
        """`first` is the first position; `halved` puts all sines before all cosines."""
        self.first = first
        self.halved = halved
        self.known: Tensor | None = None

    def __call__(
        self, at: Int[Tensor, "#R T"], width: int, like: Tensor
    ) -> Float[Tensor, "#R T E"]:
        if is_traced():
            return self._values(at + self.first, width).to(like)
        known, count = self.known, int(at.max()) + 1
        if (
            known is None
            or len(known) < count
            or known.dtype != like.dtype
            or known.device != like.device
        ):
            end = self.first + max(512, 2 * count)
            steps = torch.arange(self.first, end, device=like.device)
            self.known = known = self._values(steps, width).to(like)
        return functional.embedding(at, known)

    def _values(self, positions: Tensor, width: int) -> Tensor:
        values = sinusoids(positions, width)
        if not self.halved:
            return values
        return values.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)


def _append(vectors: Tensor, positions: Tensor) -> Tensor:
    return torch.cat([vectors, positions.expand(len(vectors), -1, -1)], dim=-1)


def _check_even(name: str, size: int) -> None:
    if size % 2:
        raise ConfigError(
            f"{name} = {size}: sines and cosines come in pairs", remedy="make it even"
        )


def _clamp_positions(at: Tensor, most: int) -> Tensor:
    return at.clamp(max=most - 1)
