"""An encoded data set: flat files, encoded once and memory-mapped.

corpus/  corpus.json              what it holds, of what it was made, and checksums
             {source,target}.values   the items of all rows: ids, or so many numbers for each
             {source,target}.spans    where each row begins and where it ends (int64)
             lines                    the line each row was read from (int64)
             weights                  how much each row counts (float64)

A corpus is written under another name and renamed when complete, so an interrupted build is never
used.

Encoded files have checksums by chunk, so damage is found before a batch uses it.
"""

import dataclasses
import errno
import json
import mmap
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from seqloom.data.batches import Indices, Lengths
from seqloom.data.blocks.checksums import CHUNK, ChunkVerifier, file_checksums
from seqloom.data.blocks.encoded import encode_block
from seqloom.data.blocks.files import FILES, CorpusWriter
from seqloom.data.blocks.rows import BlockRows
from seqloom.data.encoding import SIDES, Columns
from seqloom.data.mixture import Mixture
from seqloom.data.table import Row
from seqloom.errors import RunError
from seqloom.fields.items import batch_dtype
from seqloom.readers.lines import FileLocation
from seqloom.readers.report import Report
from seqloom.tokenizers.specials import EMPTY

__all__ = [
    "Batch",
    "Corpus",
    "clear_leftovers",
    "corpus_errors",
    "publish_corpus",
]

ROWS = 1_000  # encoded at once

RELEASED_EVERY = 500  # batches after which mapped pages are released


OPTIONAL = ("parts", "mixture")  # optional entries of a description
KINDS = {
    "uint8": 1,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float32": 4,
    "float64": 8,
}  # bytes per entry


PaddedArray = NDArray[np.int64] | NDArray[np.float32] | NDArray[np.uint8]
"""Ids (B,S), or (B,S,C) where they are spelt, padded with EMPTY; numbers (B,S,C) padded with 0, as
a target with NaN."""


class MappedFile(NamedTuple):
    """A memory-mapped file of numbers."""

    array: NDArray[Any]
    memory: mmap.mmap

    @classmethod
    def open(cls, path: Path, kind: str) -> "MappedFile":
        """Map a file, which must not be empty, into memory."""
        with path.open("rb") as file:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return cls(np.frombuffer(memory, np.dtype(kind)), memory)

    def release(self) -> None:
        """Release the mapped pages from this process's memory until they are read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self.memory.madvise(mmap.MADV_DONTNEED)


class Batch(NamedTuple):
    """Padded rows of a corpus; a text ends in END and has no START."""

    source: PaddedArray
    source_lengths: NDArray[np.int64]  # (B,)
    target: PaddedArray
    target_lengths: NDArray[np.int64]  # (B,)
    indices: NDArray[np.int64]  # (B,)

    def part(self, share: slice) -> "Batch":
        """Some of the rows, padded as before."""
        return Batch(
            self.source[share],
            self.source_lengths[share],
            self.target[share],
            self.target_lengths[share],
            self.indices[share],
        )


@dataclass(frozen=True)
class _Contents:
    """corpus.json: of what it was made, and each file's type, number of items and checksums."""

    fingerprint: str
    file: str
    files: dict[str, tuple[str, int]]
    widths: list[int]  # numbers of an item on either side; 0 where it is an id
    checksums: dict[str, list[int]]  # of each file's chunks
    checksum: int  # of all the above
    parts: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    """The first row of each further file, and its name."""
    mixture: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    """How many rows each of several corpora has, and its share of what is learnt from."""


