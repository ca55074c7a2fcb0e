"""A recurrent encoder or decoder as plain arrays, and packed for the core."""

from collections.abc import Sequence
from ctypes import pointer
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from seqloom.engine.library import (
    LayerStructure,
    MatrixStructure,
    RecurrentStructure,
    StackStructure,
    UnitStructure,
    address,
)
from seqloom.engine.matrices import Matrix, Norm, Precision, pad_to, round_up
from seqloom.engine.packed import (
    ACTIVATIONS,
    AffineArrays,
    FrontEndCall,
    PackedStack,
    ReadingTurn,
    Vectorizer,
    pack_output,
    turn_structure,
    vector_table,
)

__all__ = [
    "AttentionArrays",
    "FirstArrays",
    "LayerArrays",
    "RecurrentArrays",
    "ScoreArrays",
    "UnitArrays",
    "WindowArrays",
    "WiringArrays",
]

UNITS = {"elman": 0, "lstm": 1, "gru": 2, "ssru": 3}
QUERIES = {"current": 1, "previous": 2, "output": 3}
SCORES = {"dot": 0, "additive": 1, "perceptron": 2}
FIRST = {"own": 0, "copied": 1, "mapped": 2, "read": 3}


@dataclass(frozen=True)
class UnitArrays:
    """A unit's maps to its gates, from inputs and from the previous state."""

    kind: str
    width: int
    gates: int
    project: AffineArrays
    recur: np.ndarray | None = None
    activation: str = "tanh"
    reset_after: bool = False
    take: bool = False

    def matrices(self, precision: Precision) -> dict[str, Matrix]:
        """Pack the maps, with each gate padded."""
        room = round_up(self.width)
        packed = {"project": self.project.pad_groups(self.gates, room).pack(precision)}
        if self.recur is None:
            return packed
        recur, gates = AffineArrays(self.recur), self.gates
        if self.kind == "gru" and not self.reset_after:
            first, last = recur.split(2 * self.width, self.width)
            packed["candidate"] = last.pad(room, room).pack(precision)
            recur, gates = first, 2
        return {**packed, "recur": recur.pad_groups(gates, room).pack(precision)}


@dataclass(frozen=True)
class LayerArrays:
    """A layer with a unit for each direction."""

    units: Sequence[UnitArrays]
    inputs: int
    backward: bool = False
    residual: bool = False
    norm: Norm | None = None


@dataclass(frozen=True)
class ScoreArrays:
    """A score function: a product, or a network over the sum of its maps."""

    kind: str = "dot"
    query: AffineArrays | None = None
    key: AffineArrays | None = None
    factor: float = 1.0  # scale of a product
    weigh: np.ndarray | None = None
    second: AffineArrays | None = None


@dataclass(frozen=True)
class WindowArrays:
    """The visible positions: all, or some on each side of a centre."""

    reach: int = 0
    gaussian: bool = False
    focus: AffineArrays | None = None  # of a predicted centre
    weigh: np.ndarray | None = None


@dataclass(frozen=True)
class AttentionArrays:
    """A score function with its heads, and the visible positions."""

    query: str
    score: ScoreArrays  # with the concatenated maps of all heads
    source: int  # width of the states attended to
    key: int  # size of compared vectors, per head
    heads: int = 1
    causal: bool = False
    window: WindowArrays = WindowArrays()


@dataclass(frozen=True)
class FirstArrays:
    """The initial state of a decoder."""

    kind: str = "own"
    maps: Sequence[AffineArrays] = ()
    activation: str = "identity"


@dataclass(frozen=True)
class WiringArrays:
    """The inputs of a decoder's units, and of its output layer."""

    first: FirstArrays
    readout: AffineArrays | None  # None if the features are concatenated
    shown: int  # width of the output layer's input
    code: int = 0
    feedback: bool = True
    soft: bool = False  # feeds back the mean vector under the whole distribution
    code_input: bool = False
    code_first: bool = False
    code_output: bool = False
    feed: bool = False
    joins: Sequence[AffineArrays] | None = None  # maps of inputs that are added
    attention: AttentionArrays | None = None


