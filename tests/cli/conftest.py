"""Commands as a shell would run them, in this process."""

import io
import signal
import sys

import pytest

from seqloom.cli.app import main
from tests.cli.support import Command, Result


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
