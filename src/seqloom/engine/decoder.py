"""A compiled decoder, with an interface for arrays and the protocol of all searches."""

from ctypes import addressof
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from seqloom.engine.encoder import EncodedArrays
from seqloom.engine.library import (
    CodesStructure,
    SourceStructure,
    StepStructure,
    address,
    core,
)
from seqloom.engine.matrices import BLOCK, pad_to, round_up
from seqloom.engine.packed import PackedStack
from seqloom.engine.workspace import EntryPool, Workspaces, check
from seqloom.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

    from seqloom.model import Features, Memory

__all__ = ["CompiledDecoder", "CompiledState"]

ROOMY = 4_096  # pool entries below which compaction does not pay


class FeatureArrays(NamedTuple):
    """A decoder's features for the output layer, and its attention by step."""

    hidden: Float[np.ndarray, "R T D"]
    attention: Float[np.ndarray, "R T S"] | None = None  # if the state was started with trace


@dataclass(frozen=True)
class PreparedSource:
    """The keys and values of a sentence in every block, and the positions without padding."""

    structure: SourceStructure
    memory: np.ndarray
    columns: np.ndarray


@dataclass(frozen=True)
class CompiledState:
    """The state of a compiled decoder: a path is a list of entries in a pool.

    Entries are append-only, so that states can share a pool and continue independently.
    """

    entries: Int[np.ndarray, "R C"]
    counts: Int[np.ndarray, "R"]  # tokens read by each path
    pool: EntryPool
    sources: tuple[PreparedSource, ...]  # of each sentence; empty without a source
    sentences: int
    width: int  # source positions, including padding
    trace: bool = False
    last_only: bool = False  # whether a path depends on its last entry alone

    def select(self, rows: Any, sentences: Any = None) -> "CompiledState":
        """Select rows (R2,) in this order; `sentences` (B2,) selects sentences, unless all stay.
        Both are arrays or tensors.
        """
        chosen = np.asarray(rows)
        moved = replace(self, entries=self.entries[chosen], counts=self.counts[chosen])
        if sentences is None:
            return moved
        sources = tuple(self.sources[i] for i in sentences.tolist()) if self.sources else ()
        return replace(moved, sources=sources, sentences=len(sentences))

    def join(self, other: "CompiledState") -> "CompiledState":
        """Concatenate the sentences of another state with equally many paths per sentence."""
        if other.pool is not self.pool:
            other = other.move(self.pool)
        room = max(self.entries.shape[1], other.entries.shape[1])
        both = [_widen(state.entries, room) for state in (self, other)]
        return replace(
            self,
            entries=np.concatenate(both),
            counts=np.concatenate([self.counts, other.counts]),
            sources=self.sources + other.sources,
            sentences=self.sentences + other.sentences,
            width=max(self.width, other.width),
        )

    @property
    def visible(self) -> Bool[np.ndarray, "R C"]:
        """A mask of the list entries that are filled and still needed."""
        places, counts = np.arange(self.entries.shape[1]), self.counts[:, None]
        return places == counts - 1 if self.last_only else places < counts

    def move(self, pool: EntryPool) -> "CompiledState":
        """Copy the entries that its paths need to another pool."""
        seen = self.visible
        alive, where = np.unique(self.entries[seen], return_inverse=True)
        entries = np.zeros_like(self.entries)
        entries[seen] = pool.copy(self.pool, alive)[where]
        return replace(self, entries=entries, pool=pool)

    def compact(self) -> "CompiledState":
        """Move to a new pool if most of the present one is unused."""
        used = self.pool.size
        if used < ROOMY or used < 4 * len(np.unique(self.entries[self.visible])):
            return self
        return self.move(self.pool.fresh())


def _widen(entries: np.ndarray, room: int) -> np.ndarray:
    wider = np.zeros((len(entries), room), dtype=np.int32)
    wider[:, : entries.shape[1]] = entries
    return wider