@dataclass(frozen=True)
class RecurrentArrays:
    """The parameters of a recurrent encoder or, with a wiring, of a decoder."""

    layers: Sequence[LayerArrays]
    vectors: np.ndarray | None
    vector_width: int
    first: Sequence[np.ndarray] = ()  # of each part of the state: (L, D); zeros if empty
    wiring: WiringArrays | None = None
    output: AffineArrays | None = None
    turn: ReadingTurn | None = None
    vectorizer: Vectorizer | None = None
    front: FrontEndCall | None = None

    @property
    def parts(self) -> int:
        """The number of tensors in a state."""
        return 2 if self.layers and self.layers[0].units[0].kind == "lstm" else 1

    @property
    def outputs(self) -> int:
        """The width of the top layer, over all directions."""
        if not self.layers:
            return self.vector_width
        return sum(unit.width for unit in self.layers[-1].units)

    @property
    def room(self) -> int:
        """The padded width of one part of a unit's state."""
        return round_up(self.layers[0].units[0].width) if self.layers else 0

    def with_turn(self, turn: ReadingTurn) -> "RecurrentArrays":
        """The parameters of an encoder that reads backwards."""
        return replace(self, turn=turn)

    def with_front(self, front: FrontEndCall) -> "RecurrentArrays":
        """The parameters of an encoder with a front end."""
        return replace(self, front=front)

    def pack(self, precision: Precision) -> PackedStack:
        """Pack the parameters for the core."""
        wiring = self.wiring
        attention = None if wiring is None else wiring.attention
        return PackedRecurrent(
            width=self.outputs if wiring is None else wiring.shown,
            vectors=vector_table(self.vectors, self.vector_width),
            vectorizer=self.vectorizer,
            front=self.front,
            output=None if self.output is None else pack_output(self.output, precision),
            reads_source=wiring is not None and _reads_source(wiring),
            attends=attention is not None,
            ordered=attention is not None and (attention.causal or attention.window.reach > 0),
            last_only=True,
            arrays=self,
            units=[[unit.matrices(precision) for unit in layer.units] for layer in self.layers],
            maps={name: part.pack(precision) for name, part in self._maps().items()},
        )

    def _maps(self) -> dict[str, AffineArrays]:
        """The maps outside the units, by their names in the core's structure."""
        if self.wiring is None:
            return {}
        wiring, attention = self.wiring, self.wiring.attention
        found: dict[str, AffineArrays | None] = {"readout": wiring.readout}
        for number, part in enumerate(wiring.first.maps):
            found[f"bridge {number}"] = part.pad_groups(len(self.layers), self.room)
        for number, part in enumerate(wiring.joins or ()):
            found[f"join {number}"] = part
        if wiring.soft and self.vectors is not None:
            found["mean"] = AffineArrays(np.ascontiguousarray(self.vectors.T))
        if attention is not None:
            found |= _attention_maps(attention)
        return {name: part for name, part in found.items() if part is not None}


def _reads_source(wiring: WiringArrays) -> bool:
    return wiring.code > 0 or wiring.attention is not None or wiring.first.kind != "own"


def _attention_maps(attention: AttentionArrays) -> dict[str, AffineArrays | None]:
    score, room = attention.score, round_up(attention.key)
    second = None if score.second is None else score.second.pad(room, room)
    heads = {"ask": score.query, "keys": score.key}
    maps = {
        name: None if part is None else part.pad_groups(attention.heads, room)
        for name, part in heads.items()
    }
    return {**maps, "second": second, "focus": attention.window.focus}


