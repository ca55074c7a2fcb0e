"""The files of a corpus while they are written: items, spans, lines and weights, row after row."""

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
    """Appends blocks of rows to the files in a folder, whose sizes say where it is."""

    def __init__(
        self, folder: Path, columns: Columns, *, state: Mapping[str, Any] | None = None
    ) -> None:
        """Go on after what `state` was told of, where a build was broken off."""
        self._items = dict.fromkeys(SIDES, 0)
        self._rows, self._counts = 0, False
        self._files: list[Any] = []  # the first row of each file, and its name
        self._columns = columns
        if state is not None:
            self._items, self._files = dict(state["items"]), list(state["files"])
            self._rows, self._counts = state["rows"], state["counts"]
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

    def add(self, block: EncodedBlock) -> None:
        """Append rows."""
        if block.file and (not self._files or self._files[-1][1] != block.file):
            self._files.append([self._rows, block.file])
        self._add_side("source", block.source)
        self._add_side("target", block.target)
        block.lines.tofile(self._streams["lines"])
        block.weights.tofile(self._streams["weights"])
        self._rows += len(block.lines)
        self._counts = self._counts or bool(block.weights.any())

    def _add_side(self, side: str, rows: FlatRows) -> None:
        rows.values.tofile(self._streams[f"{side}.values"])
        ends = self._items[side] + np.cumsum(rows.lengths)
        np.stack([ends - rows.lengths, ends], axis=1).tofile(self._streams[f"{side}.spans"])
        self._items[side] = int(ends[-1]) if len(ends) else self._items[side]

    def sync(self) -> dict[str, Any]:
        """Make sure that all of it is on disk, and say how much that is."""
        for stream in self._streams.values():
            _sync(stream)
        plain = {"items": self._items, "rows": self._rows, "counts": self._counts}
        return {**plain, "files": self._files}

    @property
    def _file(self) -> str:
        return self._files[0][1] if self._files else ""

    def balance(self, corpora: Mapping[str, int], shares: Sequence[float]) -> None:
        """Scale the weights of rows so that those of each corpus have its share of all; `corpora`
        has the number of the corpus of each file."""
        stream = self._streams["weights"]
        stream.flush()
        weights = np.fromfile(stream.name, np.float64)
        starts = [start for start, _ in self._files]
        owners = np.repeat(
            [corpora[name] for _, name in self._files], np.diff([*starts, len(weights)])
        )
        sums = np.bincount(owners, weights, len(shares))
        factors = np.divide(shares, sums, out=np.zeros(len(shares)), where=sums > 0) * sums.sum()
        stream.seek(0)
        (weights * factors[owners]).tofile(stream)

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def contents(self) -> dict[str, Any]:
        """Close the files and say what each holds; DataError where no row is left or counts."""
        self.sync()
        self.close()
        if not self._rows:
            cure = "raise data.max_source and data.max_target"
            place = self._file or "the data"
            raise DataError("no row is left that is short enough", place=place, remedy=cure)
        if not self._counts:
            cure = "give one at least that counts"
            raise DataError("every row has the weight 0", place=self._file, remedy=cure)
        files = {name: (self._kind(name).name, self._entries(name)) for name in self._streams}
        widths = list(map(self._width, SIDES))
        return {"file": self._file, "parts": self._files[1:], "files": files, "widths": widths}

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
        """How many entries a file has."""
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
    """Write the files of a corpus whose rows are stretches of two tables, and say what each holds.

    Stretches may overlap.
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
