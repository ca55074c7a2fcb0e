"""Commands as a shell would run them, without the price of a new process."""

import io
import signal
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from seqloom.cli.app import main

__all__ = ["Command", "Result", "command_runner"]


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


def command_runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`seqloom` with arguments; whatever is not an exit is a traceback and fails the test."""

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["seqloom", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        before = signal.getsignal(signal.SIGPIPE)
        with pytest.raises(SystemExit) as ending:
            main()
        signal.signal(signal.SIGPIPE, before)
        code = ending.value.code
        result = Result(code if isinstance(code, int) else 0, *capsys.readouterr())
        assert "Traceback" not in result.err
        return result

    return run