@dataclass(frozen=True, kw_only=True)
class PackedRecurrent(PackedStack):
    """A packed recurrent encoder or decoder."""

    arrays: RecurrentArrays
    units: Sequence[Sequence[dict[str, Matrix]]]
    maps: dict[str, Matrix] = field(default_factory=dict)

    def structure(self, positions: int) -> StackStructure:
        return self._structure

    @cached_property
    def _structure(self) -> StackStructure:
        net = self._recurrent()
        made = StackStructure(
            width=round_up(self.width),
            vocabulary=self.vocabulary,
            crossing=self.reads_source,
            input=self.arrays.vector_width,
            real=self.width,
            vectors=address(self.vectors),
        )
        made.recurrent = pointer(net)
        if self.output is not None:
            made.output = self.output.structure()
        turn_structure(made, self.arrays.turn)
        made.kept = net
        return made

    def _recurrent(self) -> RecurrentStructure:
        arrays, wiring = self.arrays, self.arrays.wiring
        layers = (LayerStructure * max(1, len(arrays.layers)))(
            *map(_layer, arrays.layers, self.units)
        )
        net = RecurrentStructure(
            layers=len(arrays.layers),
            parts=arrays.parts,
            width=arrays.room,
            output=arrays.outputs,
            vectors=arrays.vector_width,
            stack=layers,
            key_factor=1.0,
        )
        first = self._code() if wiring is None else self._entry(wiring)
        net.first, net.kept = address(first), [layers, first]
        if wiring is not None:
            self._wire(net, wiring)
        return net

    def _code(self) -> np.ndarray | None:
        """An encoder's initial state: (part, layer, output)."""
        if not self.arrays.first:
            return None
        return np.ascontiguousarray(np.stack(list(self.arrays.first)), dtype=np.float32)

    def _entry(self, wiring: WiringArrays) -> np.ndarray:
        """A decoder's initial state: (layer, part, padded), and its features."""
        arrays = self.arrays
        sizes = len(arrays.layers), arrays.parts, arrays.room
        states = np.zeros(sizes, dtype=np.float32)
        for part, values in enumerate(arrays.first):
            states[:, part, : values.shape[1]] = values
        return pad_to(
            states.ravel(),
            states.size + (round_up(wiring.shown) if wiring.feed or wiring.soft else 0),
        )

    def _wire(self, net: RecurrentStructure, wiring: WiringArrays) -> None:
        plain = "feedback", "soft", "code_input", "code_first", "code_output", "feed", "code"
        for name in plain:
            setattr(net, name, getattr(wiring, name))
        net.readout_width, net.summed = wiring.shown, wiring.joins is not None
        net.source = self.arrays.vector_width  # if the units read the source themselves
        net.first_kind = FIRST[wiring.first.kind]
        net.bridge_activation = ACTIVATIONS[wiring.first.activation]
        for name in ("readout", "ask", "keys", "second", "focus", "mean"):
            if name in self.maps:
                setattr(net, name, self.maps[name].structure())
        for number in range(len(wiring.first.maps)):
            net.bridges[number] = self.maps[f"bridge {number}"].structure()
        joins = [self.maps[f"join {n}"].structure() for n in range(len(wiring.joins or ()))]
        net.joins = (MatrixStructure * max(1, len(joins)))(*joins)
        if wiring.attention is not None:
            _wire_attention(net, wiring.attention)


def _layer(layer: LayerArrays, matrices: Sequence[dict[str, Matrix]]) -> LayerStructure:
    units = (UnitStructure * 2)(*map(_unit, layer.units, matrices))
    made = LayerStructure(
        units=units,
        directions=len(layer.units),
        backward=layer.backward,
        inputs=layer.inputs,
        residual=layer.residual,
    )
    if layer.norm is not None:
        made.norm = layer.norm.structure()
    return made


def _unit(unit: UnitArrays, matrices: dict[str, Matrix]) -> UnitStructure:
    return UnitStructure(
        kind=UNITS[unit.kind],
        activation=ACTIVATIONS[unit.activation],
        width=round_up(unit.width),
        real=unit.width,
        reset_after=unit.reset_after,
        take=unit.take,
        **{name: matrix.structure() for name, matrix in matrices.items()},
    )


def _wire_attention(net: RecurrentStructure, attention: AttentionArrays) -> None:
    score, window = attention.score, attention.window
    net.query, net.score = QUERIES[attention.query], SCORES[score.kind]
    net.heads, net.key, net.source = attention.heads, round_up(attention.key), attention.source
    net.causal, net.window, net.gaussian = attention.causal, window.reach, window.gaussian
    net.predicted, net.key_factor = window.focus is not None, score.factor
    kept = [
        None if values is None else pad_to(values, round_up(len(values)))
        for values in (score.weigh, window.weigh)
    ]
    net.weigh, net.focus_weigh = map(address, kept)
    net.kept += kept
