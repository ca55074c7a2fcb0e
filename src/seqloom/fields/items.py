"""What the rows of a column are made of, as a model has to know it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

__all__ = ["ItemKind", "Items", "Numbers", "Pixels", "Series", "Symbols"]


DUMMY_STEPS = 50  # of a row that may be of any length


class ItemKind:
    """What every kind of item tells a model about itself."""

    closing: ClassVar[int] = 0
    """Items that end every row and are no part of its content."""

    def dummy_row(self, *, closing: int = 0) -> np.ndarray:
        """An encoded row that stands for any other; `closing` of its items end it."""
        raise NotImplementedError

    @property
    def symbols(self) -> "Symbols | None":
        """The items themselves, if they are symbols."""
        return None

    @property
    def series(self) -> "Series | None":
        """The items themselves, if they are the steps of a series."""
        return None

    @property
    def pixels(self) -> "Pixels | None":
        """The items themselves, if they are pictures."""
        return None


@dataclass(frozen=True)
class Symbols(ItemKind):
    """Each item is one of `count` symbols, given by its id; id 0 is padding.

    A symbol that is spelt is a row: its own id, and the ids of `spelling` letters of `letters`.
    """

    count: int
    spelling: int = 0
    letters: int = 0

    closing = 1

    def dummy_row(self, *, closing: int = 0) -> np.ndarray:
        shape = (2, self.item_size) if self.item_size else (2,)
        return np.ones(shape, np.int32)[: 1 + closing]

    @property
    def symbols(self) -> "Symbols":
        return self

    @property
    def item_size(self) -> int:
        """Numbers of an item; 0 where it is an id alone."""
        return 1 + self.spelling if self.spelling else 0

    @property
    def dtype(self) -> "np.dtype[Any]":
        """The smallest type that holds every id."""
        return np.dtype(np.uint16 if max(self.count, self.letters) <= 1 << 16 else np.int32)

    def facts(self) -> dict[str, Any]:
        """What clients are told."""
        return {"unit": None, "symbols": self.count}


@dataclass(frozen=True)
class Numbers(ItemKind):
    """Each item is a row of `count` numbers; a target that is missing is not a number."""

    count: int

    def dummy_row(self, *, closing: int = 0) -> np.ndarray:
        return np.zeros((DUMMY_STEPS, self.count), np.float32)

    @property
    def item_size(self) -> int:
        """Numbers of an item."""
        return self.count

    @property
    def dtype(self) -> "np.dtype[Any]":
        """The type of a number."""
        return np.dtype(np.float32)

    def facts(self) -> dict[str, Any]:
        """What clients are told."""
        return {"numbers": self.count}


@dataclass(frozen=True)
class Series(Numbers):
    """Numbers at each of so many steps of time.

    Of a source, the last `known` numbers of a step are those of the step a horizon later.
    """

    steps: int
    known: int = 0
    quantiles: tuple[float, ...] = ()  # that a forecast gives beside the mean
    forced: float = 1.0  # share of the training in which true values are fed back

    def dummy_row(self, *, closing: int = 0) -> np.ndarray:
        return np.zeros((self.steps, self.count), np.float32)

    @property
    def series(self) -> "Series":
        return self


@dataclass(frozen=True)
class Pixels(ItemKind):
    """Each item is a picture: so many channels of rows of pixels, each from 0 to 255.

    A row has `frames` of them at most: one, unless it is a video.
    """

    channels: int
    height: int
    width: int
    frames: int = 1

    def dummy_row(self, *, closing: int = 0) -> np.ndarray:
        return np.full((1, self.count), 255, np.uint8)

    @property
    def pixels(self) -> "Pixels":
        return self

    @property
    def count(self) -> int:
        """Numbers in an item."""
        return self.channels * self.height * self.width

    @property
    def item_size(self) -> int:
        """Numbers of an item."""
        return self.count

    @property
    def dtype(self) -> "np.dtype[Any]":
        """The type of a pixel."""
        return np.dtype(np.uint8)

    def facts(self) -> dict[str, Any]:
        """What clients are told."""
        return {"numbers": self.count}


Items = Symbols | Numbers | Pixels
