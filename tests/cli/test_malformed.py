"""RELIABILITY B1 at the commands: twenty kinds × check, train, predict × strict, skipping."""

from pathlib import Path

import pytest
import tomli_w

from seqloom.data import Corpus
from tests.cli.support import Command
from tests.data.malformed import KINDS, MAX_LINE, Kind, flagged
from tests.runs.finished import make_run
from tests.runs.support import options

pytestmark = pytest.mark.faults
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
each_way = pytest.mark.parametrize("skip_bad", [False, True], ids=["strict", "skip"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads lines of at most MAX_LINE bytes."""
    path = make_run(tmp_path_factory.mktemp("run"))
    config = path / "config.toml"
    config.write_text(config.read_text().replace("max_line = 1000000", f"max_line = {MAX_LINE}"))
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reading(kind: Kind, *, skip_bad: bool) -> list[str]:
    """The options that make a command read the kind as it is meant to be read."""
    chosen = options(updates=1)
    chosen["data"] = {"max_line": MAX_LINE, "valid_share": 0.5}
    assignments = [
        f"{table}.{name}={tomli_w.dumps({'v': value})[4:].strip()}"
        for table in ("data", "training")
        for name, value in chosen[table].items()
    ]
    assignments += [
        f"model.{side}.{name}={value}"
        for side in ("encoder", "decoder")
        for name, value in chosen["model"][side].items()
    ]
    assignments += ["model.embedding=8"]
    source, target = kind.columns
    return [
        *(word for assignment in assignments for word in ("--set", assignment)),
        *("--source", source, "--target", target),
        *(["--skip-bad"] if skip_bad else []),
    ]


@each_kind
@each_way
def test_check(kind: Kind, command: Command, *, skip_bad: bool) -> None:
    """All that is dropped, and where; exit 3 if training would stop there, or cannot start."""
    kind.lay_out()
    expected = kind.rows(skip_bad=True)
    result = command("check", kind.data, *reading(kind, skip_bad=skip_bad))
    if expected.sentence is not None:
        assert (result.code, result.sentence) == (3, flagged(expected.sentence))
        return
    assert result.code == (0 if skip_bad else 3), result.err
    assert skip_bad or "--skip-bad to train without" in result.sentence
    assert f"rows kept: {len(expected.kept)}\n" in result.out
    for reason, (number, place) in expected.dropped.items():
        assert f"  {number} × {reason}, first at {place}\n" in result.out


@each_kind
@each_way
def test_train(kind: Kind, command: Command, *, skip_bad: bool) -> None:
    """The sentence, exit 3 and no run; or a run on exactly the rows kept, and what was dropped."""
    kind.lay_out()
    expected = kind.rows(skip_bad=skip_bad)
    result = command("train", kind.data, "--run", "run", *reading(kind, skip_bad=skip_bad))
    if expected.sentence is not None:
        assert (result.code, result.sentence) == (3, flagged(expected.sentence))
        assert not Path("run/config.toml").exists()
        return
    if len(expected.kept) < 2:
        assert result.code == 3
        assert "nothing can be held out" in result.sentence
        return
    assert result.code == 0, result.err
    rows = sum(len(Corpus.open(Path("run/cache", side))) for side in ("train", "valid"))
    assert rows == len(expected.kept)
    for reason, (number, place) in expected.dropped.items():
        assert f"{number} × {reason}, first at {place}" in result.err


@each_kind
@each_way
def test_predict(kind: Kind, run: Path, command: Command, *, skip_bad: bool) -> None:
    """One line for each line read; on a sentence, exit 3 and a line for each before it."""
    kind.lay_out()
    expected = kind.lines(skip_bad=skip_bad)
    arguments = ["--search", "greedy", *(["--skip-bad"] if skip_bad else [])]
    result = command("predict", run, kind.input, *arguments)
    written = result.out.split("\n")[:-1]
    if expected.sentence is not None:
        assert (result.code, result.sentence) == (3, flagged(expected.sentence))
        assert len(written) == len(expected.lines)
        return
    assert result.code == 0, result.err
    assert len(written) == len(expected.lines)
    for line, read in zip(written, expected.lines, strict=True):
        assert (line == "") == (read.strip() == "") or read.strip()
    for reason, (number, place) in expected.dropped.items():
        assert f"{number} × {reason}, first at {place}" in result.err
