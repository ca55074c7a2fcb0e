"""The rows of a pass over a corpus, as rules that are learnt in one go read them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data.batches import Indices
from seqloom.data.corpus import Batch, Corpus
from seqloom.randomness import key

__all__ = ["CorpusPass"]


class CorpusPass:
    """All rows of a corpus in order; of several corpora in shares, as many of each as a pass has,
    and some of them several times."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._rows = np.arange(len(corpus))
        if corpus.mixture is not None:
            drawn = corpus.mixture.draw(np.random.default_rng(key(0, "rows of a pass")), 0)
            self._rows = np.sort(drawn).astype(np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def targets(self) -> NDArray[Any]:
        """The concatenated items of all targets."""
        return self.flat("target")[0]

    def flat(self, side: str, *, closing: int = 0) -> tuple[NDArray[Any], Indices]:
        """The items of one side without closing items, row after row, and the row of each."""
        return self._corpus.flat(side, closing=closing, chosen=self._rows)

    def batch(self, indices: Indices) -> Batch:
        """These rows, in this order."""
        return self._corpus.batch(self._rows[indices])
