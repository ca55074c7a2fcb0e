"""Files of word vectors in the text and binary formats of word2vec (S1.4).

A text file has a line `COUNT SIZE` and then a line for each word: the word and its numbers, set
apart by spaces. The first line may be missing, as GloVe leaves it out. A binary file, whose name
ends in `.bin`, has the same first line, and after it for each word the word, a space and its
numbers as 4 bytes each. Either may be gzipped.
"""

import difflib
import gzip
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.readers.lines import (
    READ_ERRORS,
    check_file,
    open_binary,
    read_error,
    split_faults,
    text_lines,
)
from seqloom.remedies import Command, Remedy, Setting

__all__ = ["WordVectors", "read_vectors", "vectors_size", "write_vectors"]

LARGEST = 65_536  # most dimensions of a vector
LONGEST_LINE = 1 << 22  # bytes
LONGEST_WORD = 1_000  # bytes
HEADER = 40  # bytes of a first line, at most

Table = NDArray[np.float32]
WordEntry = tuple[str, Table]


@dataclass(frozen=True)
class WordVectors:
    """Words and a vector for each, in the order of their rows."""

    words: tuple[str, ...]
    table: Table  # a row for each word

    @property
    def size(self) -> int:
        """Numbers in a vector."""
        return int(self.table.shape[1])

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def find(self, word: str) -> int | None:
        """The row of a word, or else of its lower-case form."""
        return self.rows.get(word, self.rows.get(word.lower()))

    @cached_property
    def directions(self) -> Table:
        """The vectors, each of length 1 unless it is zero."""
        lengths = np.linalg.norm(self.table, axis=1, keepdims=True)
        return (self.table / np.where(lengths > 0, lengths, 1)).astype(np.float32)

    def nearest(self, word: str, count: int) -> list[tuple[str, float]]:
        """The nearest words by cosine similarity, with the cosines (S1.5)."""
        row = self._row(word)
        cosines = self.directions @ self.directions[row]
        cosines[row] = -np.inf
        order = np.argsort(-cosines, kind="stable")[: min(count, len(self.words) - 1)]
        return [(self.words[each], float(cosines[each])) for each in order]

    def cosine(self, one: str, other: str) -> float:
        """The cosine similarity of two words."""
        return float(self.directions[self._row(one)] @ self.directions[self._row(other)])

    def _row(self, word: str) -> int:
        """The row of a word; DataError where it has no vector."""
        row = self.find(word)
        if row is None:
            near = difflib.get_close_matches(word, self.words, n=1)
            cure = f"did you mean {near[0]!r}?" if near else "it was too rare or never there"
            raise DataError(f"{word!r}: there is no vector for this word", remedy=cure)
        return row


def vectors_size(path: Path) -> int:
    """How many numbers each vector of a file has, from its first line."""
    check_file(path)
    if _is_binary(path):
        with open_binary(path) as stream:
            return _binary_header(path, stream)[1]
    return _text_size(path)[0]


def read_vectors(path: Path, wanted: Collection[str] | None = None) -> WordVectors:
    """Read the vectors of a file, or only those of the wanted words.

    DataError with the line, or the number of the vector, where it is cut off, where numbers are
    missing, too many or not finite, or where a word comes twice.
    """
    check_file(path)
    found: dict[str, Table] = {}
    entries = _binary_entries(path, wanted) if _is_binary(path) else _text_entries(path, wanted)
    size = 0
    for place, (word, vector) in entries:
        if word in found:
            raise DataError(f"{word!r} came before", place=place, remedy="remove one of the two")
        if not np.isfinite(vector).all():
            raise DataError(
                f"a number of {word!r} is not finite", place=place, remedy="learn the vectors again"
            )
        found[word], size = vector, len(vector)
    if not found and wanted is None:
        raise DataError(
            "holds no vectors",
            place=path,
            remedy=Remedy("learn them with {}", Command("vectors", "DATA", Setting("to", "FILE"))),
        )
    table = np.array(list(found.values()), np.float32).reshape(len(found), size)
    return WordVectors(tuple(found), table)


def write_vectors(path: Path, vectors: WordVectors) -> None:
    """Write a file of vectors atomically; binary if its name ends in `.bin`."""
    partial = path.with_name(f".{path.name}.partial")
    lines = _binary_lines(vectors) if _is_binary(path) else _text_lines(vectors)
    try:
        with partial.open("wb") as file:
            if path.suffix == ".gz":
                lines = iter([gzip.compress(b"".join(lines), mtime=0)])
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        cure = "free space or choose another place"
        raise DataError(f"cannot be written ({error.strerror})", place=path, remedy=cure) from None


