"""Commands as a shell would run them, in this process and with one thread."""

import io
import os
import signal
import sys
from collections.abc import Iterator

import pytest
import torch

from seqloom.cli import main
from tests.cli.support import Command, Result


@pytest.fixture(autouse=True, scope="package")
def one_core() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda _: {0})
        yield
    torch.set_num_threads(before)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
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
