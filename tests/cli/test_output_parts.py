"""An output file in parts: no line lost, none twice, whatever breaks and whoever shares it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.cli.commands.output_parts import OutputParts
from seqloom.cli.line_progress import count_lines
from tests.cli.support import Command
from tests.runs.finished import make_run

SOURCES = ["aei", "bfk", "", "cgl", "dhj"]
LINES = 9_001  # two whole blocks of 4,096 lines and one that is not


class Broken(Exception):
    """Ends the writing as a power cut would."""


def until(lines: list[str], last: int) -> Iterator[str]:
    """The lines up to one, and then no more."""
    for number, line in enumerate(lines):
        if number == last:
            raise Broken
        yield line


@settings(max_examples=60, deadline=None)
@given(
    total=st.integers(0, 40),
    block=st.integers(1, 9),
    world=st.integers(1, 3),
    breaks=st.lists(st.integers(0, 40), max_size=4),
)
def test_what_is_joined_is_what_was_written(
    total: int, block: int, world: int, breaks: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However often each rank breaks off, the file is every line once, in order; lines that are
    not wanted are blank, and no block is decoded twice."""
    output = tmp_path_factory.mktemp("parts") / "out"
    lines = [f"line {number}" for number in range(total)]
    ranks = [OutputParts(output, block, rank, world) for rank in range(world)]
    ranks[0].folder.mkdir()
    decoded: list[str] = []
    for parts in reversed(ranks):
        for last in [*breaks, total]:
            wanted = list(parts.blank_finished(lines))
            decoded += [line for line in wanted[:last] if line]
            try:
                parts.write(until([line or "dropped" for line in wanted], last))
            except Broken:
                continue
        assert not any(parts.blank_finished(lines))
    ranks[0].join(total)
    assert output.read_text() == "".join(f"{line}\n" for line in lines)
    assert set(decoded) == set(lines)
    assert not ranks[0].folder.exists()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inputs") / "in.txt"
    path.write_text("".join(f"{SOURCES[n % len(SOURCES)]}\n" for n in range(LINES)))
    return path


def test_a_killed_command_goes_on(
    command: Command, run: Path, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after its first block, refused without --resume and with another search, and in the
    end the same draws as without a break, shared by two ranks."""
    output, words = tmp_path / "out", ["--search", "sample", "--seed", "3", "--output"]
    whole = command("predict", run, inputs, "--search", "sample", "--seed", "3")
    assert whole.code == 0, whole.err
    arguments = ["predict", str(run), str(inputs), *words, str(output)]
    process = subprocess.Popen([sys.executable, "-m", "seqloom", *arguments], env=os.environ)
    while not (tmp_path / "out.parts" / "0000000").exists():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not output.exists()

    refused = command(*arguments)
    assert (refused.code, "--resume" in refused.err) == (2, True)
    refused = command(*arguments, "--resume", "--seed", "4")
    assert (refused.code, "another search" in refused.err) == (2, True)
    for rank in (1, 0):
        for name, value in {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank}.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setenv("MASTER_ADDR", "localhost")
        monkeypatch.setenv("MASTER_PORT", "29500")
        assert command(*arguments, "--resume").code == 0
    assert output.read_text() == whole.out
    assert not (tmp_path / "out.parts").exists()


def test_what_needs_an_output_file(command: Command, run: Path, tmp_path: Path) -> None:
    """One sentence with the option to write."""
    result = command("predict", run, "--resume", stdin=b"aei\n")
    assert (result.code, "--output" in result.err) == (2, True)
    result = command("predict", run, "--output", tmp_path / "no" / "way" / "out", stdin=b"aei\n")
    assert result.code == 0, result.err
    assert (tmp_path / "no" / "way" / "out").read_text().count("\n") == 1
    (tmp_path / "file").touch()
    result = command("predict", run, "--output", tmp_path / "file" / "out", stdin=b"aei\n")
    assert (result.code, "cannot be written" in result.err) == (3, True)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "\n\n", "a\n" * 70_000 + "b"])
def test_lines_are_counted_as_predict_reads_them(text: str, tmp_path: Path) -> None:
    """The last line may have no newline."""
    path = tmp_path / "lines"
    path.write_text(text)
    assert count_lines(path) == len(text.splitlines())
