"""The few operations that outlive the process; whatever the store writes goes through them.

`observe` is the seam for fault tests: it is called before each operation, with its name and path,
and may count it, raise an OSError in its place, or kill the process.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from seqloom.errors import RunError
from seqloom.remedies import Phrase, Remedy, Setting

__all__ = [
    "append",
    "make_directory",
    "no_observer",
    "observe",
    "remove_tree",
    "rename",
    "run_errors",
    "sync_directory",
    "sync_tree",
    "write_file",
]

CHUNK = 1 << 20

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


def write_file(path: Path, data: bytes) -> None:
    """Write a file that was not there and wait until the disk has it."""
    observe("open", path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags, 0o666)
    try:
        _write(handle, data, path)
        observe("sync", path)
        os.fsync(handle)
    finally:
        os.close(handle)


def append(path: Path, data: bytes) -> None:
    """Add bytes to the end of a plain file, making it if need be; the disk may have them later."""
    observe("open", path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags, 0o666)
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
    """Wait until the disk has the names in a directory."""
    observe("sync", path)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(path: Path) -> None:
    """Wait until the disk has every plain file and every name below a directory."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            observe("sync", Path(folder, name))
            handle = os.open(Path(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        sync_directory(Path(folder))


def rename(old: Path, new: Path) -> None:
    """Give a file or directory another name at once, in place of a file of that name."""
    observe("rename", new)
    old.rename(new)


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
