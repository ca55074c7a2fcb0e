"""The toy parts, registered for a module of tests, and runs that were trained with them once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seqloom.api.train import train
from tests.cli.support import Command, command_runner
from tests.extending.support import RUNS, toy_parts


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_runner(monkeypatch, capsys)


@pytest.fixture(scope="module")
def parts() -> Iterator[Any]:
    with toy_parts() as found:
        yield found


@pytest.fixture(scope="module")
def runs(parts: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("extending")
    for name, (rows, options, *_) in RUNS.items():
        data = folder / f"{name}.arrows"
        data.write_text("".join(f"{source} -> {target}\n" for source, target in rows))
        train(data, folder / name, options=options)
    return {name: folder / name for name in RUNS}
