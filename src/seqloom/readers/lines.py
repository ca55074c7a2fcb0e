"""Read lines of text: split on `\
` only, strict UTF-8, with every fault reported.

Each physical line yields one item, a `str` or a `Fault`, so a caller's count is the file's.
A fault of the whole file (missing, UTF-16, cut-off gzip) is a `DataError` whatever the options say.
"""

import codecs
import difflib
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast
from weakref import WeakValueDictionary

from seqloom.errors import DataError, RowError
from seqloom.remedies import FileLocation, Phrase, Setting, either

__all__ = [
    "LONGEST_LINE",
    "READ_ERRORS",
    "Fault",
    "FileLocation",
    "Reason",
    "apply_sound",
    "bytes_read",
    "check_file",
    "check_line",
    "dispatch",
    "expand_lines",
    "expand_sound",
    "file_name",
    "first_fault",
    "map_lines",
    "map_sound",
    "open_binary",
    "open_text",
    "raw_lines",
    "read_error",
    "resolve",
    "sound_items",
    "split_faults",
    "text_lines",
]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Reason(StrEnum):
    """Why a row cannot be used."""

    ALIGNMENT = "not one tag for each token or step"
    BLANK = "blank line"
    COLUMNS = "wrong number of columns"
    EMPTY_SOURCE = "empty source"
    EMPTY_TARGET = "empty target"
    ENCODING = "not valid Unicode"
    FUZZY = "fuzzy translation"
    JSON = "not valid JSON"
    LANGUAGE = "no text in a language that is asked for"
    LONG_LINE = "line too long"
    LONG_SOURCE = "more source tokens than data.max_source"
    LONG_TARGET = "more target tokens than data.max_target"
    MISSING = "column missing"
    NUL = "NUL character"
    OBSOLETE = "obsolete entry"
    ORDER = "words out of order"
    OUTSIDE = "file outside of the data's folder"
    QUOTE = "text after a closing quote"
    REPLY = "dialog without a reply"
    TIME = "time that does not follow the one before"
    TURN = "turn that is not text"
    TYPE = "value that is not text"
    UNSPLIT = "too long, and source and target cannot be split in step"
    UNTRANSLATED = "no translation yet"
    VALUE = "value that its column cannot hold"
    WEIGHT = "weight that is not a number of 0 or more"

    @property
    def is_benign(self) -> bool:
        """Whether such rows are legitimate, and skipped even in strict reading."""
        return self in {Reason.FUZZY, Reason.LANGUAGE, Reason.OBSOLETE, Reason.UNTRANSLATED}

    @property
    def is_length(self) -> bool:
        """Whether such rows are too long for the model."""
        return self in {Reason.LONG_SOURCE, Reason.LONG_TARGET, Reason.UNSPLIT}


class Fault(NamedTuple):
    """A row that cannot be used: an error in strict reading, otherwise counted.

    `text` is the readable part of the line, for its quotes; None if they are unknown.
    """

    reason: Reason
    place: FileLocation
    problem: str
    remedy: Phrase = ""
    text: str | None = ""

    def error(self) -> RowError:
        """The error of strict reading, whose remedy is to skip such rows."""
        skip = Setting("data.skip_bad", True)
        return RowError(self.problem, place=self.place, remedy=either(self.remedy, "pass {}", skip))

    def final_error(self) -> DataError:
        """The error of a reader that cannot skip the row."""
        return DataError(self.problem, place=self.place, remedy=self.remedy)


def apply_sound(item: Item | Fault, change: Callable[[Item], Result | Fault]) -> Result | Fault:
    """Apply `change` to an item; faults are unchanged."""
    return item if isinstance(item, Fault) else change(item)


def resolve(
    item: Item | Fault, take: Callable[[Item], Result], refuse: Callable[[Fault], Result]
) -> Result:
    """Apply `take` to an item, or `refuse` to a fault."""
    return refuse(item) if isinstance(item, Fault) else take(item)


def map_sound(
    items: Iterable[Item | Fault], change: Callable[[Item], Result | Fault]
) -> Iterator[Result | Fault]:
    """Apply `change` to each item; faults are unchanged."""
    for item in items:
        yield item if isinstance(item, Fault) else change(item)


def expand_sound(
    items: Iterable[Item | Fault], change: Callable[[Item], Iterable[Result | Fault]]
) -> Iterator[Result | Fault]:
    """Yield all results of `change` for each item; faults are unchanged."""
    for item in items:
        if isinstance(item, Fault):
            yield item
        else:
            yield from change(item)


def map_lines(
    lines: Iterable[str | Fault],
    file: str,
    change: Callable[[str, FileLocation], Result | Fault],
    *,
    first: int = 1,
) -> Iterator[Result | Fault]:
    """Apply `change` to each line of a file with its place; faults are unchanged."""
    for number, line in enumerate(lines, first):
        yield line if isinstance(line, Fault) else change(line, FileLocation(file, number))


