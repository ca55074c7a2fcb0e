"""Commands as a shell would run them, in this process."""

import pytest

from tests.cli.support import Command, command_runner


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_runner(monkeypatch, capsys)
