"""What can become of a request that is neither wrong nor answered."""

from seqloom.errors import LimitError, RunError, SeqloomError

__all__ = ["DeadlineExceeded", "ProcessLost", "QueueFull", "RequestCancelled", "ServerStopping"]


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
