"""Reading files that anyone may have written: plain, bounded and parsed without trust."""

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from seqloom.errors import RunError
from seqloom.store.durable import run_errors

__all__ = ["LARGEST_JSON", "encode_json", "open_plain", "parse_json", "read_plain"]

LARGEST_JSON = 1 << 20
DEEPEST_JSON = 32

# Possessive and always matching, so that an unclosed string costs one pass and not one per quote.
STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
BRACKET = re.compile(rb"[][{}]")


@contextmanager
def open_plain(path: Path) -> Iterator[BinaryIO]:
    """A plain file to read; links, pipes and devices are refused, and never waited for."""
    with run_errors(path):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(path, flags)
        with os.fdopen(handle, "rb") as file:
            if not S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.ENXIO, "not a plain file")
            yield file


def read_plain(path: Path, *, limit: int = LARGEST_JSON) -> bytes:
    """All of a plain file, which may not be larger than the limit."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise RunError(
                f"{size} bytes are more than the {limit} allowed",
                place=path,
                remedy="restore the file",
            )
        return file.read(limit)


def parse_json(data: bytes, place: Path | str) -> dict[str, Any]:
    """The JSON object in these bytes; refuses what is too deep before parsing it."""
    if len(data) > LARGEST_JSON or _depth(data) > DEEPEST_JSON:
        raise RunError(
            "JSON too large or too deep to be ours", place=place, remedy="restore the file"
        )
    try:
        value = json.loads(data)
    except ValueError as error:
        raise RunError(f"not JSON ({error})", place=place, remedy="restore the file") from error
    if not isinstance(value, dict):
        raise RunError("expected a JSON object", place=place, remedy="restore the file")
    return value


def _depth(data: bytes) -> int:
    deepest = depth = 0
    for bracket in BRACKET.finditer(STRING.sub(b"", data)):
        depth += 1 if bracket[0] in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > DEEPEST_JSON:
            break
    return deepest


def encode_json(value: dict[str, Any], *, indent: int | None = None) -> bytes:
    """A JSON object as bytes; a number that is not finite is a ValueError."""
    # What UTF-8 cannot hold, half a surrogate pair, becomes the escape that JSON has for it.
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace") + b"\n"
