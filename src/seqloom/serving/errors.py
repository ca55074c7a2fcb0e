"""What can go wrong with a request beside what is wrong in it."""

from seqloom.errors import ConfigError, LimitError, RunError, SeqloomError
from seqloom.remedies import Phrase, Place

__all__ = [
    "DeadlineExceeded",
    "MalformedRequest",
    "ProcessLost",
    "QueueFull",
    "RequestCancelled",
    "RequestRefused",
    "ServerStopping",
    "UnknownModel",
    "error_classes",
    "retry_after",
]


class DeadlineExceeded(SeqloomError):
    """A request that took longer than its deadline allows."""

    http_status = 504
    code = "deadline"


class RequestCancelled(SeqloomError):
    """A request whose client has gone."""

    http_status = 499
    code = "cancelled"


class ProcessLost(SeqloomError):
    """A process that has ended before its time."""

    http_status = 503
    code = "process"
    retry_after = 1


class QueueFull(LimitError):
    """More requests wait than the queue may hold."""

    http_status = 429
    code = "queue"
    retry_after = 1


class ServerStopping(RunError):
    """A request that comes when nothing more is taken on."""

    http_status = 503
    code = "stopping"


class UnknownModel(ConfigError):
    """A model that this server does not have."""

    http_status = 404
    code = "model"


class MalformedRequest(ConfigError):
    """A body that is not JSON."""

    http_status = 400
    code = "malformed"


class RequestRefused(SeqloomError):
    """A request that goes no further, with its status."""

    code = "refused"

    def __init__(
        self, problem: str, *, status: int = 400, place: Place = "", remedy: Phrase = ""
    ) -> None:
        super().__init__(problem, place=place, remedy=remedy)
        self.http_status = status
        if status in (429, 503):
            self.retry_after = 1


def retry_after(error: SeqloomError) -> int | None:
    """The seconds after which the same request may be taken, where waiting helps."""
    seconds: int | None = getattr(error, "retry_after", None)
    return seconds


def error_classes() -> dict[str, type[SeqloomError]]:
    """Every kind of error that is defined so far, by its code; the more general of two is first."""
    found: dict[str, type[SeqloomError]] = {}
    waiting: list[type[SeqloomError]] = [SeqloomError]
    while waiting:
        kind = waiting.pop(0)
        found.setdefault(kind.code, kind)
        waiting += kind.__subclasses__()
    return found
