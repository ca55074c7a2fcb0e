"""One pass of a model over an input and what it says of it, with all that happens inside noted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.explain.explained_output import Pair, Said
from seqloom.explain.instrumented_copy import Place, layer_of, side_of, twin, units_of
from seqloom.model import HeadedModel, Memory, Network, SequenceModel
from seqloom.model.encoders import ReversedEncoder
from seqloom.nn.attention import Attention
from seqloom.nn.token_mixing import Cache, SelfAttention, SimpleAttention, Steps
from seqloom.nn.transformer import CrossAttention
from seqloom.nn.units import Unit, UnitState

__all__ = [
    "Looked",
    "Pass",
    "Stretch",
    "Written",
    "attends",
    "pass_over",
    "positions",
    "written_over",
]

Kind = Literal["cross", "self"]
WITHIN = SelfAttention | SimpleAttention
ACROSS = CrossAttention | Attention


class Looked(NamedTuple):
    """How one layer looked, head by head."""

    side: str  # encoder or decoder
    kind: Kind  # at the source, or at its own sequence
    layer: int  # from 1
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: Float[Tensor, "H T S"]


class Stretch(NamedTuple):
    """What one unit read and kept, step after step, in the order in which it read."""

    place: Place
    unit: Unit
    symbols: tuple[str, ...]
    inputs: Float[Tensor, "T I"]
    before: tuple[Float[Tensor, "T D"], ...]  # the state before each step, each tensor of it
    after: tuple[Float[Tensor, "T D"], ...]


@dataclass(frozen=True, eq=False)
class Pass:
    """All that a model did while it read an input and said something of it."""

    said: Said
    memory: Memory
    looks: tuple[Looked, ...]
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, eq=False)
class Written(Pass):
    """The same of a model that writes."""

    pair: Pair
    hidden: Float[Tensor, "T D"]  # what the output layer saw at each step
    log_probabilities: Float[Tensor, "T V"]


def pass_over(network: Network, said: Said) -> Pass:
    """Read the input and say it once; the network itself is not touched."""
    if isinstance(network, SequenceModel) and isinstance(said, Pair):
        return written_over(network, said)
    return _judged_over(network, said)


@torch.no_grad()
def written_over(network: SequenceModel, pair: Pair) -> Written:
    """The same for a model that writes."""
    notes = _Notes(network)
    writer = notes.twin
    if not isinstance(writer, SequenceModel):
        raise TypeError("the twin of a model that writes writes too")
    memory = writer.encoder.encode(pair.read())
    features, _ = writer.decoder.read(pair.fed(), writer.decoder.start(memory))
    scores = writer.decoder.write(features.hidden[0]).log_softmax(-1)
    return Written(
        pair, memory, *notes.taken(network, pair, memory), pair, features.hidden[0], scores
    )


@torch.no_grad()
def _judged_over(network: Network, said: Said) -> Pass:
    notes = _Notes(network)
    memory = notes.twin.encoder.encode(said.read())
    if isinstance(notes.twin, HeadedModel):
        notes.twin.head(memory)
    return Pass(said, memory, *notes.taken(network, said, memory))


@dataclass
class _Look:
    """Weights as they came, call by call: (H, T, C)."""

    side: str
    kind: Kind
    layer: int
    weights: list[Tensor]


@dataclass
class _Part:
    """A unit's steps as they came: inputs, state before, states after, of the one row."""

    place: Place
    unit: Unit
    steps: list[tuple[Tensor, UnitState, tuple[Tensor, ...]]]


class _Notes:
    """A twin whose attention and units note what they do."""

    def __init__(self, network: Network) -> None:
        self.looks: list[_Look] = []
        self.parts: list[_Part] = []
        modules = list(network.named_modules())
        changes: list[tuple[nn.Module, Callable[[Any], nn.Module]]] = [
            (module, partial(_Mixing, self._look(name, "self")))
            for name, module in modules
            if isinstance(module, WITHIN)
        ]
        self.twin = twin(network, changes)
        for name, module in self.twin.named_modules():
            if isinstance(module, ACROSS):
                module.register_forward_hook(partial(_note_attention, self._look(name, "cross")))
        for place, unit in units_of(self.twin):
            self.parts.append(_Part(place, unit, []))
            unit.register_forward_hook(partial(_note_unit, self.parts[-1]))

    def taken(
        self, network: Network, said: Said, memory: Memory
    ) -> tuple[tuple[Looked, ...], tuple[Stretch, ...]]:
        """What was noted, with the symbols that it was noted at."""
        timeline = _Timeline.of(network, said, memory)
        return (
            tuple(timeline.looked(look) for look in self.looks if look.weights),
            tuple(timeline.stretch(part) for part in self.parts if part.steps),
        )

    def _look(self, name: str, kind: Kind) -> _Look:
        self.looks.append(_Look(side_of(name), kind, layer_of(name), []))
        return self.looks[-1]


