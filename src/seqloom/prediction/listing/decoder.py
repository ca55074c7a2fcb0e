"""A compiled decoder that writes the symbols of a shortlist alone, step by step in Python.

A sentence may write the common symbols, those that its source can need and those that its
constraints name. Logits have a column for each of these, and one for all absent symbols together,
whose probability is estimated as in whole searches. What a search calls tokens are then columns.

Letters as everywhere, and C columns: those of common symbols, and then the sentence's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from seqloom.engine.decoder import CompiledDecoder, CompiledState
from seqloom.engine.library import MatrixStructure, address, core
from seqloom.engine.matrices import BLOCK, Matrix, pad_to, round_up
from seqloom.engine.shortlists.word_lists import PackedWords, SharedWords
from seqloom.fields import EMPTY, END, START, UNK

if TYPE_CHECKING:
    from torch import Tensor

    from seqloom.model import Features, Memory

__all__ = ["ListedDecoder", "ListedState", "SymbolList"]

SPECIAL = (EMPTY, START, UNK, END)  # every search needs them


@dataclass(frozen=True)
class SymbolList:
    """The symbols that a sentence may write, by the columns of its logits."""

    common: Int[np.ndarray, "N"]  # in order
    own: Int[np.ndarray, "M"]  # the first column of these is that of all absent symbols
    matrix: Matrix  # the output layer's columns of `own`
    listed: np.ndarray  # columns of the sample of symbols that are no absent ones
    log_weight: float  # absent symbols for each of the sample, or −∞ where there is none

    @cached_property
    def symbols(self) -> Int[np.ndarray, "C"]:
        """The symbol of each column; any, where a column has none."""
        found = np.full(self.absent + round_up(len(self.own), BLOCK), EMPTY, np.int64)
        found[: len(self.common)] = self.common
        found[self.absent : self.absent + len(self.own)] = self.own
        return found

    @property
    def absent(self) -> int:
        """The column of all absent symbols, which is never chosen."""
        return round_up(len(self.common), BLOCK)

    def column(self, symbol: int) -> int:
        """The column of a symbol; KeyError where it has none."""
        place = int(np.searchsorted(self.common, symbol))
        if place < len(self.common) and self.common[place] == symbol:
            return place
        return self._own_columns[symbol]

    @cached_property
    def _own_columns(self) -> dict[int, int]:
        return {symbol: self.absent + 1 + n for n, symbol in enumerate(self.own[1:].tolist())}

    @cached_property
    def structure(self) -> MatrixStructure:
        """The own columns for the core."""
        return self.matrix.structure()


@dataclass(frozen=True)
class ListedState:
    """Where a decoder stands, and what each of its sentences may write."""

    state: CompiledState
    lists: tuple[SymbolList, ...]

    def select(self, rows: Any, sentences: Any = None) -> "ListedState":
        """The state of these rows; `sentences` says which stay, if not all do."""
        chosen = self.lists
        if sentences is not None:
            chosen = tuple(self.lists[number] for number in sentences.tolist())
        return ListedState(self.state.select(rows, sentences), chosen)

    def join(self, other: "ListedState") -> "ListedState":
        """These sentences and then those of another state."""
        return ListedState(self.state.join(other.state), (*self.lists, *other.lists))


class ListedDecoder:
    """A compiled decoder under the protocol, for tokens that are columns of symbol lists."""

    def __init__(self, decoder: CompiledDecoder, shared: SharedWords) -> None:
        self._decoder = decoder
        self._shared = shared

    @cached_property
    def _output(self) -> Matrix:
        output = self._decoder.stack.output
        if output is None:
            raise TypeError("this stack has no output layer")
        return output

    @cached_property
    def _packed(self) -> PackedWords:
        return self._shared.pack(self._output)

    def symbol_list(
        self,
        source: Int[np.ndarray, "S"],
        needed: Sequence[int] = (),
        *,
        besides: Sequence[int] = (),
        least: int = 0,
    ) -> SymbolList:
        """What an output of this source may have: common symbols, translations, those that are
        needed, which have the same columns in all lists, others besides, and further ones until
        there are as many as `least`."""
        shared, starts = self._shared, self._shared.lexicon_starts
        parts = [np.array([*SPECIAL, *needed, *besides], np.int64)]
        if starts is not None:
            parts += [shared.lexicon[starts[token] : starts[token + 1]] for token in source]
        own = self._first_of_each(np.concatenate(parts))
        lacking = least - len(own) - len(shared.common)
        if lacking > 0:
            others = np.setdiff1d(np.arange(self._output.outputs), np.append(shared.common, own))
            own = np.append(own, others[:lacking])
        is_listed = np.isin(shared.sample, own)
        absent = self._output.outputs - len(shared.common) - len(own)
        asked = len(shared.sample) - int(is_listed.sum())
        weight = np.log(absent / asked) if asked and absent else -np.inf
        own = np.append(END, own).astype(np.int64)  # any symbol in the place of the absent ones
        matrix = self._output.take(own)
        return SymbolList(shared.common, own, matrix, np.flatnonzero(is_listed), float(weight))

    def _first_of_each(self, symbols: Int[np.ndarray, "N"]) -> Int[np.ndarray, "M"]:
        """Those that are not common, once each, as they come first."""
        found, places = np.unique(symbols, return_index=True)
        rare = ~np.isin(found, self._shared.common)
        return found[rare][np.argsort(places[rare])]

    def start(self, memory: "Memory", *, trace: bool = False) -> ListedState:
        """The state before the first token, where a sentence may write common symbols alone."""
        state = self._decoder.start(memory, trace=trace)
        nothing = np.empty(0, np.int64)
        return ListedState(state, (self.symbol_list(nothing),) * state.sentences)

    def read(
        self, inputs: 'Int[Tensor, "R T"]', state: ListedState
    ) -> "tuple[Features, ListedState]":
        """Logits in the place of features, and the state after these columns."""
        from seqloom.engine import tensors

        tokens = inputs.numpy().reshape(len(state.lists), -1)
        symbols = [own.symbols[row] for own, row in zip(state.lists, tokens, strict=True)]
        read = np.concatenate(symbols).reshape(inputs.shape)
        found, after = self._decoder.read_arrays(read, state.state)
        logits = self._logits(found.hidden.reshape(read.size, -1), state.lists)
        made = tensors.features(logits.reshape(*read.shape, -1), found.attention)
        return made, replace(state, state=after)

    def write(self, hidden: 'Float[Tensor, "*rows C"]') -> 'Float[Tensor, "*rows C"]':
        """The logits, which `read` has computed."""
        return hidden

    def _logits(
        self, hidden: Float[np.ndarray, "N D"], lists: Sequence[SymbolList]
    ) -> Float[np.ndarray, "N C"]:
        """The scores of all columns; −∞ where one has no symbol."""
        rows = pad_to(hidden, len(hidden), self._output.inputs)
        each = len(rows) // len(lists)
        first = lists[0].absent
        logits = np.full((len(rows), max(len(own.symbols) for own in lists)), -np.inf, np.float32)
        if first:
            logits[:, :first] = _multiply(self._packed.common.structure(), rows)
        sample = _multiply(self._packed.sample.structure(), rows)
        for number, own in enumerate(lists):
            mine = slice(number * each, (number + 1) * each)
            logits[mine, first : len(own.symbols)] = _multiply(own.structure, rows[mine])
            sample[mine, own.listed] = -np.inf
        weights = np.repeat([own.log_weight for own in lists], each)
        logits[:, first] = _log_sums(sample) + weights
        return logits


def _multiply(matrix: MatrixStructure, rows: Float[np.ndarray, "N D"]) -> np.ndarray:
    """A product with its bias, in columns filled up to blocks."""
    out = np.empty((len(rows), round_up(matrix.outputs, BLOCK)), np.float32)
    if matrix.outputs:
        core().sl_multiply(matrix, address(rows), len(rows), address(out), 0, 0)
    return out


def _log_sums(values: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N"]:
    """The logarithm of the sum of each row's exponentials; −∞ of none."""
    if not values.shape[1]:
        return np.full(len(values), -np.inf, np.float32)
    most = np.maximum(values.max(axis=1), np.finfo(np.float32).min)
    with np.errstate(divide="ignore"):
        sums: np.ndarray = np.log(np.exp(values - most[:, None]).sum(axis=1)) + most
    return sums
