"""Where an engine stands: keys and values in one table, of which each path sees a part (S5.7).

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

from seqloom.torch_engine.weights import round_up

__all__ = ["EngineState", "KeyValueCache", "SlotLayout", "SourceKeyValues"]

ROOM_STEPS = 4  # steps that a table has room for when the one before was full
MIN_OCCUPANCY = 0.75  # share of the places that sentences fill before the gaps are closed


class SourceKeyValues:
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

    def select(self, places: Int[Tensor, "P2"]) -> "SourceKeyValues":
        """What the sentences in these places look at."""
        keys, values, padding = self._parts
        return SourceKeyValues(
            keys.index_select(1, places),
            values.index_select(1, places),
            padding.index_select(0, places),
        )

    def join(self, other: "SourceKeyValues", width: int) -> "SourceKeyValues":
        """These sentences and then others, each with so many source positions at most."""
        room = round_up(width)
        mine, theirs = (
            (
                _resize(keys, 4, room),
                _resize(values, 3, room),
                _resize(padding, 3, room, -torch.inf),
            )
            for keys, values, padding in (self._parts, other._parts)
        )
        return SourceKeyValues(
            torch.cat([mine[0], theirs[0]], dim=1),
            torch.cat([mine[1], theirs[1]], dim=1),
            torch.cat([mine[2], theirs[2]]),
        )

    def insert(self, other: "SourceKeyValues", places: Int[Tensor, "P2"]) -> None:
        """Put what others look at into these places, where there is room for it."""
        room = self.room
        (keys, values, padding), theirs = self._parts, other._parts
        keys.index_copy_(1, places, _resize(theirs[0], 4, room))
        values.index_copy_(1, places, _resize(theirs[1], 3, room))
        padding.index_copy_(0, places, _resize(theirs[2], 3, room, -torch.inf))

    @property
    def room(self) -> int:
        """Source positions that there is space for."""
        return self._parts[2].shape[3]

    @property
    def width(self) -> int:
        """Source positions of the longest sentence."""
        return int((self._parts[2] == 0).sum(dim=3).amax())


class KeyValueCache:
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

    def select(self, places: Int[Tensor, "P2"]) -> "KeyValueCache":
        """All entries of the sentences in these places."""
        return KeyValueCache(self.entries.index_select(2, places), self.filled)

    def gather_entries(
        self, places: Int[Tensor, "P2"], kept: Int[Tensor, "P2 C2"], *, filled: int
    ) -> "KeyValueCache":
        """For each of these places, the entries to keep."""
        heads, room = self.entries.shape[3:5]
        row = places[:, None] * heads + torch.arange(heads, device=places.device)  # (P2, H)
        flat = (row[:, :, None] * room + kept[:, None]).flatten()
        chosen = self.entries.flatten(2, 4).index_select(2, flat)
        return KeyValueCache(chosen.unflatten(2, (len(places), heads, -1)), filled)

    def insert(self, other: "KeyValueCache", places: Int[Tensor, "P2"]) -> None:
        """Put the entries of others into these places, after what is filled."""
        count = other.filled
        part = self.entries.narrow(4, self.filled, count)
        part.index_copy_(2, places, other.entries.narrow(4, 0, count))
        self.filled += count

    def join(self, other: "KeyValueCache") -> "KeyValueCache":
        """The sentences of both, which have room for equally many entries."""
        entries = torch.cat([self.entries, other.entries], dim=2)
        return KeyValueCache(entries, max(self.filled, other.filled))


@dataclass(frozen=True)
class SlotLayout:
    """Where rows lie when some of the places are those of sentences that have left."""

    places: Int[Tensor, "B"]  # of the sentences
    row_slots: Int[Tensor, "R"]  # of the rows, counted over all places
    slot_rows: Int[Tensor, "P_K"]  # the row that is in each of these, or any where there is none

    @classmethod
    def of(cls, places: Int[Tensor, "B"], paths: int, every: int) -> "SlotLayout":
        """Sentences with so many paths each, in these places out of so many."""
        slots = torch.arange(paths, device=places.device)
        inner = (places[:, None] * paths + slots).flatten()
        outer = torch.zeros(every * paths, dtype=torch.int64, device=places.device)
        outer[inner] = torch.arange(len(inner), device=places.device)
        return cls(places, inner, outer)


@dataclass(frozen=True)
class EngineState:
    """Where an engine stands; `read` writes to the table, or to a copy if another state has."""

    visibility: Float[Tensor, "R C"]  # 0 where a path sees an entry of its sentence, −∞ elsewhere
    entry_count: int  # entries that its paths may see
    positions: Int[Tensor, "R"]
    max_position: int  # position that no path is beyond
    cache: KeyValueCache
    source: SourceKeyValues
    width: int  # source positions before they were padded to whole lanes
    trace: bool = False
    layout: SlotLayout | None = None

    @property
    def places(self) -> Int[Tensor, "B"]:
        """Where each sentence lies in table and source."""
        if self.layout is not None:
            return self.layout.places
        return torch.arange(self.source.places, device=self.visibility.device)

    @property
    def sentences(self) -> int:
        """Those that have not left."""
        return self.source.places if self.layout is None else len(self.layout.places)

    def select(
        self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None
    ) -> "EngineState":
        """The state of these rows, in this order; `sentences` says which stay, if not all do."""
        seen, positions = (
            self.visibility.index_select(0, rows),
            self.positions.index_select(0, rows),
        )
        moved = replace(self, visibility=seen, positions=positions)
        if sentences is None and (self.layout is None or len(rows) == len(self.visibility)):
            return moved
        places = self.places if sentences is None else self.places[sentences]
        paths, every = len(rows) // len(places), self.source.places
        if len(places) < MIN_OCCUPANCY * every or len(places.unique()) < len(places):
            return moved._compact(places, room=paths)
        return replace(moved, layout=SlotLayout.of(places, paths, every))

    def join(self, other: "EngineState") -> "EngineState":
        """These sentences and then those of another state, with equally many paths each.

        Both are consumed: where sentences have left, others take their places.
        """
        paths = len(self.visibility) // self.sentences
        if self._can_absorb(other):
            return self._absorb(other)
        most = max(
            int(state._entries_in_use(state.places).sum(dim=1).amax()) for state in (self, other)
        )
        room = most + ROOM_STEPS * paths
        one, two = (state._pack(state.places, room=room) for state in (self, other))
        width = max(one.source.width, two.source.width)
        return replace(
            one,
            visibility=torch.cat([one.visibility, two.visibility]),
            entry_count=max(one.entry_count, two.entry_count),
            positions=torch.cat([one.positions, two.positions]),
            max_position=max(one.max_position, two.max_position),
            cache=one.cache.join(two.cache),
            source=one.source.join(two.source, width),
            width=width,
        )

    def _can_absorb(self, other: "EngineState") -> bool:
        """Whether all sentences of another state fit where sentences of this one have left."""
        free = self.source.places - self.sentences
        return (
            self.layout is not None
            and other.layout is None
            and other.sentences <= free
            and other.source.room <= self.source.room
            and other.entry_count == other.cache.filled
            and self.entry_count == self.cache.filled
            and self.entry_count + other.entry_count <= self.cache.room
        )

    def _absorb(self, other: "EngineState") -> "EngineState":
        every, paths = self.source.places, len(self.visibility) // self.sentences
        taken = torch.zeros(every, dtype=torch.bool, device=self.visibility.device)
        taken[self.places] = True
        new = (~taken).nonzero().squeeze(1)[: other.sentences]
        self.source.insert(other.source, new)
        self.cache.insert(other.cache, new)
        theirs = self.visibility.new_full(
            (len(other.visibility), self.visibility.shape[1]), -torch.inf
        )
        theirs[:, self.entry_count : self.cache.filled] = other.visibility[:, : other.entry_count]
        return replace(
            self,
            visibility=torch.cat([self.visibility, theirs]),
            entry_count=self.cache.filled,
            positions=torch.cat([self.positions, other.positions]),
            max_position=max(self.max_position, other.max_position),
            width=max(self.width, other.width),
            layout=SlotLayout.of(torch.cat([self.places, new]), paths, every),
        )

    def reserve(self, more: int, *, gaps: bool) -> "EngineState":
        """The same state, free to write so many more entries for each sentence."""
        free = self.cache.filled == self.entry_count and self.entry_count + more <= self.cache.room
        if free and (gaps or self.layout is None):
            return self
        return self._compact(self.places, room=ROOM_STEPS * more)

    def extend(self, paths: int, steps: int) -> tuple["EngineState", Float[Tensor, "N C"]]:
        """The state after `steps` more entries of each path, and what each of these steps sees."""
        count, end = self.sentences, self.entry_count + paths * steps
        after, causal = _own_entries(paths, steps, self.visibility.dtype)
        seen = self.visibility.clone()
        seen.view(count, paths, -1).narrow(2, self.entry_count, paths * steps).copy_(after)
        mask = seen
        if steps > 1:
            mask = self.visibility.repeat_interleave(steps, dim=0)
            mask.view(count, paths * steps, -1)[:, :, self.entry_count : end] = causal
        moved = replace(
            self,
            visibility=seen,
            entry_count=end,
            positions=self.positions + steps,
            max_position=self.max_position + steps,
        )
        return moved, mask

    def _compact(self, places: Int[Tensor, "B2"], *, room: int) -> "EngineState":
        """Without gaps, in a table of what the paths see, and with room for more."""
        most = int(self._entries_in_use(places).sum(dim=1).amax())
        room = max(room, most // 2)
        if most == self.entry_count == self.cache.filled and most + room <= self.cache.room:
            source, table = self.source.select(places), self.cache.select(places)
            return replace(self, source=source, cache=table, layout=None)
        return self._pack(places, room=most + room)

    def _entries_in_use(self, places: Int[Tensor, "B2"]) -> Bool[Tensor, "B2 C"]:
        """Which entries are seen by any path of the sentences that lie in these places."""
        return self.visibility.view(len(places), -1, self.visibility.shape[1]).amax(dim=1) == 0

    def _pack(self, places: Int[Tensor, "B2"], *, room: int) -> "EngineState":
        """Without gaps, in a table of what the paths see, which has room for so many entries."""
        seen = self.visibility.view(len(places), len(self.visibility) // len(places), -1)
        alive = self._entries_in_use(places)
        most = int(alive.sum(dim=1).amax())
        room = round_up(room)
        kept = alive.byte().argsort(dim=1, descending=True, stable=True)[:, :room]
        kept = functional.pad(kept, (0, room - kept.shape[1]))
        seen = seen.gather(2, kept[:, None].expand(-1, seen.shape[1], -1))
        seen[:, :, most:] = -torch.inf
        table = self.cache.gather_entries(places, kept, filled=most)
        source = self.source.select(places)
        return replace(
            self,
            visibility=seen.flatten(0, 1),
            entry_count=most,
            cache=table,
            source=source,
            layout=None,
        )


def _resize(values: Tensor, axis: int, size: int, fill: float = 0.0) -> Tensor:
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
