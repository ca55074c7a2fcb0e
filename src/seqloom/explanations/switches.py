"""Ablation: a network with some of its heads or gates switched off."""

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
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
from seqloom.model import Network
from seqloom.nn.units import Gru, Lstm

__all__ = [
    "NOTHING_SILENCED",
    "GateSwitch",
    "HeadSwitch",
    "SilencedParts",
    "find_silenced_parts",
    "switch_off",
]

ATTENDED = ("attention", "self-attention")  # edges whose heads can be switched off
STATE_KINDS = ("time", "initial")  # edges that lead to a recurrent unit's state
CLOSED = -1e4  # added to a gate's preactivation, so that the gate stays at 0


class HeadSwitch(NamedTuple):
    """A head of an attention layer, both counted from 1."""

    of: str  # cross, encoder or decoder
    layer: int
    head: int


class GateSwitch(NamedTuple):
    """A gate of a recurrent unit, for all cells or for one."""

    at: str  # the unit's location in words, such as encoder layer 1 forward
    gate: str
    cell: int | None = None  # counted from 0


class SilencedParts(NamedTuple):
    """The parts switched off in a network, by the names of its nodes (`connections()`)."""

    names: Mapping[str, str] = MappingProxyType({})  # in words
    heads: Mapping[str, set[int]] = MappingProxyType({})  # counted from 0
    edges: Set[tuple[str, str]] = frozenset()
    """Nodes, and the kinds of their edges whose tails change nothing of them any more."""


NOTHING_SILENCED = SilencedParts()


def switch_off(network: AnyNetwork, switches: Iterable[HeadSwitch | GateSwitch]) -> AnyNetwork:
    """A copy with the same parameters, in which these heads output zero and these gates stay
    closed; ConfigError if the network lacks such a part.
    """
    changed = instrument(network)
    for each in switches:
        if isinstance(each, HeadSwitch):
            _silence_head(changed, each)
        else:
            _close_gate(changed, each)
    return changed


def find_silenced_parts(
    changed: Network, switches: Sequence[HeadSwitch | GateSwitch]
) -> SilencedParts:
    """The effect of switches on the graph of a network made by `switch_off`."""
    connections = changed.connections()
    nodes = {node.name for node in connections.nodes}
    heads: dict[str, set[int]] = {}
    names: dict[str, list[str]] = {}
    deaf: set[tuple[str, str]] = set()
    kinds = {name: {edge.kind for edge in connections.into(name)} for name in nodes}
    for each in switches:
        node = _node_of(each, nodes)
        if isinstance(each, HeadSwitch):
            names.setdefault(node, []).append(f"head {each.head}")
            heads.setdefault(node, set()).add(each.head - 1)
            if len(heads[node]) == _find_heads(changed, each).number:
                deaf |= {(node, kind) for kind in ATTENDED}
        else:
            names.setdefault(node, []).append(f"{each.gate} gate")
            deaf |= {(node, kind) for kind in kinds.get(node, ()) if _is_deaf(changed, each, kind)}
    told = {node: f"{', '.join(words)} off" for node, words in names.items()}
    return SilencedParts(told, heads, deaf)


def _node_of(switch: HeadSwitch | GateSwitch, nodes: Set[str]) -> str:
    """The node of a switched part."""
    if isinstance(switch, HeadSwitch):
        side, kind = ATTENTION_KINDS[switch.of]
        return f"{side}.blocks.{switch.layer - 1}.{kind}-attention"
    side, _, number, _ = switch.at.split()
    layer = int(number) - 1
    names = (f"{side}.layers.{layer}", f"{side}.blocks.{layer}.recurrence")
    return next((name for name in names if name in nodes), switch.at)


def _is_deaf(changed: Network, switch: GateSwitch, kind: str) -> bool:
    """Whether the units of a layer ignore edges of this kind: their own input, or their previous
    state.
    """
    place = switch.at.rpartition(" ")[0]
    units = [unit for at, unit in recurrent_units(changed) if str(at).startswith(f"{place} ")]
    return all(_unit_is_deaf(unit, by_state=kind in STATE_KINDS) for unit in units)


@torch.enable_grad()
def _unit_is_deaf(unit: Any, *, by_state: bool) -> bool:
    like = unit.project.weight
    inputs = torch.randn(1, 1, unit.project.in_features, dtype=like.dtype).requires_grad_()
    state = tuple(
        torch.randn(1, unit.width, dtype=like.dtype).requires_grad_() for _ in unit.state_names
    )
    _, after = unit(inputs, state)
    total = sum((part * torch.randn_like(part)).sum() for part in after)
    found = torch.autograd.grad(total, state if by_state else (inputs,), allow_unused=True)
    return not any(each is not None and bool(each.ne(0).any()) for each in found)


class _Heads(NamedTuple):
    """The module that merges the heads of an attention, their number, and the width of each."""

    combine: nn.Linear
    number: int
    width: int


def _find_heads(network: nn.Module, switch: HeadSwitch) -> _Heads:
    wanted = ATTENTION_KINDS.get(switch.of)
    for name, module in network.named_modules():
        kind = attention_kind(module)
        combine = getattr(module, "combine", None)
        if kind is None or not isinstance(combine, nn.Linear):
            continue
        if (side_of(name), kind) == wanted and layer_of(name) == switch.layer:
            sizes: Any = module.sizes
            if switch.head <= sizes.heads:
                return _Heads(combine, sizes.heads, sizes.value)
    raise ConfigError(
        f"there is no head {switch.head} in layer {switch.layer} of {switch.of} attention "
        "that could be switched off"
    )


def _silence_head(network: nn.Module, switch: HeadSwitch) -> None:
    heads = _find_heads(network, switch)
    heads.combine.register_forward_pre_hook(partial(_mute, switch.head - 1, heads.width))


def _mute(head: int, width: int, _module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
    """Set a head's output to 0."""
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
    """Set a gate's preactivation far below 0."""
    closed = sums.clone()
    closed[..., first:last] += CLOSED
    return closed
