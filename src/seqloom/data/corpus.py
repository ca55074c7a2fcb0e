"""A data set as numbers: encoded once, kept in flat files, mapped into memory when used.

    corpus/  corpus.json              what it holds, of what it was made, and checksums
             {source,target}.values   the items of all rows: ids, or so many numbers for each
             {source,target}.spans    where each row begins and where it ends (int64)
             lines                    the line each row was read from (int64)
             weights                  how much each row counts (float64)

It is written under another name and renamed when whole, so a build that was killed is never used.

Checksums of encoded files, chunk by chunk: damage is found before a batch is made of it.
"""

import dataclasses
import errno
import json
import mmap
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from seqloom.data.batches import Indices, Lengths
from seqloom.data.blocks.encoded import encode_block
from seqloom.data.blocks.files import FILES, CorpusWriter
from seqloom.data.blocks.rows import BlockRows
from seqloom.data.encoding import SIDES, Columns
from seqloom.data.table import Row
from seqloom.errors import RunError
from seqloom.fields.items import batch_dtype
from seqloom.readers.lines import FileLocation
from seqloom.readers.report import Report
from seqloom.tokenizers.specials import EMPTY

__all__ = [
    "Batch",
    "ChunkVerifier",
    "Corpus",
    "clear_leftovers",
    "corpus_errors",
    "file_checksums",
    "publish_corpus",
]

ROWS = 1_000  # that are encoded at once

RELEASED_EVERY = 500  # batches, after which the process keeps none of the files in memory
CHUNK = 1 << 20  # bytes that have a checksum of their own


def file_checksums(path: Path) -> list[int]:
    """The CRC-32 of each chunk of a file."""
    with path.open("rb") as stream:
        return [crc32(chunk) for chunk in iter(lambda: stream.read(CHUNK), b"")]


class ChunkVerifier:
    """Compares chunks of a file with their checksums, each of them once."""

    def __init__(self, path: Path, checksums: Sequence[int]) -> None:
        self._path = path
        self._checksums = checksums
        self._pending: set[int] = set(range(len(checksums)))

    def verify(self) -> None:
        """Read what was not yet verified; RunError at the first chunk that has changed."""
        if self._pending:
            self._verify_chunks(sorted(self._pending))

    def verify_ranges(self, starts: NDArray[Any], ends: NDArray[Any]) -> None:
        """The same for the chunks that hold these ranges of bytes."""
        if self._pending and len(starts):
            ranges = zip((starts // CHUNK).tolist(), ((ends - 1) // CHUNK).tolist(), strict=True)
            touched = {chunk for first, last in ranges for chunk in range(first, last + 1)}
            self._verify_chunks(sorted(touched & self._pending))

    def _verify_chunks(self, chunks: Sequence[int]) -> None:
        with self._path.open("rb") as stream:
            for number in chunks:
                stream.seek(number * CHUNK)
                if crc32(stream.read(CHUNK)) != self._checksums[number]:
                    raise RunError(
                        f"its bytes have changed between {number * CHUNK:,} and "
                        f"{(number + 1) * CHUNK:,}",
                        place=self._path,
                        remedy=f"remove {self._path.parent} and it is made again",
                    )
        self._pending.difference_update(chunks)


KINDS = {
    "uint8": 1,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float32": 4,
    "float64": 8,
}  # bytes an entry


PaddedArray = NDArray[np.int64] | NDArray[np.float32] | NDArray[np.uint8]
"""Ids (B,S), or (B,S,C) where they are spelt, padded with EMPTY; numbers (B,S,C) padded with 0, as
a target with NaN."""


class MappedFile(NamedTuple):
    """A file of numbers that is read where it lies."""

    array: NDArray[Any]
    memory: mmap.mmap

    @classmethod
    def open(cls, path: Path, kind: str) -> "MappedFile":
        """Map a file, which is not empty, into memory."""
        with path.open("rb") as file:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return cls(np.frombuffer(memory, np.dtype(kind)), memory)

    def release(self) -> None:
        """Count nothing of it as memory of this process until it is read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self.memory.madvise(mmap.MADV_DONTNEED)


class Batch(NamedTuple):
    """Some rows as they are in the corpus, padded; a text ends in END and has no START."""

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
        """The corpus in `directory` if its checksums and its fingerprint match; otherwise None.
        Damage is reported to `tell`."""
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
        """Where a row was read, for messages."""
        place = bisect_right(self._files, index, key=itemgetter(0)) - 1
        return FileLocation(self._files[place][1], int(self._lines[index]))

    def place_of(self, position: int) -> FileLocation:
        """Where an item of all targets, counted from 0, was read."""
        return self.place(int(np.searchsorted(self._spans["target"][:, 1], position, "right")))

    @property
    def sources(self) -> NDArray[Any]:
        """The concatenated items of all sources, memory-mapped."""
        return self._whole("source")

    @property
    def targets(self) -> NDArray[Any]:
        """The same of all targets."""
        return self._whole("target")

    def _whole(self, side: str) -> NDArray[Any]:
        self._verifiers[side].verify()
        return self._values[side]

    def flat(self, side: str, *, closing: int = 0) -> tuple[NDArray[Any], Indices]:
        """The items of one side without closing items, row after row, and the row of each."""
        starts, ends = np.asarray(self._spans[side], np.int64).T
        lengths = ends - starts - closing
        rows = np.repeat(np.arange(len(lengths)), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self._whole(side)[starts[rows] + within], rows

    def _release(self) -> None:
        """Leave it to the system which parts of the files stay in memory."""
        for each in self._maps.values():
            each.release()

    def batch(self, indices: Indices) -> Batch:
        """These rows, in this order."""
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
    """How long each row is, some thousands at a time; None where one lies outside of the items."""
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
    """The description of a corpus, each file of which has the size it should have."""
    try:
        text = (directory / "corpus.json").read_text(encoding="utf-8")
        contents = _Contents(**json.loads(text))
        described = dataclasses.asdict(contents)
        if not described["parts"]:
            del described["parts"]
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
    """The checksum of a description, its own apart."""
    return crc32(json.dumps(contents, sort_keys=True).encode())


def publish_corpus(unfinished: Path, directory: Path, contents: dict[str, Any]) -> Corpus:
    """Describe the whole files of a corpus, and move them to `directory`."""
    if not contents.get("parts"):
        contents.pop("parts", None)
    contents["checksums"] = {name: file_checksums(unfinished / name) for name in sorted(FILES)}
    contents["checksum"] = _checksum(contents)
    (unfinished / "corpus.json").write_text(json.dumps(contents), encoding="utf-8")
    if directory.exists():
        shutil.rmtree(directory)
    unfinished.rename(directory)
    return Corpus.open(directory)


def clear_leftovers(directory: Path) -> None:
    """Clear away what killed builds of a corpus left beside its directory."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    for leftover in directory.parent.glob(f".{directory.name}-*"):
        shutil.rmtree(leftover)


@contextmanager
def corpus_errors(directory: Path) -> Iterator[None]:
    """RunError in place of what the disk refuses within the block."""
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
