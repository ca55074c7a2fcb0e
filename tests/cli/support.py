"""Commands as a shell would run them, without the price of a new process."""

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Command", "Result"]


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """What it says when it fails: the last line, which begins with the command's name."""
        last = self.err.splitlines()[-1] if self.err else ""
        assert last.startswith("seqloom: "), self.err
        return last.removeprefix("seqloom: ")


Command = Callable[..., Result]
