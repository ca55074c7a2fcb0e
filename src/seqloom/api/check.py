"""What is in the data, what training would make of it, and how long that takes here."""

from collections.abc import Iterator

from seqloom.runs.request import TrainingRequest
from seqloom.tasks import task_of_options

__all__ = ["check_data"]


def check_data(request: TrainingRequest) -> Iterator[str]:
    """Findings as lines of text, in the order they become known.

    DataError at the end where training would stop at a bad row; here all of them are counted first.
    """
    return task_of_options(request).check_data(request)
