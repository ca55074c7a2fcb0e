"""Errors of the operating system as errors with a remedy."""

import errno
import re

from seqloom.errors import DataError, LimitError, SeqloomError

__all__ = ["SYSTEM_ERRORS", "system_error"]

SYSTEM_ERRORS = (OSError, MemoryError, RuntimeError, ImportError)
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
OPEN_FILES = {errno.EMFILE, errno.ENFILE}
MEMORY = re.compile(r"allocate memory|bad_alloc|failed to map segment|out of memory", re.IGNORECASE)
THREADS = re.compile(r"can't start new thread|Resource temporarily unavailable")


def system_error(error: BaseException) -> SeqloomError | None:
    """The matching user error; None if the exception is a bug."""
    number = error.errno if isinstance(error, OSError) else None
    text = str(error)
    if number in FULL:
        place = getattr(error, "filename", None) or "standard output"
        reason = getattr(error, "strerror", None) or text
        return DataError(
            f"cannot be written ({reason})",
            place=str(place),
            remedy="free space or write elsewhere",
        )
    if number in OPEN_FILES or "Too many open files" in text:
        return LimitError("too many files are open", remedy="raise the limit (ulimit -n)")
    if isinstance(error, MemoryError) or number == errno.ENOMEM or MEMORY.search(text):
        return LimitError(
            "there is not enough memory; what was saved stays",
            remedy="free some, raise the limit (ulimit -v), or make batches and model smaller",
        )
    if THREADS.search(text):
        return LimitError("no more threads can be started", remedy="raise the limit (ulimit -u)")
    return None