class CompiledDecoder:
    """A decoder whose steps are calls of the core; its weights are fixed at compilation."""

    def __init__(self, stack: PackedStack) -> None:
        self.stack = stack
        self._spaces = Workspaces()
        self._entry = int(core().sl_entry_size(stack.structure(1)))

    def start(self, memory: "Memory", *, trace: bool = False) -> CompiledState:
        """The state before the first token, for the memory of any encoder."""
        from seqloom.engine import tensors

        return self.start_arrays(tensors.memory_arrays(memory), trace=trace)

    def start_arrays(self, memory: EncodedArrays, *, trace: bool = False) -> CompiledState:
        """The initial state for arrays."""
        rows = memory.sentences
        sources: tuple[PreparedSource, ...] = ()
        width = 0
        if self.stack.reads_source:
            sources = self._prepare(memory)
            width = 0 if memory.mask is None else memory.mask.shape[1]
        state = CompiledState(
            np.zeros((rows, 0), dtype=np.int32),
            np.zeros(rows, dtype=np.int32),
            EntryPool(self._entry),
            sources,
            rows,
            width,
            trace,
            self.stack.last_only,
        )
        return self._read_prefix(memory, state) if self.stack.reads_prefix else state

    def _read_prefix(self, memory: EncodedArrays, state: CompiledState) -> CompiledState:
        """The state after reading the encoder's output as a prefix."""
        if memory.states is None or memory.mask is None:
            raise TypeError("a Transformer decoder needs the encoder's states")
        real, values = memory.mask, memory.states
        lengths = real.sum(axis=1).astype(np.int32)
        entries = np.zeros((len(lengths), int(lengths.max())), dtype=np.int32)
        places = np.arange(entries.shape[1], dtype=np.int32)
        within = places < lengths[:, None]
        entries[within] = state.pool.take(int(lengths.sum()))
        at = np.ascontiguousarray(np.broadcast_to(places, entries.shape)[within])
        seen = at + 1
        first = entries.ctypes.data + np.arange(len(entries)) * entries.strides[0]
        lists = np.repeat(first, lengths).astype(np.uint64)
        inputs = pad_to(values[real], len(at), self.stack.stride)
        step = StepStructure(
            len(at), *map(address, (None, at, seen, inputs, lists)), None, state.pool.handle
        )
        hidden = np.empty((len(at), self.stack.stride), dtype=np.float32)
        whole = self.stack.structure(int(seen.max()))
        check(core().sl_read(whole, self._spaces.handle, step, address(hidden)))
        return replace(state, entries=entries, counts=lengths)

    def read(
        self, inputs: 'Int[Tensor, "R T"]', state: CompiledState
    ) -> "tuple[Features, CompiledState]":
        """The features of these tokens, and the next state."""
        from seqloom.engine import tensors

        found, after = self.read_arrays(inputs.numpy(), state)
        return tensors.features(*found), after

    def read_arrays(
        self, inputs: Int[np.ndarray, "R T"], state: CompiledState
    ) -> tuple[FeatureArrays, CompiledState]:
        """The features of these tokens as arrays, and the next state."""
        if not self.stack.last_only or inputs.shape[1] == 1:
            return self._read_together(inputs, state)
        steps = []
        for place in range(inputs.shape[1]):
            found, state = self._read_together(inputs[:, place : place + 1], state)
            steps.append(found)
        hidden = np.concatenate([step.hidden for step in steps], axis=1)
        attention = [step.attention for step in steps if step.attention is not None]
        return FeatureArrays(hidden, np.concatenate(attention, 1) if attention else None), state

    def _read_together(
        self, inputs: Int[np.ndarray, "R T"], state: CompiledState
    ) -> tuple[FeatureArrays, CompiledState]:
        """Read all steps in one call; a single step if each depends on the previous one."""
        state = state.compact()
        (rows, steps), paths = inputs.shape, len(inputs) // state.sentences
        tokens = inputs.astype(np.int32).ravel()
        self._check_tokens(tokens)
        after = _grown(state, steps)
        at = (state.counts[:, None] + np.arange(steps, dtype=np.int32)).ravel()
        seen = at + 1
        first = after.entries.ctypes.data + np.arange(rows) * after.entries.strides[0]
        lists = np.repeat(first, steps).astype(np.uint64)
        sources = None
        if state.sources:
            pointers = [addressof(source.structure) for source in state.sources]
            sources = np.repeat(np.array(pointers, dtype=np.uint64), paths * steps)
        attention = None
        if state.trace and self.stack.attends:
            attention = np.zeros((rows * steps, max(1, state.width)), dtype=np.float32)
        step = StepStructure(
            rows * steps,
            *map(address, (tokens, at, seen, None, lists, sources)),
            state.pool.handle,
            address(attention),
            0 if attention is None else attention.shape[1],
        )
        hidden = np.empty((rows * steps, self.stack.stride), dtype=np.float32)
        whole = self.stack.structure(int(seen.max()))
        check(core().sl_read(whole, self._spaces.handle, step, address(hidden)))
        made = hidden.reshape(rows, steps, -1)[:, :, : self.stack.width]
        if attention is None:
            return FeatureArrays(made), after
        shown = _spread(attention, state, paths * steps)
        return FeatureArrays(made, shown.reshape(rows, steps, -1)), after

    def write(self, hidden: 'Float[Tensor, "*rows D"]') -> 'Float[Tensor, "*rows V"]':
        """The logits of all tokens for these features."""
        from seqloom.engine import tensors

        flat = hidden.detach().reshape(-1, hidden.shape[-1])
        return tensors.scores(self._write(flat.numpy()), hidden.shape[:-1])

    def _write(self, hidden: Float[np.ndarray, "R D"]) -> Float[np.ndarray, "R V"]:
        output = self.stack.output
        if output is None:
            raise TypeError("this stack has no output layer")
        rows = np.zeros((len(hidden), self.stack.stride), dtype=np.float32)
        rows[:, : hidden.shape[1]] = hidden
        logits = np.empty((len(hidden), round_up(output.outputs, BLOCK)), dtype=np.float32)
        whole = self.stack.structure(1)
        check(
            core().sl_write(whole, self._spaces.handle, address(rows), len(rows), address(logits))
        )
        return logits[:, : output.outputs]

    def _check_tokens(self, tokens: np.ndarray) -> None:
        most = self.stack.vocabulary
        if len(tokens) and not (int(tokens.min()) >= 0 and int(tokens.max()) < most):
            raise IndexError(f"a token is not one of the {most:,} that the model knows")

    def _prepare(self, memory: EncodedArrays) -> tuple[PreparedSource, ...]:
        """Precompute what the paths of each sentence need of their source."""
        whole, (real, rows) = self.stack.structure(1), self._source_rows(memory)
        lengths = real.sum(axis=1).astype(np.int32)
        structures = (SourceStructure * len(lengths))()
        memories = []
        for structure, length in zip(structures, lengths, strict=True):
            size = core().sl_source_size(whole, int(length))
            memories.append(np.empty(size, dtype=np.float32))
            structure.keys = address(memories[-1])
        check(
            core().sl_prepare(
                whole,
                self._spaces.handle,
                address(rows),
                _codes(memory),
                address(lengths),
                len(lengths),
                structures,
            )
        )
        return tuple(
            PreparedSource(structure, memory, np.flatnonzero(row))
            for structure, memory, row in zip(structures, memories, real, strict=True)
        )

    def _source_rows(self, memory: EncodedArrays) -> tuple[np.ndarray, np.ndarray | None]:
        """The mask of positions with states, and these states in consecutive rows."""
        if memory.states is None or memory.mask is None:
            if self.stack.attends:
                raise TypeError("an attentive decoder needs the encoder's states")
            return np.zeros((memory.sentences, 0), dtype=bool), None
        real = memory.mask
        if self.stack.attends and not real.any(axis=1).all():
            raise DataError("a source without a single real position cannot be attended to")
        if self.stack.ordered and (real[:, 1:] & ~real[:, :-1]).any():
            raise DataError("causal and local attention need sources with padding at the end only")
        values = memory.states[real]
        return real, pad_to(values, len(values), round_up(values.shape[1], BLOCK))


