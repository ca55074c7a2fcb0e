"""Stacks of recurrent layers, in one or both directions (SPEC S2.6)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.nn.dropout import Dropout
from seqloom.nn.modules import each
from seqloom.nn.units import Lstm

__all__ = ["RecurrentStack", "reverse"]


def reverse(values: Float[Tensor, "B S D"], lengths: Int[Tensor, "B"]) -> Float[Tensor, "B S D"]:
    """Each row's real positions back to front; its padding stays behind them."""
    steps = torch.arange(values.shape[1], device=values.device)
    index = lengths[:, None] - 1 - steps
    index = torch.where(index < 0, steps, index)
    return values.gather(1, index[:, :, None].expand_as(values))


class RecurrentStack(nn.Module):
    """L layers, each fed the hidden states of the one below, with dropout between them."""

    def __init__(
        self, inputs: int, width: int, *, layers: int, both_directions: bool, dropout: float
    ) -> None:
        super().__init__()
        self.directions = 2 if both_directions else 1
        sizes = [inputs] + [self.directions * width] * (layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(Lstm(size, width) for _ in range(self.directions)) for size in sizes
        )
        self.between = Dropout(dropout)

    def forward(
        self,
        inputs: Float[Tensor, "B S I"],
        state: tuple[Float[Tensor, "B L D"], ...] | None = None,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> tuple[Float[Tensor, "B S E"], tuple[Float[Tensor, "B L E"], ...]]:
        """The top layer's outputs and the last state of every layer, directions side by side.

        With `lengths`, a row's last state is the one at its own end, and the backward direction
        starts there, so padding never enters.
        """
        finals: list[tuple[Tensor, ...]] = []
        for number, directions in enumerate(each(self.layers, nn.ModuleList)):
            if number:
                inputs = self.between(inputs)
            first = None if state is None else tuple(part[:, number] for part in state)
            inputs, final = _layer(directions, inputs, first, lengths)
            finals.append(final)
        return inputs, tuple(torch.stack(parts, dim=1) for parts in zip(*finals, strict=True))


def _layer(
    directions: nn.ModuleList,
    inputs: Tensor,
    state: tuple[Tensor, ...] | None,
    lengths: Tensor | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    outputs, finals = [], []
    for number, unit in enumerate(each(directions, Lstm)):
        backward = number == 1
        read = _turn(inputs, lengths) if backward else inputs
        output, states = unit(read, unit.zero_state(read) if state is None else state)
        outputs.append(_turn(output, lengths) if backward else output)
        finals.append(tuple(_last(part, lengths) for part in states))
    final = tuple(torch.cat(parts, dim=-1) for parts in zip(*finals, strict=True))
    return torch.cat(outputs, dim=-1), final


def _turn(values: Tensor, lengths: Tensor | None) -> Tensor:
    return values.flip(1) if lengths is None else reverse(values, lengths)


def _last(values: Tensor, lengths: Tensor | None) -> Tensor:
    if lengths is None:
        return values[:, -1]
    return values[torch.arange(values.shape[0], device=values.device), lengths - 1]
