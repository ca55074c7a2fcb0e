"""Allowed output symbols of the sentences of a search, in the core's layout."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from seqloom.engine.library import ColumnsStructure, ListsStructure, address
from seqloom.engine.matrices import Matrix

__all__ = ["PackedWords", "SharedWords", "WordLists", "check_tokens"]


def _none() -> np.ndarray:
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class PackedWords:
    """The columns of shared symbols, packed from one output layer."""

    output: Matrix
    common: Matrix
    sample: Matrix


@dataclass(frozen=True)
class SharedWords:
    """The symbols allowed in all sentences, and further ones by source token.

    The sampled symbols estimate the total probability of those that a sentence may not use. Columns
    are packed once per output layer and cached.
    """

    common: np.ndarray = field(default_factory=_none)  # int32, sorted
    sample: np.ndarray = field(default_factory=_none)  # int32, sorted; disjoint from `common`
    lexicon: np.ndarray = field(
        default_factory=_none
    )  # int32: symbols of one source token after the other
    lexicon_starts: np.ndarray | None = None  # int32, one more than there are source tokens
    _packed: list[PackedWords] = field(default_factory=list)

    def pack(self, output: Matrix) -> PackedWords:
        """The packed columns of an output layer, cached for the latest one."""
        for packed in self._packed:
            if packed.output is output:
                return packed
        made = PackedWords(output, output.take(self.common), output.take(self.sample))
        self._packed[:] = [made]
        return made


@dataclass(frozen=True)
class WordLists:
    """The symbols allowed in each sentence besides the shared ones."""

    words: np.ndarray  # int32, concatenated by sentence
    starts: np.ndarray  # int32, one more than there are sentences
    shared: SharedWords = field(default_factory=SharedWords)

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]], shared: SharedWords) -> "WordLists":
        """Concatenate the lists of sentences."""
        words = [np.asarray(each, dtype=np.int32) for each in lists]
        starts = np.cumsum([0, *map(len, words)], dtype=np.int32)
        return cls(np.concatenate(words) if words else _none(), starts, shared)

    def take(self, order: np.ndarray) -> "WordLists":
        """Reorder sentences."""
        if not len(self.words):
            return self
        parts = [self.words[self.starts[i] : self.starts[i + 1]] for i in order]
        starts = np.cumsum([0, *map(len, parts)], dtype=np.int32)
        return WordLists(np.concatenate(parts), starts, self.shared)

    def structure(self, output: Matrix | None, tokens: int) -> ListsStructure:
        """The lists for the core; `tokens` is the number of source tokens, and without any the
        lexicon is left out. IndexError if an entry is no symbol of the output.
        """
        if output is None:
            raise TypeError("this stack has no output layer")
        shared = self.shared
        starts = shared.lexicon_starts if tokens else None
        for symbols in (self.words, shared.common, shared.sample, shared.lexicon):
            check_tokens(symbols, output.outputs)
        if starts is not None and len(starts) <= tokens:
            raise IndexError(f"a shortlist of {len(starts) - 1:,} source symbols, not {tokens:,}")
        packed = shared.pack(output)
        made = ListsStructure(
            ColumnsStructure(address(shared.common), packed.common.structure()),
            ColumnsStructure(address(shared.sample), packed.sample.structure()),
            address(self.words),
            address(self.starts),
            None if starts is None else address(shared.lexicon),
            address(starts),
            address(output.rows),
        )
        made.kept = self, packed
        return made


def check_tokens(tokens: np.ndarray, most: int) -> None:
    """Raise IndexError if a token is not below `most`."""
    if len(tokens) and (int(tokens.min()) < 0 or int(tokens.max()) >= most):
        raise IndexError(f"a token is not one of the {most:,} that the model knows")
