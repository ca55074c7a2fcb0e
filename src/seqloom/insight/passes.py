"""One pass of a model over an input and its output, with all that happens inside it noted."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.errors import ConfigError, DataError
from seqloom.fields import END, SPECIAL_SYMBOLS, START, TextField
from seqloom.insight.twins import Place, layer_of, twin, units_of
from seqloom.model import Memory, SequenceModel, Source
from seqloom.model.encoders import ReversedEncoder
from seqloom.nn.attention import Attention
from seqloom.nn.mixing import Cache, SelfAttention, SimpleAttention, Steps
from seqloom.nn.transformer import CrossAttention
from seqloom.nn.units import Unit, UnitState
from seqloom.prediction import Model, Output

__all__ = ["Looked", "Pair", "Pass", "Stretch", "pair_of", "pass_over", "text_field"]

Kind = Literal["cross", "self"]


@dataclass(frozen=True)
class Pair:
    """One input and one output, as symbols and as the network reads them."""

    source: tuple[str, ...]  # ending in `<end>`
    target: tuple[str, ...]  # what was written, `<end>` included where it was
    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the decoder read at each step: `<start>`, then all but the last it wrote."""
        return (SPECIAL_SYMBOLS[START], *self.target[:-1])

    def read(self, rows: int = 1) -> Source:
        """The input, so many times."""
        ids = torch.tensor([self.source_ids] * rows)
        return Source(ids, torch.full((rows,), ids.shape[1]))

    def fed(self, rows: int = 1) -> Tensor:
        """What the decoder reads, so many times."""
        return torch.tensor([(START, *self.target_ids[:-1])] * rows)

    def written(self) -> Tensor:
        """What the decoder writes."""
        return torch.tensor(self.target_ids)


def pair_of(model: Model, text: str, output: Output | str | None = None) -> Pair:
    """An input with the output that the model gives for it, or with this one."""
    field = text_field(model)
    if not text.strip():
        raise DataError("there is nothing to look at in a blank input; give a text")
    if output is None:
        output = model.predict([text])[0]
    if isinstance(output, str):
        ids = [*model.target.encode(output).tolist(), END]
    else:
        ids = list(output.ids)
    row = np.append(field.encode(text), np.int32(END))
    source = field.shortened(row, model.config.data.max_source).tolist()
    names = tuple(field.tokens(source)), tuple(model.target.tokens(ids))
    return Pair(*names, tuple(source), tuple(ids))


def text_field(model: Model) -> TextField:
    """The source column of a model that reads text; ConfigError for any other."""
    if not isinstance(model.source, TextField):
        raise ConfigError(
            f"this look needs a source of text, and here it is {model.source.describe()}: try "
            "--show tree, positions or net"
        )
    return model.source


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
    """All that a model did while it read an input and wrote an output."""

    pair: Pair
    memory: Memory
    hidden: Float[Tensor, "T D"]  # what the output layer saw at each step
    log_probabilities: Float[Tensor, "T V"]
    looks: tuple[Looked, ...]
    stretches: tuple[Stretch, ...]


@torch.no_grad()
def pass_over(network: SequenceModel, pair: Pair) -> Pass:
    """Read the input and write the output once; the network itself is not touched."""
    notes = _Notes(network)
    memory = notes.twin.encoder.encode(pair.read())
    state = notes.twin.decoder.start(memory, trace=True)
    features, _ = notes.twin.decoder.read(pair.fed(), state)
    scores = notes.twin.decoder.write(features.hidden[0]).log_softmax(-1)
    timeline = _Timeline.of(network, pair)
    return Pass(
        pair,
        memory,
        features.hidden[0],
        scores,
        tuple(timeline.looked(look) for look in notes.looks if look.weights),
        tuple(timeline.stretch(part) for part in notes.parts if part.steps),
    )


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

    def __init__(self, network: SequenceModel) -> None:
        self.looks: list[_Look] = []
        self.parts: list[_Part] = []
        modules = list(network.named_modules())
        changes: list[tuple[nn.Module, Callable[[Any], nn.Module]]] = [
            (module, partial(_Mixing, self._look(name, "self")))
            for name, module in modules
            if isinstance(module, SelfAttention | SimpleAttention)
        ]
        self.twin = twin(network, changes)
        for name, module in self.twin.named_modules():
            if isinstance(module, CrossAttention):
                module.register_forward_hook(partial(_note_cross, self._look(name, "cross")))
            elif isinstance(module, Attention):
                module.register_forward_hook(partial(_note_attention, self._look(name, "cross")))
        for place, unit in units_of(self.twin):
            self.parts.append(_Part(place, unit, []))
            unit.register_forward_hook(partial(_note_unit, self.parts[-1]))

    def _look(self, name: str, kind: Kind) -> _Look:
        self.looks.append(_Look(name.partition(".")[0], kind, layer_of(name), []))
        return self.looks[-1]


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


def _note_cross(look: _Look, _module: nn.Module, _inputs: Any, outputs: Any) -> None:
    look.weights.append(outputs[1][0])


def _note_attention(look: _Look, module: Attention, inputs: Any, _outputs: Any) -> None:
    look.weights.append(module.weigh(*inputs)[0])


def _note_unit(part: _Part, _module: nn.Module, inputs: Any, outputs: Any) -> None:
    part.steps.append((inputs[0][0], tuple(each[0] for each in inputs[1]), outputs[1]))


@dataclass(frozen=True)
class _Timeline:
    """The symbols that each part of a model met, in its order."""

    pair: Pair
    read: tuple[str, ...]  # the source in the order in which the encoder reads it
    handed: tuple[str, ...]  # and as it is handed over

    @classmethod
    def of(cls, network: SequenceModel, pair: Pair) -> "_Timeline":
        source = pair.source
        turned = (*source[-2::-1], source[-1])
        encoder = network.encoder
        backwards = isinstance(encoder, ReversedEncoder)
        whole = isinstance(encoder, ReversedEncoder) and encoder.turned
        return cls(pair, turned if backwards else source, turned if whole else source)

    def looked(self, look: _Look) -> Looked:
        """A layer's weights with their labels; what came later sees more columns."""
        columns = look.weights[-1].shape[-1]
        padded = [nn.functional.pad(part, (0, columns - part.shape[-1])) for part in look.weights]
        weights = torch.cat(padded, dim=1)
        if look.kind == "cross":
            names = self.pair.target, self.handed
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

    def _decoded(self, steps: int) -> tuple[str, ...]:
        """What a decoder read: its own outputs, and the source before them where it reads that."""
        return self.handed + self.pair.inputs if steps > len(self.pair.inputs) else self.pair.inputs