def expand_lines(
    lines: Iterable[str | Fault],
    file: str,
    change: Callable[[str, FileLocation], Iterable[Result | Fault]],
    *,
    first: int = 1,
) -> Iterator[Result | Fault]:
    """Yield all results of `change` for each line with its place; faults are unchanged."""
    for number, line in enumerate(lines, first):
        if isinstance(line, Fault):
            yield line
        else:
            yield from change(line, FileLocation(file, number))


def dispatch(
    items: Iterable[Item | Fault], take: Callable[[Item], None], refuse: Callable[[Fault], None]
) -> None:
    """Give each item to `take`, and each fault to `refuse`, in order."""
    for item in items:
        if isinstance(item, Fault):
            refuse(item)
        else:
            take(item)


def split_faults(items: Iterable[Item | Fault]) -> Iterator[tuple[Item | None, Fault | None]]:
    """Pair each item with None, or None with its fault."""
    for item in items:
        yield (None, item) if isinstance(item, Fault) else (item, None)


def sound_items(items: Iterable[Item | Fault]) -> Iterator[Item]:
    """The items without the faults."""
    return (item for item in items if not isinstance(item, Fault))


def first_fault(items: Iterable[Item | Fault]) -> Fault | None:
    """The first fault, if there is one."""
    return next((item for item in items if isinstance(item, Fault)), None)


ByteStream: TypeAlias = "io.BufferedReader[Any]"

GZIP = b"\x1f\x8b"
HEAD = 8_192
LONGEST_LINE = 1_000_000  # bytes, by default
CHUNK = 1 << 20
ENCODINGS = {  # UTF-32 first: its little-endian mark starts like UTF-16's
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
SIGNATURES = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"PAR1": "a Parquet file",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF": "a PDF document",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
    b"SQLite format 3": "an SQLite database",
}
READ_ERRORS = (EOFError, OSError, zlib.error)
CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x1b")


def check_file(path: Path) -> None:
    """Refuse anything but a regular file; suggest the nearest name for a missing one."""
    if path.is_dir():
        raise DataError("is a folder", place=path, remedy="name a file in it")
    if not path.exists():
        raise DataError("no such file", place=path, remedy=_suggestion(path))
    if not path.is_file():
        raise DataError("is not a regular file", place=path, remedy="copy its contents into one")


@contextmanager
def open_binary(path: Path | None) -> Iterator[ByteStream]:
    """Open a file as bytes, unpacked if gzipped; None is standard input."""
    name = file_name(path)
    with _source(path) as raw:
        head = _peek(raw, name)
        if path is not None and path.suffix == ".gz" and head and not head.startswith(GZIP):
            raise DataError(
                "is not gzip data though its name ends in .gz", place=name, remedy="rename it"
            )
        packed = head.startswith(GZIP)
        yield cast(ByteStream, gzip.GzipFile(fileobj=raw)) if packed else raw


@contextmanager
def open_text(path: Path | None) -> Iterator[ByteStream]:
    """Open a text file as bytes, unpacked if gzipped and past its byte-order mark; None
    is stdin.
    """
    name = file_name(path)
    with open_binary(path) as stream:
        head = _peek(stream, name)
        _refuse_other_kinds(name, head)
        if head.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        yield stream


def raw_lines(path: Path | None, *, max_line: int) -> Iterator[tuple[bytes, bool, bool]]:
    """Each physical line with its end, or as much as matters of one that is too long; whether it is
    whole, and whether there is a quote in the rest. DataError where bytes cannot be read."""
    name = file_name(path)
    number = 0
    with open_text(path) as stream:
        while True:
            number += 1
            try:
                raw = stream.readline(max_line + 2)
                complete = raw.endswith(b"\n") or len(raw) < max_line + 2
                quotes = not complete and _skip_to_end_of_line(stream)
            except READ_ERRORS as error:
                raise read_error(error, f"{name}:{number}") from None
            if not raw:
                return
            yield raw, complete, quotes


def text_lines(path: Path | None, *, max_line: int) -> Iterator[str | Fault]:
    """Each physical line without its end (`\\n` or `\\r\\n`), or what makes it unusable."""
    name = file_name(path)
    for number, (raw, is_whole, quotes) in enumerate(raw_lines(path, max_line=max_line), 1):
        if is_whole:
            yield check_line(raw.removesuffix(b"\n"), name, number, max_line=max_line)
        else:
            place = FileLocation(name, number)
            yield _too_long(place, max_line, quotes=quotes or b'"' in raw)


