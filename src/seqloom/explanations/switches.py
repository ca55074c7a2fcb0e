"""A network with some of its parts switched off, to see what follows without them."""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor, nn

from seqloom.errors import ConfigError
from seqloom.explanations.attention import ATTENTION_KINDS
from seqloom.explanations.instrumented_copy import (
    AnyNetwork,
    instrument,
    layer_of,
    recurrent_units,
    side_of,
)
from seqloom.explanations.parts import attention_kind
from seqloom.nn.units import Gru, Lstm

__all__ = ["GateSwitch", "HeadSwitch", "switch_off"]

CLOSED = -1e4  # that is added to what a gate sums up, so that it stays at 0


class HeadSwitch(NamedTuple):
    """A head of an attention, both counted from 1."""

    of: str  # cross, encoder or decoder
    layer: int
    head: int


class GateSwitch(NamedTuple):
    """A gate of a recurrent unit, of all its cells or of one."""

    at: str  # as its location is written: encoder layer 1 forward
    gate: str
    cell: int | None = None  # counted from 0


def switch_off(network: AnyNetwork, switches: Iterable[HeadSwitch | GateSwitch]) -> AnyNetwork:
    """A copy with the same parameters, in which these heads give nothing and these gates stay
    closed; ConfigError where it has no such part."""
    changed = instrument(network)
    for each in switches:
        if isinstance(each, HeadSwitch):
            _silence_head(changed, each)
        else:
            _close_gate(changed, each)
    return changed


def _silence_head(network: nn.Module, switch: HeadSwitch) -> None:
    wanted = ATTENTION_KINDS.get(switch.of)
    for name, module in network.named_modules():
        kind = attention_kind(module)
        combine = getattr(module, "combine", None)
        if kind is None or not isinstance(combine, nn.Linear):
            continue
        if (side_of(name), kind) == wanted and layer_of(name) == switch.layer:
            sizes: Any = module.sizes
            if switch.head <= sizes.heads:
                combine.register_forward_pre_hook(partial(_mute, switch.head - 1, sizes.value))
                return
    raise ConfigError(
        f"there is no head {switch.head} in layer {switch.layer} of {switch.of} attention "
        "that could be switched off"
    )


def _mute(head: int, width: int, _module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
    """What a head gives is 0."""
    values = inputs[0].clone()
    values[..., head * width : (head + 1) * width] = 0
    return (values,)


def _close_gate(network: Any, switch: GateSwitch) -> None:
    for location, unit in recurrent_units(network):
        if str(location) != switch.at or not isinstance(unit, Lstm | Gru):
            continue
        if switch.gate in unit.gate_names and (switch.cell or 0) < unit.width:
            first = unit.gate_names.index(switch.gate) * unit.width
            last = first + unit.width
            if switch.cell is not None:
                first, last = first + switch.cell, first + switch.cell + 1
            unit.project.register_forward_hook(partial(_close, first, last))
            return
    raise ConfigError(f"there is no gate {switch.gate!r} at {switch.at} that could be closed")


def _close(first: int, last: int, _module: nn.Module, _inputs: Any, sums: Tensor) -> Tensor:
    """What the gate sums up is far below 0."""
    closed = sums.clone()
    closed[..., first:last] += CLOSED
    return closed
