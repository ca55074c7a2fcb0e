"""The files of a corpus while they are written: items, spans, lines and weights by row."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from seqloom.data.blocks.encoded import EncodedBlock
from seqloom.data.encoding import SIDES, Columns
from seqloom.errors import DataError
from seqloom.fields.items import FlatRows

__all__ = ["FILES", "CorpusWriter", "write_tables"]

FILES = {
    *("lines", "weights"),
    *(f"{side}.{part}" for side in SIDES for part in ("values", "spans")),
}


class CorpusWriter:
    """Appends blocks of rows to the files of a folder."""

    def __init__(
        self, folder: Path, columns: Columns, *, state: Mapping[str, Any] | None = None
    ) -> None:
        """Continue from `state` if a build was interrupted."""
        self._items = dict.fromkeys(SIDES, 0)
        self._rows = 0
        self._files: list[Any] = []  # first row and name of each file
        self._corpora: list[int] = []  # number of rows in each corpus
        self._counts: list[bool] = []  # whether one of them counts
        self._columns = columns
        if state is not None:
            self._items, self._files = dict(state["items"]), list(state["files"])
            self._rows, self._counts = state["rows"], list(state["counts"])
            self._corpora = list(state["corpora"])
        with ExitStack() as stack:
            self._streams: dict[str, BinaryIO] = {
                name: stack.enter_context((folder / name).open("wb" if state is None else "r+b"))
                for name in sorted(FILES)
            }
            self._stack = stack.pop_all()
        for name, stream in self._streams.items():
            size = self._size(name)
            if stream.seek(0, os.SEEK_END) < size:
                raise OSError(f"{name} is shorter than it was")
            stream.truncate(size)
            stream.seek(size)

    def add(self, block: EncodedBlock, *, corpus: int = 0) -> None:
        """Append rows of a corpus."""
        further = corpus + 1 - len(self._corpora)
        self._corpora, self._counts = (
            self._corpora + [0] * further,
            self._counts + [False] * further,
        )
        self._corpora[corpus] += len(block.lines)
        self._counts[corpus] |= bool(block.weights.any())
        if block.file and (not self._files or self._files[-1][1] != block.file):
            self._files.append([self._rows, block.file])
        self._add_side("source", block.source)
        self._add_side("target", block.target)
        block.lines.tofile(self._streams["lines"])
        block.weights.tofile(self._streams["weights"])
        self._rows += len(block.lines)

    def _add_side(self, side: str, rows: FlatRows) -> None:
        rows.values.tofile(self._streams[f"{side}.values"])
        ends = self._items[side] + np.cumsum(rows.lengths)
        np.stack([ends - rows.lengths, ends], axis=1).tofile(self._streams[f"{side}.spans"])
        self._items[side] = int(ends[-1]) if len(ends) else self._items[side]

    def sync(self) -> dict[str, Any]:
        """Sync the files to disk, and return their sizes."""
        for stream in self._streams.values():
            _sync(stream)
        plain = {"items": self._items, "rows": self._rows, "counts": self._counts}
        return {**plain, "files": self._files, "corpora": self._corpora}

    @property
    def _file(self) -> str:
        return self._files[0][1] if self._files else ""

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def contents(self, shares: Sequence[float] = ()) -> dict[str, Any]:
        """Close the files; describe the content of each, and the mixing shares of the corpora.
        DataError if there is no row, or none with weight.
        """
        self.sync()
        self.close()
        if not self._rows:
            cure = "raise data.max_source and data.max_target"
            place = self._file or "the data"
            raise DataError("no row is left that is short enough", place=place, remedy=cure)
        files = {name: (self._kind(name).name, self._entries(name)) for name in self._streams}
        widths = list(map(self._width, SIDES))
        contents = {"file": self._file, "parts": self._files[1:], "files": files, "widths": widths}
        if shares:
            corpora = [*self._corpora, *[0] * (len(shares) - len(self._corpora))]
            contents["mixture"] = [*zip(corpora, shares, strict=True)]
        self._check_any_counts(shares or [1.0] * len(self._corpora))
        return contents

    def _check_any_counts(self, shares: Sequence[float]) -> None:
        """DataError where there is no row that is learnt from."""
        found = [*zip(self._corpora, self._counts, shares, strict=False)]
        if not any(rows and share for rows, _, share in found):
            cure = "raise the share of one that has rows"
            raise DataError("every row has the share 0", place=self._file, remedy=cure)
        if not any(counts and share for _, counts, share in found):
            cure = "give one at least that counts"
            raise DataError("every row has the weight 0", place=self._file, remedy=cure)

    def _field(self, side: str) -> Any:
        return self._columns.source if side == "source" else self._columns.target

    def _width(self, side: str) -> int:
        width: int = self._field(side).items.stored_size
        return width

    def _kind(self, name: str) -> np.dtype[Any]:
        """The type of the entries of a file."""
        side, _, part = name.partition(".")
        if part == "values":
            kind: np.dtype[Any] = self._field(side).items.stored_dtype
            return kind
        return np.dtype("float64" if name == "weights" else "int64")

    def _entries(self, name: str) -> int:
        """The number of entries in a file."""
        side, _, part = name.partition(".")
        if part == "values":
            return self._items[side] * max(1, self._width(side))
        return self._rows * (2 if part == "spans" else 1)

    def _size(self, name: str) -> int:
        return self._entries(name) * self._kind(name).itemsize


def write_tables(
    tables: tuple[NDArray[np.float32], NDArray[np.float32]],
    spans: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    lines: NDArray[np.int64],
    directory: Path,
    file: str,
) -> dict[str, Any]:
    """Write a corpus whose rows are spans of two tables, and describe its files.

    Spans may overlap.
    """
    arrays: dict[str, NDArray[Any]] = {"lines": lines, "weights": np.ones(len(lines))}
    for side, table, span in zip(SIDES, tables, spans, strict=True):
        arrays[f"{side}.values"], arrays[f"{side}.spans"] = table, span
    for name, values in arrays.items():
        with (directory / name).open("wb") as stream:
            values.tofile(stream)
            _sync(stream)
    files = {name: (values.dtype.name, values.size) for name, values in arrays.items()}
    return {"file": file, "files": files, "widths": [table.shape[1] for table in tables]}


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
