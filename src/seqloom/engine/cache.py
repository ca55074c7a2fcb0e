"""Where an engine stands: keys and values in one table, of which each path sees a part (SPEC S5.7).

The table has an entry for each token of each path and step that a sentence's paths have read. A
path is told by which entries it sees, so following parents moves no keys. When there is no room
left, or when a share of the sentences has left, what is still seen is copied, and the rest is left
behind; until then there are gaps.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from seqloom.engine.weights import rounded

__all__ = ["EngineState", "Gaps", "Looked", "Table"]

AHEAD = 4  # steps that a table has room for when the one before was full
FULL = 0.75  # share of the places that sentences fill before the gaps are closed


class Looked:
    """What every layer finds in the source, padded to whole lanes."""

    def __init__(
        self,
        keys: Float[Tensor, "L P H E S"],
        values: Float[Tensor, "L P H S E"],
        padding: Float[Tensor, "P H 1 S"],  # 0 at real positions, −∞ at padding
    ) -> None:
        self._parts = keys, values, padding
        self.places = len(padding)
        self.keys = keys.flatten(1, 2).unbind()  # (P·H, E, S) for each layer
        self.values = values.flatten(1, 2).unbind()
        self.padding = padding.flatten(0, 1)

    def select(self, places: Int[Tensor, "P2"]) -> "Looked":
        """What the sentences in these places look at."""
        keys, values, padding = self._parts
        return Looked(
            keys.index_select(1, places),
            values.index_select(1, places),
            padding.index_select(0, places),
        )

    def join(self, other: "Looked", width: int) -> "Looked":
        """These sentences and then others, each with so many source positions at most."""
        room = rounded(width)
        mine, theirs = (
            (_cut(keys, 4, room), _cut(values, 3, room), _cut(padding, 3, room, -torch.inf))
            for keys, values, padding in (self._parts, other._parts)
        )
        return Looked(
            torch.cat([mine[0], theirs[0]], dim=1),
            torch.cat([mine[1], theirs[1]], dim=1),
            torch.cat([mine[2], theirs[2]]),
        )

    def take_in(self, other: "Looked", places: Int[Tensor, "P2"]) -> None:
        """Put what others look at into these places, where there is room for it."""
        room = self.room
        (keys, values, padding), theirs = self._parts, other._parts
        keys.index_copy_(1, places, _cut(theirs[0], 4, room))
        values.index_copy_(1, places, _cut(theirs[1], 3, room))
        padding.index_copy_(0, places, _cut(theirs[2], 3, room, -torch.inf))

    @property
    def room(self) -> int:
        """Source positions that there is space for."""
        return self._parts[2].shape[3]

    @property
    def width(self) -> int:
        """Source positions of the longest sentence."""
        return int((self._parts[2] == 0).sum(dim=3).amax())


class Table:
    """Entries of all layers, with room for more; the first `filled` are written.

    What is written stays, so a state that knows fewer entries than are written remains true.
    What is not is any finite value, as it is multiplied by 0.
    """

    def __init__(self, entries: Float[Tensor, "L 2 P H C E"], filled: int) -> None:
        self.entries = entries
        self.filled = filled
        keys, values = entries.flatten(2, 3).unbind(1)  # (L, P·H, C, E)
        self.keys = keys.transpose(2, 3).unbind()
        self.values = values.unbind()
        self._layers = entries.unbind()

    @property
    def room(self) -> int:
        """Entries of a sentence that there is space for."""
        return self.entries.shape[4]

    def write(self, number: int, new: Float[Tensor, "2 P H N E"]) -> None:
        """The last entries that are filled, of one layer."""
        count = new.shape[3]
        self._layers[number].narrow(3, self.filled - count, count).copy_(new)

    def select(self, places: Int[Tensor, "P2"]) -> "Table":
        """All entries of the sentences in these places."""
        return Table(self.entries.index_select(2, places), self.filled)

    def copied(
        self, places: Int[Tensor, "P2"], kept: Int[Tensor, "P2 C2"], *, filled: int
    ) -> "Table":
        """For each of these places, the entries to keep."""
        heads, room = self.entries.shape[3:5]
        row = places[:, None] * heads + torch.arange(heads, device=places.device)  # (P2, H)
        flat = (row[:, :, None] * room + kept[:, None]).flatten()
        chosen = self.entries.flatten(2, 4).index_select(2, flat)
        return Table(chosen.unflatten(2, (len(places), heads, -1)), filled)

    def take_in(self, other: "Table", places: Int[Tensor, "P2"]) -> None:
        """Put the entries of others into these places, after what is filled."""
        count = other.filled
        part = self.entries.narrow(4, self.filled, count)
        part.index_copy_(2, places, other.entries.narrow(4, 0, count))
        self.filled += count

    def join(self, other: "Table") -> "Table":
        """The sentences of both, which have room for equally many entries."""
        entries = torch.cat([self.entries, other.entries], dim=2)
        return Table(entries, max(self.filled, other.filled))


@dataclass(frozen=True)
class Gaps:
    """Where rows lie when some of the places are those of sentences that have left."""

    places: Int[Tensor, "B"]  # of the sentences
    inner: Int[Tensor, "R"]  # of the rows, counted over all places
    outer: Int[Tensor, "P_K"]  # the row that is in each of these, or any where there is none

    @classmethod
    def between(cls, places: Int[Tensor, "B"], paths: int, every: int) -> "Gaps":
        """Sentences with so many paths each, in these places out of so many."""
        slots = torch.arange(paths, device=places.device)
        inner = (places[:, None] * paths + slots).flatten()
        outer = torch.zeros(every * paths, dtype=torch.int64, device=places.device)
        outer[inner] = torch.arange(len(inner), device=places.device)
        return cls(places, inner, outer)


@dataclass(frozen=True)
class EngineState:
    """Where an engine stands; `read` writes to the table, or to a copy if another state has."""

    seen: Float[Tensor, "R C"]  # 0 where a path sees an entry of its sentence, −∞ elsewhere
    known: int  # entries that its paths may see
    positions: Int[Tensor, "R"]
    furthest: int  # position that no path is beyond
    table: Table
    source: Looked
    width: int  # source positions before they were padded to whole lanes
    trace: bool = False
    gaps: Gaps | None = None

    @property
    def places(self) -> Int[Tensor, "B"]:
        """Where each sentence lies in table and source."""
        if self.gaps is not None:
            return self.gaps.places
        return torch.arange(self.source.places, device=self.seen.device)

    @property
    def sentences(self) -> int:
        """Those that have not left."""
        return self.source.places if self.gaps is None else len(self.gaps.places)

    def select(
        self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None
    ) -> "EngineState":
        """The state of these rows, in this order; `sentences` says which stay, if not all do."""
        seen, positions = self.seen.index_select(0, rows), self.positions.index_select(0, rows)
        moved = replace(self, seen=seen, positions=positions)
        if sentences is None and (self.gaps is None or len(rows) == len(self.seen)):
            return moved
        places = self.places if sentences is None else self.places[sentences]
        paths, every = len(rows) // len(places), self.source.places
        if len(places) < FULL * every or len(places.unique()) < len(places):
            return moved._copied(places, room=paths)
        return replace(moved, gaps=Gaps.between(places, paths, every))

    def join(self, other: "EngineState") -> "EngineState":
        """These sentences and then those of another state, with equally many paths each.

        Both are consumed: where sentences have left, others take their places.
        """
        paths = len(self.seen) // self.sentences
        if self._has_places(other):
            return self._taken_in(other)
        most = max(int(state._alive(state.places).sum(dim=1).amax()) for state in (self, other))
        room = most + AHEAD * paths
        one, two = (state._packed(state.places, room=room) for state in (self, other))
        width = max(one.source.width, two.source.width)
        return replace(
            one,
            seen=torch.cat([one.seen, two.seen]),
            known=max(one.known, two.known),
            positions=torch.cat([one.positions, two.positions]),
            furthest=max(one.furthest, two.furthest),
            table=one.table.join(two.table),
            source=one.source.join(two.source, width),
            width=width,
        )

    def _has_places(self, other: "EngineState") -> bool:
        """Whether all sentences of another state fit where sentences of this one have left."""
        free = self.source.places - self.sentences
        return (
            self.gaps is not None
            and other.gaps is None
            and other.sentences <= free
            and other.source.room <= self.source.room
            and other.known == other.table.filled
            and self.known == self.table.filled
            and self.known + other.known <= self.table.room
        )

    def _taken_in(self, other: "EngineState") -> "EngineState":
        every, paths = self.source.places, len(self.seen) // self.sentences
        taken = torch.zeros(every, dtype=torch.bool, device=self.seen.device)
        taken[self.places] = True
        new = (~taken).nonzero().squeeze(1)[: other.sentences]
        self.source.take_in(other.source, new)
        self.table.take_in(other.table, new)
        theirs = self.seen.new_full((len(other.seen), self.seen.shape[1]), -torch.inf)
        theirs[:, self.known : self.table.filled] = other.seen[:, : other.known]
        return replace(
            self,
            seen=torch.cat([self.seen, theirs]),
            known=self.table.filled,
            positions=torch.cat([self.positions, other.positions]),
            furthest=max(self.furthest, other.furthest),
            width=max(self.width, other.width),
            gaps=Gaps.between(torch.cat([self.places, new]), paths, every),
        )

    def with_room(self, more: int, *, gaps: bool) -> "EngineState":
        """The same state, free to write so many more entries for each sentence."""
        free = self.table.filled == self.known and self.known + more <= self.table.room
        if free and (gaps or self.gaps is None):
            return self
        return self._copied(self.places, room=AHEAD * more)

    def extended(self, paths: int, steps: int) -> tuple["EngineState", Float[Tensor, "N C"]]:
        """The state after `steps` more entries of each path, and what each of these steps sees."""
        count, end = self.sentences, self.known + paths * steps
        after, causal = _own_entries(paths, steps, self.seen.dtype)
        seen = self.seen.clone()
        seen.view(count, paths, -1).narrow(2, self.known, paths * steps).copy_(after)
        mask = seen
        if steps > 1:
            mask = self.seen.repeat_interleave(steps, dim=0)
            mask.view(count, paths * steps, -1)[:, :, self.known : end] = causal
        moved = replace(
            self,
            seen=seen,
            known=end,
            positions=self.positions + steps,
            furthest=self.furthest + steps,
        )
        return moved, mask

    def _copied(self, places: Int[Tensor, "B2"], *, room: int) -> "EngineState":
        """Without gaps, in a table of what the paths see, and with room for more."""
        most = int(self._alive(places).sum(dim=1).amax())
        room = max(room, most // 2)
        if most == self.known == self.table.filled and most + room <= self.table.room:
            source, table = self.source.select(places), self.table.select(places)
            return replace(self, source=source, table=table, gaps=None)
        return self._packed(places, room=most + room)

    def _alive(self, places: Int[Tensor, "B2"]) -> Bool[Tensor, "B2 C"]:
        """Which entries are seen by any path of the sentences that lie in these places."""
        return self.seen.view(len(places), -1, self.seen.shape[1]).amax(dim=1) == 0

    def _packed(self, places: Int[Tensor, "B2"], *, room: int) -> "EngineState":
        """Without gaps, in a table of what the paths see, which has room for so many entries."""
        seen = self.seen.view(len(places), len(self.seen) // len(places), -1)
        alive = self._alive(places)
        most = int(alive.sum(dim=1).amax())
        room = rounded(room)
        kept = alive.byte().argsort(dim=1, descending=True, stable=True)[:, :room]
        kept = functional.pad(kept, (0, room - kept.shape[1]))
        seen = seen.gather(2, kept[:, None].expand(-1, seen.shape[1], -1))
        seen[:, :, most:] = -torch.inf
        table = self.table.copied(places, kept, filled=most)
        source = self.source.select(places)
        return replace(
            self, seen=seen.flatten(0, 1), known=most, table=table, source=source, gaps=None
        )


def _cut(values: Tensor, axis: int, size: int, fill: float = 0.0) -> Tensor:
    """The values with so many along an axis: without the last, or filled up."""
    if values.shape[axis] >= size:
        return values.narrow(axis, 0, size)
    widths = [0, 0] * (values.dim() - 1 - axis) + [0, size - values.shape[axis]]
    return functional.pad(values, widths, value=fill)


@lru_cache(maxsize=64)
def _own_entries(paths: int, steps: int, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """Of new entries, path after path: those of each path, and those up to each of its steps."""
    own = torch.eye(paths).repeat_interleave(steps, dim=1)  # (K, K·T)
    causal = torch.kron(torch.eye(paths), torch.ones(steps, steps).tril())  # (K·T, K·T)
    return own.log().to(kind), causal.log().to(kind)
