"""Checksums of the files of a corpus by chunk, verified on first read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from numpy.typing import NDArray

from seqloom.errors import RunError

__all__ = ["CHUNK", "ChunkVerifier", "file_checksums"]

CHUNK = 1 << 20  # bytes per checksum


def file_checksums(path: Path) -> list[int]:
    """The CRC-32 of each chunk of a file."""
    with path.open("rb") as stream:
        return [crc32(chunk) for chunk in iter(lambda: stream.read(CHUNK), b"")]


class ChunkVerifier:
    """Verifies each chunk of a file once."""

    def __init__(self, path: Path, checksums: Sequence[int]) -> None:
        self._path = path
        self._checksums = checksums
        self._pending: set[int] = set(range(len(checksums)))

    def verify(self) -> None:
        """Verify all remaining chunks; RunError at the first that has changed."""
        if self._pending:
            self._verify_chunks(sorted(self._pending))

    def verify_ranges(self, starts: NDArray[Any], ends: NDArray[Any]) -> None:
        """Verify the chunks that contain these byte ranges."""
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
