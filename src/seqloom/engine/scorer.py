"""A compiled encoder with its head: scores of labels or tags in one call."""

from collections.abc import Sequence

import numpy as np

from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.library import MatrixStructure, ScorerStructure, address, core
from seqloom.engine.matrices import BLOCK, Matrix, round_up
from seqloom.engine.packed import HeadArrays
from seqloom.engine.workspace import check

__all__ = ["POOLS", "CompiledScorer"]

POOLS = {"": 0, "code": 1, "mean": 2, "max": 3}  # empty: one vector per position


class CompiledScorer:
    """A compiled encoder and head; their weights are fixed at compilation."""

    def __init__(self, encoder: CompiledEncoder, head: HeadArrays) -> None:
        self.encoder = encoder
        self._every = not head.pool
        self._outputs, width = head.output.weights.shape
        self._matrices = [
            None if part is None else part.pack("float32") for part in (head.readout, head.output)
        ]
        readout, output = map(_structure, self._matrices)
        self._scorer = ScorerStructure(POOLS[head.pool], width, readout, output)

    def scores(
        self, rows: Sequence[np.ndarray], *, closing: int = 0, threads: int = 1
    ) -> list[np.ndarray]:
        """The scores of each source (T, V), or (1, V) for a head with one vector per source; the
        last `closing` positions have none.
        """
        if not rows:
            return []
        order = np.argsort([-len(row) for row in rows], kind="stable")
        lengths = np.array([len(rows[place]) for place in order], np.int32)
        items = np.concatenate([rows[place] for place in order])
        text = self.encoder.text_structure(items, lengths)
        count = len(items) if self._every else len(rows)
        found = np.empty((count, round_up(self._outputs, BLOCK)), np.float32)
        stack = self.encoder.stack.structure(int(lengths[0]))
        check(core().sl_score_all(stack, self._scorer, text, address(found), threads))
        ends = np.cumsum(lengths) if self._every else np.arange(1, len(rows) + 1)
        starts = ends - (lengths if self._every else 1)
        ends = ends - (closing if self._every else 0)
        real = found[:, : self._outputs]
        spans = zip(order.tolist(), starts.tolist(), ends.tolist(), strict=True)
        each = {place: real[start:end] for place, start, end in spans}
        return [each[place] for place in range(len(rows))]


def _structure(matrix: Matrix | None) -> MatrixStructure:
    return MatrixStructure() if matrix is None else matrix.structure()