def _is_binary(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(".bin")


def _text_lines(vectors: WordVectors) -> Iterator[bytes]:
    yield f"{len(vectors.words)} {vectors.size}\n".encode()
    for word, vector in zip(vectors.words, vectors.table.tolist(), strict=True):
        yield f"{word} {' '.join(f'{value:.9g}' for value in vector)}\n".encode()


def _binary_lines(vectors: WordVectors) -> Iterator[bytes]:
    yield f"{len(vectors.words)} {vectors.size}\n".encode()
    for word, vector in zip(vectors.words, vectors.table, strict=True):
        yield b"%s %s\n" % (word.encode(), vector.astype("<f4").tobytes())


def _text_size(path: Path) -> tuple[int, int | None]:
    """How many numbers a vector has, and how many vectors there are, where the file says so."""
    first = next(iter(_sound_lines(path)), None)
    parts = [] if first is None else first[1].split(" ")
    if len(parts) == 2 and all(part.isdecimal() for part in parts):
        return _parse_size(f"{path}:1", parts[1]), int(parts[0])
    if len(parts) < 3:
        raise DataError(
            f"{path}:1: should say how many vectors there are and of what size, or be the first "
            "of them",
            remedy="name a file of word vectors",
        )
    return len(parts) - 1, None


def _parse_size(place: str, size: str) -> int:
    if not 1 <= int(size[:9]) <= LARGEST:
        raise DataError(
            f"vectors of {size[:9]} numbers cannot be", place=place, remedy=f"1 to {LARGEST:,} can"
        )
    return int(size)


def _sound_lines(path: Path) -> Iterator[tuple[str, str]]:
    lines = split_faults(text_lines(path, max_line=LONGEST_LINE))
    for number, (line, fault) in enumerate(lines, 1):
        if line is None and fault is not None:
            cure = "name the file .bin if it is a binary one"
            raise DataError(fault.problem, place=fault.place, remedy=cure)
        yield f"{path}:{number}", (line or "").rstrip(" ")


def _text_entries(path: Path, wanted: Collection[str] | None) -> Iterator[tuple[str, WordEntry]]:
    size, count = _text_size(path)
    number, place = 0, str(path)
    for place, line in _sound_lines(path):
        if count is not None and place.endswith(":1"):
            continue
        number += 1
        word, *values = line.split(" ")
        if len(values) != size:
            raise DataError(
                f"expected a word and {size} numbers, found {len(values)}",
                place=place,
                remedy="mend the line",
            )
        if count is not None and number > count:
            raise DataError(
                f"the first line promises {count:,} vectors", place=place, remedy="correct it"
            )
        if wanted is None or word in wanted:
            yield place, (word, _numbers(place, values))
    if count is not None and number < count:
        raise DataError(
            f"is cut off here, after {number:,} of {count:,} vectors",
            place=place,
            remedy="copy it again",
        )


def _numbers(place: str, values: Sequence[str]) -> Table:
    try:
        return np.array(values, dtype=np.float32)
    except (ValueError, OverflowError):
        raise DataError(
            "holds what is no number", place=place, remedy="put spaces between numbers"
        ) from None


def _binary_header(path: Path, stream: IO[bytes]) -> tuple[int, int]:
    """How many vectors there are, and of what size."""
    parts = stream.readline(HEADER).split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        cure = "name the file .txt if it is text"
        raise DataError(
            "does not begin with a number of vectors and their size", place=path, remedy=cure
        )
    return int(parts[0]), _parse_size(str(path), parts[1].decode())


def _binary_entries(path: Path, wanted: Collection[str] | None) -> Iterator[tuple[str, WordEntry]]:
    place = str(path)
    try:
        with open_binary(path) as stream:
            count, size = _binary_header(path, stream)
            for number in range(1, count + 1):
                place = f"{path}: vector {number:,}"
                word, raw = _word(place, stream), stream.read(4 * size)
                if len(raw) < 4 * size:
                    raise DataError(
                        f"{place} of {count:,} is cut off", remedy="copy the file again"
                    )
                if wanted is None or word in wanted:
                    yield place, (word, np.frombuffer(raw, "<f4").astype(np.float32))
            if stream.read(2).strip():
                raise DataError(
                    f"goes on after its {count:,} vectors", place=path, remedy="copy it again"
                )
    except READ_ERRORS as error:
        raise read_error(error, place) from None


def _word(place: str, stream: Any) -> str:
    """The next word, up to the space after it."""
    raw = bytearray()
    while (byte := stream.read(1)) not in {b" ", b""}:
        if byte != b"\n" or raw:
            raw += byte
        if len(raw) > LONGEST_WORD:
            raise DataError(
                f"{place} has no word before it", remedy="name the file .txt if it is text"
            )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(
            f"{place} has a word that is not UTF-8", remedy="learn the vectors again"
        ) from None