def _codes(memory: EncodedArrays) -> CodesStructure:
    """The encoder's code in the core's layout: (part, layer, value) in rows."""
    if memory.code is None:
        return CodesStructure()
    parts = np.stack(memory.code, axis=1)  # (B, P, L, D)
    flat = parts.reshape(len(parts), -1)
    rows = pad_to(flat, len(flat), round_up(flat.shape[1], BLOCK))
    codes = CodesStructure(*parts.shape[1:], address(rows))
    codes.kept = rows
    return codes


def _grown(state: CompiledState, steps: int) -> CompiledState:
    """The state with entries for `steps` more tokens of each path."""
    rows = len(state.counts)
    room = max(state.entries.shape[1], int(state.counts.max()) + steps)
    entries = _widen(state.entries, room)
    new = state.pool.take(rows * steps).reshape(rows, steps)
    places = state.counts[:, None] + np.arange(steps)
    entries[np.arange(rows)[:, None], places] = new
    return replace(state, entries=entries, counts=state.counts + np.int32(steps))


def _spread(attention: np.ndarray, state: CompiledState, rows: int) -> np.ndarray:
    """Scatter the weights of real positions among the padding."""
    spread = np.zeros_like(attention)
    for number, source in enumerate(state.sources):
        mine = slice(number * rows, (number + 1) * rows)
        spread[mine, source.columns] = attention[mine, : len(source.columns)]
    return spread
