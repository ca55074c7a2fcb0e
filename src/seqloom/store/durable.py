"""Files of a run: written so that they outlive the process, and read without trust.

Whatever the store writes goes through the few operations here. `observe` is the seam for fault
tests: it is called before each operation, with its name and path, and may count it, raise an
OSError in its place, or kill the process. What is read may have been written by anyone: it is
plain, bounded, and parsed with care.
"""

import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from seqloom.errors import RunError
from seqloom.remedies import Phrase, Remedy, Setting

__all__ = [
    "LARGEST_JSON",
    "append",
    "encode_json",
    "make_directory",
    "no_observer",
    "observe",
    "open_descriptor",
    "open_plain",
    "parse_json",
    "read_plain",
    "remove_tree",
    "rename",
    "run_errors",
    "sync_directory",
    "sync_tree",
    "write_file",
]

CHUNK = 1 << 20
# What a system does not have is 0: Windows has no O_NOFOLLOW, and only Windows has O_BINARY.
GUARDS = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))

ALLOW = Remedy("allow this user to write there, or choose another directory for {}", Setting("run"))
OPEN_MORE = "raise the limit on open files (ulimit -n) and run the same command again"
CURES: Mapping[int, Phrase] = {
    errno.ENOSPC: "free some space and run the same command again",
    errno.EDQUOT: "free some space and run the same command again",
    errno.EACCES: ALLOW,
    errno.EPERM: ALLOW,
    errno.EROFS: Remedy("choose a directory for {} on a disk that can be written", Setting("run")),
    errno.EFBIG: "raise the limit on the size of files (ulimit -f) and run the same command again",
    errno.EMFILE: OPEN_MORE,
    errno.ENFILE: OPEN_MORE,
    errno.EIO: "check the disk, then run the same command again",
    errno.ELOOP: "put the file itself in place of the symbolic link",
    errno.ENXIO: "put a plain file in its place",
    errno.ENOENT: "check that nothing else removes files of this run",
    errno.ENOTDIR: Remedy("choose a directory for {} that is not inside a file", Setting("run")),
}

SYNCED = os.O_RDWR if os.name == "nt" else os.O_RDONLY  # Windows syncs only what it may write


def no_observer(operation: str, path: Path) -> None:
    """No test is watching."""


observe: Callable[[str, Path], None] = no_observer


@contextmanager
def run_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into a RunError of one sentence with a cure."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        cure = CURES.get(error.errno or 0, "check the path and its permissions")
        raise RunError(reason, place=path, remedy=cure) from error


def make_directory(path: Path) -> None:
    """Make one directory that was not there."""
    observe("make", path)
    path.mkdir()


def open_descriptor(path: Path, flags: int) -> int:
    """Open a file: no link is followed, no pipe waited for, and no child process inherits it."""
    if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return os.open(path, flags | GUARDS, 0o666)


def write_file(path: Path, data: bytes) -> None:
    """Write a file that was not there and wait until the disk has it."""
    observe("open", path)
    handle = open_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        _write(handle, data, path)
        observe("sync", path)
        os.fsync(handle)
    finally:
        os.close(handle)


def append(path: Path, data: bytes) -> None:
    """Add bytes to the end of a plain file, making it if need be; the disk may have them later."""
    observe("open", path)
    handle = open_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        _write(handle, data, path)
    finally:
        os.close(handle)


def _write(handle: int, data: bytes, path: Path) -> None:
    rest = memoryview(data)
    while rest:
        observe("write", path)
        rest = rest[os.write(handle, rest[:CHUNK]) :]


def sync_directory(path: Path) -> None:
    """Wait until the disk has the names in a directory, where the system can be asked for that."""
    observe("sync", path)
    if not hasattr(os, "O_DIRECTORY"):
        return  # Windows opens no directories; its file system keeps a journal of names
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(path: Path) -> None:
    """Wait until the disk has every plain file and every name below a directory."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            observe("sync", Path(folder, name))
            handle = open_descriptor(Path(folder, name), SYNCED)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        sync_directory(Path(folder))


def rename(old: Path, new: Path) -> None:
    """Give a file or directory another name at once, in place of a file of that name."""
    observe("rename", new)
    old.replace(new)


def remove_tree(path: Path) -> None:
    """Remove a file, a link or a directory with all in it, if it is there; follow no link."""
    folders = []
    pending = [path] if os.path.lexists(path) else []
    while pending:
        entry = pending.pop()
        if entry.is_dir() and not entry.is_symlink():
            folders.append(entry)
            pending.extend(sorted(entry.iterdir()))
        else:
            observe("remove", entry)
            entry.unlink()
    for folder in reversed(folders):
        observe("remove", folder)
        folder.rmdir()


LARGEST_JSON = 1 << 20
DEEPEST_JSON = 32

# Possessive and always matching, so that an unclosed string costs one pass and not one per quote.
STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
BRACKET = re.compile(rb"[][{}]")


@contextmanager
def open_plain(path: Path) -> Iterator[BinaryIO]:
    """A plain file to read; links, pipes and devices are refused, and never waited for."""
    with run_errors(path):
        handle = open_descriptor(path, os.O_RDONLY)
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
