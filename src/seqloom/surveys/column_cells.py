"""All cells of a column, read on all cores, for vocabularies that need more than a sample."""

from collections.abc import Callable, Iterator
from typing import Literal

from seqloom.config import DataConfig
from seqloom.data.blocks.rows import BlockSource, RowBlock
from seqloom.data.memory_rows import Data
from seqloom.parallel import BlockResults
from seqloom.readers.report import Report

__all__ = ["column_cells"]

Tell = Callable[[float], None]


class _CellsJob:
    """Collects the distinct cells of blocks."""

    def __init__(self, source: BlockSource, side: Literal[0, 1]) -> None:
        self._source = source
        self._side = side

    def process(self, block: RowBlock) -> tuple[list[str], float]:
        """The distinct cells of the column in a block, and the share of the data read."""
        rows = self._source.parse(block, Report())
        cells = rows.targets if self._side else rows.sources
        return list(dict.fromkeys(cells)), block.share

    def finish(self) -> None:
        """Return nothing."""


def column_cells(
    data: Data, config: DataConfig, side: Literal[0, 1], *, tell: Tell
) -> Iterator[str]:
    """The cells of usable rows, without duplicates within a block; `tell` receives the progress."""
    lenient = config.model_copy(update={"skip_bad": True})
    source = BlockSource(data, lenient)
    for cells, share in BlockResults(_CellsJob(source, side), source.blocks()):
        tell(share)
        yield from cells
