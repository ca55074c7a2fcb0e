"""Every error that Seqloom raises on purpose, each with its exit code and HTTP status.

    SeqloomError                     our own bug unless it is one of these
    ├── ConfigError        exit 2    a wrong option, command line or request
    ├── DataError          exit 3    a file that is missing, malformed or empty
    │   ├── InputError     exit 3    one of many inputs that cannot be read
    │   └── RowError       exit 3    a row of a table that cannot be used
    ├── RunError           exit 4    a run directory that cannot be read, written or locked
    ├── DivergedError      exit 5    training left the finite numbers
    ├── LimitError         exit 6    a size, time or count beyond what is allowed
    └── Interrupted        exit 130  stopped by a signal, with everything saved

A message is one sentence that names the place, what is wrong and what to do about it.
"""

from typing import ClassVar

__all__ = [
    "ConfigError",
    "DataError",
    "DivergedError",
    "InputError",
    "Interrupted",
    "LimitError",
    "RowError",
    "RunError",
    "SeqloomError",
]


class SeqloomError(Exception):
    """The root of the tree; catching it catches everything a user can cause."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500


class ConfigError(SeqloomError):
    """An option, a command line or a request that cannot be carried out."""

    exit_code = 2
    http_status = 422


class DataError(SeqloomError):
    """Data that cannot be read as told; the message starts with its place."""

    exit_code = 3
    http_status = 422


class InputError(DataError):
    """One of many inputs that cannot be read, by its number from 1; a file has it as its line."""

    def __init__(self, line: int, wrong: str) -> None:
        """`wrong` says what is wrong with it and what to do."""
        super().__init__(f"line {line}: {wrong}")
        self.line = line
        self.wrong = wrong


class RowError(DataError):
    """A row of a table that cannot be used: the name of the table, its line, and what is wrong."""

    def __init__(self, file: str, line: int, wrong: str) -> None:
        """`wrong` says what is wrong with it and what to do."""
        super().__init__(f"{file}:{line}: {wrong}, or pass --skip-bad")
        self.line = line
        self.wrong = wrong


class RunError(SeqloomError):
    """A run directory that is missing, damaged, locked or full."""

    exit_code = 4
    http_status = 503


class DivergedError(SeqloomError):
    """A loss, gradient or weight that is no longer a finite number."""

    exit_code = 5


class LimitError(SeqloomError):
    """Something larger than the configured limits allow."""

    exit_code = 6
    http_status = 422


class Interrupted(SeqloomError):
    """A signal ended the work; what was done is saved."""

    exit_code = 130
    http_status = 503