def check_line(raw: bytes, name: str, number: int, *, max_line: int) -> str | Fault:
    """The text of a line that `\\n` has been taken from, or what makes it unusable."""
    raw = raw.removesuffix(b"\r")
    if len(raw) > max_line:
        return _too_long(FileLocation(name, number), max_line, quotes=b'"' in raw)
    return _decode(raw, name, number)


def file_name(path: Path | None) -> str:
    """The name of a file in errors; None is standard input."""
    return "standard input" if path is None else str(path)


_reading: WeakValueDictionary[str, ByteStream] = WeakValueDictionary()  # files that are open


def bytes_read(path: Path) -> int:
    """How far a file that is being read is, packed as it lies there; 0 where none is."""
    stream = _reading.get(str(path))
    return 0 if stream is None or stream.closed else stream.tell()


@contextmanager
def _source(path: Path | None) -> Iterator[ByteStream]:
    if path is None:
        yield cast(ByteStream, sys.stdin.buffer)
        return
    if path.is_dir() or not path.exists():
        check_file(path)
    try:
        stream = cast(ByteStream, path.open("rb", buffering=CHUNK))
    except OSError as error:
        raise DataError(
            f"cannot be opened ({error.strerror})", place=path, remedy="check it"
        ) from None
    with stream:
        _reading[str(path)] = stream
        yield stream


def _peek(stream: ByteStream, name: str) -> bytes:
    """Peek at the first bytes; of a pipe, those that have arrived."""
    try:
        return stream.peek(HEAD)[:HEAD]
    except READ_ERRORS as error:
        raise read_error(error, name) from None


def read_error(error: Exception, place: str) -> DataError:
    """The error of reading bytes, in one sentence."""
    match error:
        case EOFError():
            return DataError(
                "the gzip data is cut off here", place=place, remedy="copy the file again"
            )
        case gzip.BadGzipFile() | zlib.error():
            return DataError(
                "the gzip data is damaged here", place=place, remedy="copy the file again"
            )
        case _:
            return DataError(f"cannot be read ({error})", place=place, remedy="check the disk")


def _skip_to_end_of_line(stream: ByteStream) -> bool:
    """Skip the rest of an overlong line; return whether it has a quote."""
    quotes = False
    while rest := stream.readline(CHUNK):
        quotes = quotes or b'"' in rest
        if rest.endswith(b"\n"):
            break
    return quotes


def _decode(raw: bytes, name: str, number: int) -> str | Fault:
    if b"\0" in raw:
        position = raw.index(b"\0") + 1
        problem = f"byte {position} of the line is NUL, which no text holds"
        return Fault(
            Reason.NUL,
            FileLocation(name, number),
            problem,
            "remove it",
            raw.decode("utf-8", "replace"),
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line (0x{raw[error.start]:02X}) is not UTF-8"
        return Fault(
            Reason.ENCODING,
            FileLocation(name, number),
            problem,
            "convert the file, for example with iconv -f LATIN1 -t UTF-8",
            raw.decode("utf-8", "replace"),
        )


def _too_long(place: FileLocation, max_line: int, *, quotes: bool) -> Fault:
    problem = f"the line is longer than {max_line:,} bytes"
    return Fault(
        Reason.LONG_LINE, place, problem, "split it or raise data.max_line", None if quotes else ""
    )


def _refuse_other_kinds(name: str, head: bytes) -> None:
    """Raise DataError, naming the format, for a file that is not UTF-8 text by its first bytes."""
    encoding = next((kind for mark, kind in ENCODINGS.items() if head.startswith(mark)), None)
    if encoding or _looks_like_utf16(head):
        encoding = encoding or "UTF-16"
        cure = f"save it as UTF-8, for example with iconv -f {encoding} -t UTF-8"
        raise DataError(f"is {encoding} text, not UTF-8", place=name, remedy=cure)
    controls = len(head) - len(head.translate(None, CONTROLS))
    if controls >= 8 and controls > len(head) / 20 and not _is_text(head):
        kind = next((kind for mark, kind in SIGNATURES.items() if head.startswith(mark)), None)
        raise DataError(
            f"is {kind or 'binary data'}, not text", place=name, remedy="name a text file"
        )


def _is_text(head: bytes) -> bool:
    """Whether the first bytes are UTF-8 without NUL, up to a character cut in two at their end."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\0" not in head


def _looks_like_utf16(head: bytes) -> bool:
    """Whether nearly every second byte is NUL, as in UTF-16 of a Latin script without a mark."""
    half = len(head) // 2
    zeros = sorted((head[0 : 2 * half : 2].count(0), head[1 : 2 * half : 2].count(0)))
    return half >= 2 and zeros[0] <= half / 20 and zeros[1] >= half * 0.7


def _suggestion(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent} either"
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else "check the path"