def attends(network: Network) -> bool:
    """Whether a pass would note any look."""
    return any(isinstance(module, WITHIN | ACROSS) for module in network.modules())


class _Mixing(nn.Module):
    """Self-attention that notes its weights, which the fast product of torch does not show."""

    def __init__(self, look: _Look, inner: SelfAttention | SimpleAttention) -> None:
        super().__init__()
        self.look, self.inner = look, inner

    def forward(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        at = torch.arange(inputs.shape[1], device=inputs.device)[None]
        query, key, _ = self.inner.compared(inputs, at)
        self._note(query, key, mask)
        output: Tensor = self.inner(inputs, mask)
        return output

    def extend(self, inputs: Tensor, cache: Cache, steps: Steps) -> tuple[Tensor, Cache]:
        output, after = self.inner.extend(inputs, cache, steps)
        query, _, _ = self.inner.compared(inputs, steps.at)
        past = torch.arange(steps.end, device=inputs.device) <= steps.at[:, None, :, None]
        self._note(query, after[0][:, : steps.end], past)
        return output, after

    def nothing(self, like: Tensor) -> Cache:
        return self.inner.nothing(like)

    def _note(self, query: Tensor, key: Tensor, seen: Tensor | None) -> None:
        query, key = query.transpose(1, 2), key.transpose(1, 2)
        scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5  # (1, H, T, C)
        if seen is not None:
            scores = scores.masked_fill(~seen, -torch.inf)
        self.look.weights.append(scores.softmax(-1)[0])


def _note_attention(
    look: _Look, module: CrossAttention | Attention, inputs: Any, _outputs: Any
) -> None:
    look.weights.append(module.weigh(*inputs)[0])


def _note_unit(part: _Part, _module: nn.Module, inputs: Any, outputs: Any) -> None:
    part.steps.append((inputs[0][0], tuple(each[0] for each in inputs[1]), outputs[1]))


@dataclass(frozen=True)
class _Timeline:
    """The symbols that each part of a model met, in its order."""

    said: Said
    read: tuple[str, ...]  # the source in the order in which the encoder reads it
    handed: tuple[str, ...]  # and as it is handed over

    @classmethod
    def of(cls, network: Network, said: Said, memory: Memory) -> "_Timeline":
        count = int(memory.seen(said.read())[0])
        source = said.source if memory.mask is None else positions(said.source, count)
        back = [each for each in network.modules() if isinstance(each, ReversedEncoder)]
        if not back:
            return cls(said, source, source)
        items = len(source) - back[0].closing
        turned = (*source[:items][::-1], *source[items:])
        return cls(said, turned, turned if back[0].turned else source)

    def looked(self, look: _Look) -> Looked:
        """A layer's weights with their labels; what came later sees more columns."""
        columns = look.weights[-1].shape[-1]
        padded = [nn.functional.pad(part, (0, columns - part.shape[-1])) for part in look.weights]
        weights = torch.cat(padded, dim=1)
        if look.kind == "cross":
            names = self._written(weights.shape[1]), self.handed
        elif look.side == "encoder":
            names = self.read, self.read
        else:
            names = (self._decoded(weights.shape[1]),) * 2
        return Looked(look.side, look.kind, look.layer, *names, weights)

    def stretch(self, part: _Part) -> Stretch:
        """A unit's steps side by side, each with the symbol that it read."""
        inputs = torch.cat([step[0] for step in part.steps])
        before, after = [], []
        for number in range(part.unit.parts):
            rows, firsts = [], []
            for _, first, states in part.steps:
                rows.append(states[number][0])
                firsts.append(torch.cat([first[number][None], states[number][0, :-1]]))
            before.append(torch.cat(firsts))
            after.append(torch.cat(rows))
        symbols = self._decoded(len(inputs)) if part.place.side == "decoder" else self.read
        if part.place.direction == "backward":
            symbols = symbols[::-1]
        return Stretch(part.place, part.unit, symbols, inputs, tuple(before), tuple(after))

    def _written(self, steps: int) -> tuple[str, ...]:
        """What a decoder was about at each of its steps: a token, or a number ahead."""
        return self.said.target if isinstance(self.said, Pair) else _numbers(steps)

    def _decoded(self, steps: int) -> tuple[str, ...]:
        """What a decoder read: its own outputs, and the source before them where it reads that."""
        if not isinstance(self.said, Pair):
            return _numbers(steps)
        inputs = self.said.inputs
        return self.handed + inputs if steps > len(inputs) else inputs


def positions(source: Sequence[str], count: int) -> tuple[str, ...]:
    """Names for so many positions that were made of the items of a source."""
    if len(source) >= count:
        return tuple(source[:: -(-len(source) // count)])
    return tuple(str(number) for number in range(1, count + 1))


def _numbers(steps: int) -> tuple[str, ...]:
    return tuple(f"+{number}" for number in range(1, steps + 1))