class Corpus:
    """Rows of numbers on disk; `lengths`, END included, and `weights` are in memory.

    Items are compared with their checksums when they are first read; RunError where they differ.
    """

    def __init__(
        self,
        contents: _Contents,
        maps: Mapping[str, MappedFile],
        lengths: Lengths,
        verifiers: Mapping[str, ChunkVerifier],
    ) -> None:
        """Use `open`, `build` or `reuse`."""
        self.fingerprint = contents.fingerprint
        self._verifiers = {side: verifiers[f"{side}.values"] for side in SIDES}
        self.mixture: Mixture | None = None  # of several corpora with shares
        self.lost = [n for n, (rows, share) in enumerate(contents.mixture) if share and not rows]
        """The numbers of those that have a share and no row."""
        if contents.mixture:
            self.mixture = Mixture.of(*zip(*contents.mixture, strict=True))
        self._files = [(0, contents.file), *((row, name) for row, name in contents.parts)]
        arrays = {name: each.array for name, each in maps.items()}
        self._maps, self._batches = maps, 0
        self._lines = arrays["lines"]
        self._values = {
            side: arrays[f"{side}.values"].reshape((-1, width) if width else (-1,))
            for side, width in zip(SIDES, contents.widths, strict=True)
        }
        self._spans = {side: arrays[f"{side}.spans"].reshape(-1, 2) for side in SIDES}
        self.lengths = lengths
        self.weights: NDArray[np.float64] = np.array(arrays["weights"])
        self._release()

    @classmethod
    def build(
        cls,
        rows: Iterable[Row],
        columns: Columns,
        *,
        directory: Path,
        report: Report,
        fingerprint: str,
    ) -> "Corpus":
        """Encode rows in a stream and put the result in `directory`, in place of what was there."""

        def write(folder: Path) -> dict[str, Any]:
            writer, stream = CorpusWriter(folder, columns), iter(rows)
            named = columns.source.reads_files or columns.target.reads_files
            try:
                while some := list(islice(stream, 1 if named else ROWS)):
                    writer.add(encode_block(BlockRows.of(some), columns, report))
                return writer.contents()
            finally:
                writer.close()

        return cls.from_writer(write, directory=directory, fingerprint=fingerprint)

    @classmethod
    def from_writer(
        cls, write: Callable[[Path], dict[str, Any]], *, directory: Path, fingerprint: str
    ) -> "Corpus":
        """Have the files of a corpus written and put them in `directory` when they are whole.

        There may be one builder of a directory at a time; what a killed one left is cleared away.
        """
        with corpus_errors(directory):
            clear_leftovers(directory)
            unfinished = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
            try:
                contents = {"fingerprint": fingerprint, **write(unfinished)}
                return publish_corpus(unfinished, directory, contents)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)

    @classmethod
    def open(cls, directory: Path) -> "Corpus":
        """Open the corpus in `directory`, after checking the sizes of its files."""
        contents = _contents(directory)
        verifiers = {
            name: ChunkVerifier(directory / name, checksums)
            for name, checksums in contents.checksums.items()
        }
        for name in FILES - {f"{side}.values" for side in SIDES}:  # those are verified as read
            verifiers[name].verify()
        maps = {
            name: MappedFile.open(directory / name, kind)
            for name, (kind, _) in contents.files.items()
        }
        weights, rows = maps["weights"].array, len(maps["lines"].array)
        lengths = []
        for side, width in zip(SIDES, contents.widths, strict=True):
            spans = maps[f"{side}.spans"]
            found = _span_lengths(spans, len(maps[f"{side}.values"].array) // max(1, width))
            if found is None or len(found) != rows:
                raise _not_whole(directory)
            lengths.append(found)
        if len(weights) != rows or not (np.isfinite(weights) & (weights >= 0)).all():
            raise _not_whole(directory)
        return cls(contents, maps, Lengths(*lengths), verifiers)

    @classmethod
    def reuse(
        cls, directory: Path, fingerprint: str, tell: Callable[[str], None] = lambda damage: None
    ) -> "Corpus | None":
        """Open the corpus in `directory` if its checksums and its fingerprint match; otherwise
        None. Damage is reported to `tell`.
        """
        if not directory.exists():
            return None
        try:
            corpus = cls.open(directory)
            if corpus.fingerprint != fingerprint:
                return None
            for verifier in corpus._verifiers.values():
                verifier.verify()
        except RunError as error:
            place, problem, _ = error.parts()
            tell(f"{place}: {problem}, so it is made again")
            return None
        return corpus

    def __len__(self) -> int:
        return len(self._lines)

    def place(self, index: int) -> FileLocation:
        """The source location of a row, for messages."""
        place = bisect_right(self._files, index, key=itemgetter(0)) - 1
        return FileLocation(self._files[place][1], int(self._lines[index]))

    def place_of(self, position: int) -> FileLocation:
        """The source location of a target item by its index over all targets."""
        return self.place(int(np.searchsorted(self._spans["target"][:, 1], position, "right")))

    @property
    def sources(self) -> NDArray[Any]:
        """The concatenated items of all sources, memory-mapped."""
        return self._whole("source")

    @property
    def targets(self) -> NDArray[Any]:
        """The concatenated items of all targets, memory-mapped."""
        return self._whole("target")

    def _whole(self, side: str) -> NDArray[Any]:
        self._verifiers[side].verify()
        return self._values[side]

    def target_parts(self) -> list[tuple[NDArray[Any], float]]:
        """The targets of each corpus, and how often a pass has each of its rows."""
        if self.mixture is None:
            return [(self.targets, 1.0)]
        ends, targets = self._spans["target"][:, 1], self.targets
        rows = [0, *np.cumsum(self.mixture.rows).tolist()]
        bounds = [int(ends[row - 1]) if row else 0 for row in rows]
        parts = (targets[start:end] for start, end in pairwise(bounds))
        return [*zip(parts, self.mixture.frequencies, strict=True)]

    def flat(
        self, side: str, *, closing: int = 0, chosen: Indices | None = None
    ) -> tuple[NDArray[Any], Indices]:
        """The concatenated items of one side without closing items, and the row of each; of
        chosen rows only, if given.
        """
        spans = self._spans[side] if chosen is None else self._spans[side][chosen]
        starts, ends = np.asarray(spans, np.int64).T
        lengths = ends - starts - closing
        rows = np.repeat(np.arange(len(lengths)), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self._whole(side)[starts[rows] + within], rows

    def _release(self) -> None:
        """Release the mapped files from this process's memory."""
        for each in self._maps.values():
            each.release()

    def batch(self, indices: Indices) -> Batch:
        """Load these rows, in this order."""
        self._batches += 1
        if self._batches % RELEASED_EVERY == 0:
            self._release()
        source, source_lengths = self._pad("source", indices)
        target, target_lengths = self._pad("target", indices)
        return Batch(source, source_lengths, target, target_lengths, indices)

    def _pad(self, side: str, indices: Indices) -> tuple[PaddedArray, Indices]:
        starts, ends = np.asarray(self._spans[side][indices]).T
        lengths = ends - starts
        steps = np.arange(lengths.max(initial=0))
        real = steps < lengths[:, None]  # (B,S)
        values = self._values[side]
        size = values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
        self._verifiers[side].verify_ranges(starts * size, ends * size)
        nothing = np.nan if side == "target" and values.dtype == np.float32 else EMPTY
        shape = (*real.shape, *values.shape[1:])
        padded = np.full(shape, nothing, dtype=batch_dtype(values.dtype))
        padded[real] = values[(starts[:, None] + steps)[real]]
        return padded, lengths


def _span_lengths(spans: MappedFile, items: int) -> NDArray[np.int32] | None:
    """The length of each row, computed in chunks; None if a span lies outside the items."""
    table = spans.array.reshape(-1, 2)
    lengths = np.empty(len(table), np.int32)
    for start in range(0, len(table), CHUNK):
        starts, ends = table[start : start + CHUNK].T
        if (starts < 0).any() or (ends > items).any() or (ends <= starts).any():
            return None
        lengths[start : start + CHUNK] = ends - starts
        spans.release()
    return lengths


def _contents(directory: Path) -> _Contents:
    """Read the description of a corpus and check the sizes of its files."""
    try:
        text = (directory / "corpus.json").read_text(encoding="utf-8")
        contents = _Contents(**json.loads(text))
        described = dataclasses.asdict(contents)
        for name in OPTIONAL:
            if not described[name]:
                del described[name]
        whole = described.pop("checksum") == _checksum(described)
        whole = whole and set(contents.files) == set(contents.checksums) == FILES
        whole = whole and all(
            kind in KINDS and (directory / name).stat().st_size == KINDS[kind] * count > 0
            for name, (kind, count) in contents.files.items()
        )
        for side, width in zip(SIDES, contents.widths, strict=True):
            whole = (
                whole and width >= 0 and contents.files[f"{side}.values"][1] % max(1, width) == 0
            )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise _not_whole(directory)
    return contents


def _checksum(contents: Mapping[str, Any]) -> int:
    """The checksum of a description, without the checksum itself."""
    return crc32(json.dumps(contents, sort_keys=True).encode())


def publish_corpus(
    unfinished: Path,
    directory: Path,
    contents: dict[str, Any],
    *,
    tell: Callable[[float], None] = lambda share: None,
) -> Corpus:
    """Describe the completed files of a corpus, and move them to `directory`; `tell` receives the
    progress of checksums.
    """
    for name in OPTIONAL:
        if not contents.get(name):
            contents.pop(name, None)
    sizes = {name: (unfinished / name).stat().st_size for name in sorted(FILES)}
    contents["checksums"], done = {}, 0
    for name, size in sizes.items():
        contents["checksums"][name] = file_checksums(unfinished / name)
        done += size
        tell(done / max(1, sum(sizes.values())))
    contents["checksum"] = _checksum(contents)
    (unfinished / "corpus.json").write_text(json.dumps(contents), encoding="utf-8")
    if directory.exists():
        shutil.rmtree(directory)
    unfinished.rename(directory)
    return Corpus.open(directory)


def clear_leftovers(directory: Path) -> None:
    """Remove leftovers of interrupted builds beside a corpus directory."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    for leftover in directory.parent.glob(f".{directory.name}-*"):
        shutil.rmtree(leftover)


@contextmanager
def corpus_errors(directory: Path) -> Iterator[None]:
    """Turn OSError within the block into RunError."""
    try:
        yield
    except OSError as error:
        raise _not_written(directory, error) from None


def _not_written(directory: Path, error: OSError) -> RunError:
    open_files = error.errno in (errno.EMFILE, errno.ENFILE)
    return RunError(
        f"cannot be written ({error.strerror or error})",
        place=directory,
        remedy="raise the limit on open files (ulimit -n)"
        if open_files
        else "free space or choose another place",
    )


def _not_whole(directory: Path) -> RunError:
    return RunError(
        "is not a whole corpus", place=directory, remedy="remove it and it is made again"
    )
