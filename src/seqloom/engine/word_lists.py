"""Which symbols the sentences of a search may write, as the core takes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from seqloom.engine.library import ColumnsStructure, ListsStructure, address
from seqloom.engine.matrices import Matrix

__all__ = ["SharedWords", "WordLists", "check_tokens"]


def _none() -> np.ndarray:
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class PackedWords:
    """The columns of shared words, cut out of one output layer."""

    output: Matrix
    common: Matrix
    sample: Matrix


@dataclass(frozen=True)
class SharedWords:
    """What holds for all sentences: what each may write, and what else by the tokens it reads.

    By the symbols of the sample that a sentence may not write, the probability of all those is
    estimated. Columns are packed once for each output layer and kept.
    """

    common: np.ndarray = field(default_factory=_none)  # int32, in order
    sample: np.ndarray = field(default_factory=_none)  # int32, in order; none is common
    lexicon: np.ndarray = field(
        default_factory=_none
    )  # int32: symbols of one source token after the other
    lexicon_starts: np.ndarray | None = None  # int32, one more than there are source tokens
    _packed: list[PackedWords] = field(default_factory=list)

    def pack(self, output: Matrix) -> PackedWords:
        """The columns of an output layer, as long as this is used with one and the same."""
        for packed in self._packed:
            if packed.output is output:
                return packed
        made = PackedWords(output, output.take(self.common), output.take(self.sample))
        self._packed[:] = [made]
        return made


@dataclass(frozen=True)
class WordLists:
    """The symbols that each sentence may write besides those that are shared."""

    words: np.ndarray  # int32, of one sentence after the other
    starts: np.ndarray  # int32, one more than there are sentences
    shared: SharedWords = field(default_factory=SharedWords)

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]], shared: SharedWords) -> "WordLists":
        """Lists of sentences, one after the other."""
        words = [np.asarray(each, dtype=np.int32) for each in lists]
        starts = np.cumsum([0, *map(len, words)], dtype=np.int32)
        return cls(np.concatenate(words) if words else _none(), starts, shared)

    def take(self, order: np.ndarray) -> "WordLists":
        """The same for sentences in another order."""
        if not len(self.words):
            return self
        parts = [self.words[self.starts[i] : self.starts[i + 1]] for i in order]
        starts = np.cumsum([0, *map(len, parts)], dtype=np.int32)
        return WordLists(np.concatenate(parts), starts, self.shared)

    def structure(self, output: Matrix | None, tokens: int) -> ListsStructure:
        """The same for the core and so many source tokens, without any no lexicon; IndexError where
        a symbol is none."""
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
    """IndexError where one is not below `most`."""
    if len(tokens) and (int(tokens.min()) < 0 or int(tokens.max()) >= most):
        raise IndexError(f"a token is not one of the {most:,} that the model knows")
