"""Every error that Seqloom raises on purpose, each with its exit code and HTTP status.

    SeqloomError                     our own bug unless it is one of these
    ├── ConfigError        exit 2    a wrong option, command line or request
    ├── DataError          exit 3    a file that is missing, malformed or empty
    │   └── LineError      exit 3    a line that cannot be used
    │       ├── InputError exit 3    one of many inputs that cannot be read
    │       └── RowError   exit 3    a row of a table that cannot be used
    ├── RunError           exit 4    a run directory that cannot be read, written or locked
    ├── DivergedError      exit 5    training left the finite numbers
    ├── LimitError         exit 6    a size, time or count beyond what is allowed
    └── Interrupted        exit 130  stopped by a signal, with everything saved

An error carries its place, its problem and its remedy; each front end makes one sentence of them in
its own terms (`seqloom.remedies`), and `str(error)` is that sentence for Python.
"""

from copy import copy
from typing import ClassVar, NamedTuple, Self

from seqloom.remedies import PYTHON, FileLocation, NestedPlace, Phrase, Place, Wording

__all__ = [
    "ConfigError",
    "DataError",
    "DivergedError",
    "ErrorParts",
    "InputError",
    "Interrupted",
    "LimitError",
    "LineError",
    "RowError",
    "RunError",
    "SeqloomError",
]


class ErrorParts(NamedTuple):
    """An error in the words of a front end; a part that there is nothing to say of is empty."""

    place: str
    problem: str
    remedy: str

    @property
    def sentence(self) -> str:
        """The whole: `place: problem; remedy`."""
        start = f"{self.place}: " if self.place else ""
        return start + "; ".join(part for part in (self.problem, self.remedy) if part)


class SeqloomError(Exception):
    """An error of Seqloom; catching it catches everything a user can cause."""

    exit_code: ClassVar[int] = 1
    http_status: int = 500
    code: ClassVar[str] = "internal"  # the kind of error, as HTTP answers name it

    def __init__(self, problem: str = "", *, place: Place = "", remedy: Phrase = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place
        self.remedy = remedy

    def parts(self, wording: Wording = PYTHON) -> ErrorParts:
        """Place, problem and remedy in the words of a front end."""
        return ErrorParts(wording.place(self.place), self.problem, wording.remedy(self.remedy))

    def at(self, place: Place) -> Self:
        """The same error with its place known, or, if it has one, with the place around it."""
        error = copy(self)
        error.place = NestedPlace(place, self.place) if self.place else place
        return error

    def __str__(self) -> str:
        return self.parts().sentence


class ConfigError(SeqloomError):
    """An option, a command line or a request that cannot be carried out."""

    exit_code = 2
    code = "config"
    http_status = 422


class DataError(SeqloomError):
    """Data that cannot be read as told; the message starts with its place."""

    exit_code = 3
    code = "data"
    http_status = 422


class LineError(DataError):
    """A line that cannot be used; its place is the line of a file, or of what was given."""

    code = "line"

    @property
    def line(self) -> int:
        """Its number, from 1."""
        return self.place.line if isinstance(self.place, FileLocation) else 0


class InputError(LineError):
    """One of many inputs that cannot be read, by its number from 1; a file has it as its line."""

    code = "input"


class RowError(LineError):
    """A row of a table that cannot be used."""

    code = "row"


class RunError(SeqloomError):
    """A run directory that is missing, damaged, locked or full."""

    exit_code = 4
    code = "run"
    http_status = 503


class DivergedError(SeqloomError):
    """A loss, gradient or weight that is no longer a finite number."""

    exit_code = 5
    code = "diverged"


class LimitError(SeqloomError):
    """Something larger than the configured limits allow."""

    exit_code = 6
    code = "limit"
    http_status = 422


class Interrupted(SeqloomError):
    """A signal ended the work; what was done is saved."""

    exit_code = 130
    code = "interrupted"
    http_status = 503
