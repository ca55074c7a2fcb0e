"""A log of findings by block, which survives interruptions.

Each entry is preceded by its length and the checksum of both. Anything after the last complete
entry is truncated when the file is opened again.
"""

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self
from zlib import crc32

__all__ = ["BlockLog"]

HEAD = struct.Struct("<QI")  # length and checksum; never all zeros, as in a file after a crash
LENGTH = struct.Struct("<Q")
LARGEST = 1 << 32  # bytes of an entry; a greater length is damaged


class BlockLog:
    """Binary entries in a file; entries of another pass, with another mark, are dropped."""

    def __init__(self, path: Path, mark: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        with ExitStack() as failing:
            self._stream = failing.enter_context(path.open("r+b" if path.exists() else "w+b"))
            if self._read() != mark.encode():
                self._stream.seek(0)
                self._stream.truncate()
                self.append(mark.encode())
            failing.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()

    def entries(self) -> Iterator[bytes]:
        """The entries of an interrupted pass, from which this one continues."""
        while (entry := self._read()) is not None:
            yield entry

    def append(self, entry: bytes) -> None:
        """Append an entry after the last one read or added."""
        self._stream.write(HEAD.pack(len(entry), _checksum(entry)) + entry)
        self._stream.flush()

    def remove(self) -> None:
        """Remove the file, even if the disk refuses what is still to be written."""
        try:
            self._stream.close()
        finally:
            self._path.unlink(missing_ok=True)

    def _read(self) -> bytes | None:
        """The next entry; None at the end or at an incomplete entry."""
        start = self._stream.tell()
        head = self._stream.read(HEAD.size)
        if len(head) == HEAD.size:
            length, checksum = HEAD.unpack(head)
            entry = self._stream.read(length) if length < LARGEST else b""
            if len(entry) == length and _checksum(entry) == checksum:
                return entry
        self._stream.seek(start)
        self._stream.truncate()
        return None


def _checksum(entry: bytes) -> int:
    """Of the length of an entry and of its bytes."""
    return crc32(entry, crc32(LENGTH.pack(len(entry))))
