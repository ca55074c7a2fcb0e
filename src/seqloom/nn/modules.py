"""Shared by layers: dropout, combinations of vectors, counter-based random numbers, tracing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan
from torch.overrides import TorchFunctionMode

from seqloom.nn.half_layers import drop_floats

__all__ = [
    "ConcatCombiner",
    "Dropout",
    "Readout",
    "SumCombiner",
    "TanhCombiner",
    "children_of",
    "gumbels",
    "hash_counter",
    "is_traced",
    "materialize",
    "meta_device",
    "traced_scan",
    "uniforms",
]

Kind = TypeVar("Kind", bound=nn.Module)


def children_of(modules: nn.Module, kind: type[Kind]) -> Iterator[Kind]:
    """The modules of a list, typed as this class."""
    return cast("Iterator[Kind]", modules.children())


class Dropout(nn.Module):
    """Dropout: zeroes a share of the values in training and scales the others to keep the mean.

    The share is rounded to a multiple of 1/256, because one byte decides each value.

    Srivastava et al. 2014, Dropout.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.kept_of_256 = max(1, 256 - round(256 * share))

    def forward(self, values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if not self.training or self.kept_of_256 == 256:
            return values
        dropped = drop_floats(values, self.kept_of_256)
        return values * self._mask(values) if dropped is None else dropped

    @property
    def kept_now(self) -> int:
        """The values kept out of 256; all of them outside training."""
        return self.kept_of_256 if self.training else 256

    def _mask(self, values: Tensor) -> Tensor:
        count = values.numel()
        words = torch.empty((count + 7) // 8, dtype=torch.int64, device=values.device)
        draws = words.random_(-(2**63), None).view(torch.uint8)[:count].view(values.shape)
        return (draws < self.kept_of_256).to(values.dtype).mul_(256 / self.kept_of_256)

    def extra_repr(self) -> str:
        return f"share={1 - self.kept_of_256 / 256:.3g}"


# The constants of splitmix64, as signed 64-bit integers.
STRIDE = 0x9E3779B97F4A7C15 - 2**64
FIRST = 0xBF58476D1CE4E5B9 - 2**64
SECOND = 0x94D049BB133111EB - 2**64


def hash_counter(
    before: Int[Tensor, "..."] | int, counter: Int[Tensor, "..."]
) -> Int[Tensor, "..."]:
    """Hash a seed, or an earlier hash, with a counter; shapes are broadcast.

    Steele et al. 2014, Fast Splittable Pseudorandom Number Generators.
    """
    bits = (counter ^ before) + STRIDE
    bits = (bits ^ _shift_right(bits, 30)) * FIRST
    bits = (bits ^ _shift_right(bits, 27)) * SECOND
    return bits ^ _shift_right(bits, 31)


def uniforms(bits: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Uniform numbers in [0, 1) with 53 bits."""
    return _shift_right(bits, 11).double() * 2.0**-53


def gumbels(bits: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Finite draws from the standard Gumbel distribution."""
    inside = (_shift_right(bits, 12).double() + 0.5) * 2.0**-52  # neither 0 nor 1
    return -(-inside.log()).log()


def _shift_right(bits: Tensor, places: int) -> Tensor:
    """Logical shift to the right."""
    ones: int = 2 ** (64 - places) - 1
    return (bits >> places) & ones


StateStep = Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]]


def is_traced() -> bool:
    """Whether this call is traced for export."""
    return torch.compiler.is_exporting()


def traced_scan(step: StateStep, inputs: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The state after every step of a loop over axis 0, for any number of steps."""
    parts = len(state)

    def advance(
        before: tuple[Tensor, ...], read: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        after = step(read, before)[:parts]
        return after, tuple(part.clone() for part in after)

    _, states = scan(advance, tuple(part.clone() for part in state), inputs)
    return tuple(states)


class ConcatCombiner(nn.Module):
    """Concatenation."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.width = sum(sizes)

    def forward(self, parts: list[Float[Tensor, "R T _"]]) -> Float[Tensor, "R T D"]:
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


class SumCombiner(nn.Module):
    """The first vector, plus a linear map of each other to its size: `x_t + φ(y)` of S2.2."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.width = sizes[0]
        self.maps = nn.ModuleList(nn.Linear(size, self.width, bias=False) for size in sizes[1:])

    def forward(self, parts: list[Float[Tensor, "R T _"]]) -> Float[Tensor, "R T D"]:
        total = parts[0]
        for change, part in zip(children_of(self.maps, nn.Linear), parts[1:], strict=True):
            total = total + change(part)
        return total


class TanhCombiner(nn.Module):
    """One layer over the concatenation: `tanh(W [a; b; …] + c)`."""

    def __init__(self, sizes: Sequence[int], width: int) -> None:
        super().__init__()
        self.width = width
        self.map = nn.Linear(sum(sizes), width)

    def forward(self, parts: list[Float[Tensor, "R T _"]]) -> Float[Tensor, "R T D"]:
        return self.map(torch.cat(parts, dim=-1)).tanh()


class Readout(nn.Module):
    """The input of an output layer: the state itself, or `tanh(W s + b)` of its size (S2).

    With the output layer after it, the read-out is affine or a perceptron of one hidden layer.
    """

    def __init__(self, width: int, kind: Literal["perceptron", "affine"]) -> None:
        super().__init__()
        self.width = width
        self.map = nn.Linear(width, width) if kind == "perceptron" else None

    @property
    def is_affine(self) -> bool:
        """Whether the output layer reads the states directly."""
        return self.map is None

    def forward(self, states: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows D"]:
        if self.map is None:
            return states
        changed: Tensor = self.map(states)
        return changed.tanh()


DRAWS = ("normal_", "uniform_")


class _Uncompiled(TorchFunctionMode):
    """Avoids what makes torch load its compiler on the meta device: initialization of weights, and
    `empty_like`.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__name__", "") in DRAWS:
            return named["tensor"] if "tensor" in named else args[0]
        if func is torch.empty_like:
            return torch.empty(args[0].shape, dtype=args[0].dtype, **named)
        return func(*args, **named)


@contextmanager
def meta_device() -> Iterator[None]:
    """Build modules with names and shapes of weights but no memory."""
    with torch.device("meta"), _Uncompiled():
        yield


def materialize(model: nn.Module) -> None:
    """Allocate the weights of a model built on the meta device."""
    with _Uncompiled():
        model.to_empty(device="cpu")
