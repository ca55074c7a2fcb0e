"""RELIABILITY A2 before the first update: a preparation that is killed goes on where it was."""

import os
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from seqloom.api.train import train
from seqloom.config import DataConfig
from seqloom.data.blocks import building
from seqloom.errors import Interrupted
from seqloom.readers import blocks
from seqloom.runs.progress import Plan, SilentObserver
from seqloom.surveys import survey_mark
from tests.counts import count
from tests.runs.support import PAIRS, assert_same, interrupt, options, sitting, write_pairs

PHASES = [
    "reading the data",
    "learning the vocabulary",
    "encoding the training rows",
    "computing checksums",
]


class Prepared(Exception):
    """Ends a training where its updates would begin."""


class Phases(SilentObserver):
    """Notes each report of progress, and acts at one of them."""

    def __init__(self, at: int = -1, action: Callable[[], None] = interrupt) -> None:
        self.told: list[tuple[str, float]] = []
        self.warnings: list[str] = []
        self._at, self._action = at, action

    def on_progress(self, phase: str, share: float) -> None:
        self.told.append((phase, share))
        if len(self.told) == self._at:
            self._action()

    def on_warning(self, sentence: str) -> None:
        self.warnings.append(sentence)

    def on_start(self, plan: Plan) -> None:
        raise Prepared


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 300)
    monkeypatch.setattr(building, "DURABLE_EVERY", 0.0)
    monkeypatch.setattr(import_module("seqloom.surveys.survey"), "SAMPLE", 50)


@pytest.fixture(params=["text", "label"])
def task(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, Any]]:
    """Pairs of which each source has a word of its own, in two shards; and their options."""
    chosen = options(updates=1)
    for number in range(2):
        rows = [f"wort{row} und noch {row % 7}" for row in range(number * 60, number * 60 + 60)]
        targets = [row.split()[-1] if request.param == "label" else row[::-1] for row in rows]
        lines = (f"{source}\t{target}\n" for source, target in zip(rows, targets, strict=True))
        (tmp_path / f"rows-{number}.tsv").write_text("".join(lines))
    if request.param == "label":
        chosen["target"] = {"kind": "label"}
        del chosen["model"]["decoder"]
        del chosen["search"]
    return f"{tmp_path}/rows-*.tsv", chosen


def prepare(task: tuple[str, dict[str, Any]], run: Path, watch: Phases) -> list[tuple[str, float]]:
    """Prepare to the end; what was told."""
    with pytest.raises(Prepared):
        train(task[0], run, options=task[1], watch=watch)
    return watch.told


def prepared_files(run: Path) -> dict[str, bytes]:
    """All that a preparation leaves, but for what is only there to go on from."""
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file() and not {"lock", "survey", "vocabulary"} & {*path.relative_to(run).parts}
    }


def blocks_of(told: list[tuple[str, float]], phase: str) -> list[float]:
    """The shares of a phase that blocks told."""
    return [share for name, share in told if name == phase and share > 0]


def test_a_kill_at_any_report_changes_nothing(
    task: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    """SIGKILL or a signal to stop, in every phase: the same bytes in the end, and no block of the
    survey is looked at twice."""
    prepare(task, tmp_path / "first", Phases())  # after which the hashes of the files are known
    whole = prepare(task, tmp_path / "whole", Phases())
    expected = prepared_files(tmp_path / "whole")
    assert list(dict.fromkeys(name for name, _ in whole)) == PHASES
    surveyed = len(blocks_of(whole, PHASES[0]))
    assert surveyed > 6
    assert len(blocks_of(whole, PHASES[2])) > 6
    for number in range(1, len(whole) + 1, count(3, 1)):
        run = tmp_path / f"broken-{number}"
        if number % 2:
            with pytest.raises(Interrupted):
                train(task[0], run, options=task[1], watch=Phases(number))
        else:
            _kill(task, run, number)
        before = len(blocks_of(whole[:number], PHASES[0]))
        told = prepare(task, run, Phases())
        assert prepared_files(run) == expected
        assert len(blocks_of(told, PHASES[0])) <= surveyed - min(before, surveyed - 2) + 1


def _kill(task: tuple[str, dict[str, Any]], run: Path, number: int) -> None:
    """Prepare in a process that is killed when something is told for this time."""
    child = os.fork()
    if not child:
        end = Phases(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
        try:
            train(task[0], run, options=task[1], watch=end)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


def test_changed_data_are_prepared_anew(task: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """Nothing of what was kept of other rows is used."""
    whole = prepare(task, tmp_path / "other", Phases())
    phases = [name for name, _ in whole]
    for phase in PHASES:
        run = tmp_path / phase.replace(" ", "-")
        with pytest.raises(Interrupted):
            train(task[0], run, options=task[1], watch=Phases(phases.index(phase) + 2))
    first = tmp_path / "rows-0.tsv"
    first.write_text(first.read_text().replace("noch", "doch"))
    prepare(task, tmp_path / "new", Phases())
    for phase in PHASES:
        prepare(task, tmp_path / phase.replace(" ", "-"), Phases())
        found = prepared_files(tmp_path / phase.replace(" ", "-"))
        assert found == prepared_files(tmp_path / "new")


@pytest.mark.parametrize("kind", ["text", "label"])
def test_a_changed_vocabulary_file_is_read_anew(kind: str, tmp_path: Path) -> None:
    """What was kept of the symbols that it listed before is not used."""
    data, listed = tmp_path / "rows.tsv", tmp_path / "listed.txt"
    data.write_text("".join(f"wort {row}\t{'abc'[row % 3]}\n" for row in range(60)))
    chosen = options(updates=1)
    unit = {"unit": "character"} if kind == "text" else {}
    chosen["target"] = {"kind": kind, "vocabulary": str(listed), **unit}
    if kind == "label":
        del chosen["model"]["decoder"]
        del chosen["search"]
    listed.write_text("a\nb\nc\n")
    told = prepare((str(data), chosen), tmp_path / "first", Phases())
    encoding = [name for name, _ in told].index(PHASES[2])
    with pytest.raises(Interrupted):
        train(str(data), tmp_path / "run", options=chosen, watch=Phases(encoding + 1))
    listed.write_text("c\nb\na\nd\n")
    prepare((str(data), chosen), tmp_path / "run", Phases())
    prepare((str(data), chosen), tmp_path / "new", Phases())
    assert prepared_files(tmp_path / "run") == prepared_files(tmp_path / "new")
    assert prepared_files(tmp_path / "run") != prepared_files(tmp_path / "first")


def test_another_version_surveys_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version may find other things in a block, or learn another vocabulary."""
    (tmp_path / "rows.tsv").write_text("a\tb\n")
    data, config = str(tmp_path / "rows.tsv"), DataConfig()
    before = survey_mark(data, config, seed=1)
    assert survey_mark(data, config, seed=1) == before
    monkeypatch.setattr(import_module("seqloom.surveys.findings"), "__version__", "0.0.0")
    assert survey_mark(data, config, seed=1) != before


def test_nothing_is_kept_when_the_first_step_is_saved(
    task: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    train(task[0], tmp_path / "run", options=task[1])
    assert {path.name for path in (tmp_path / "run" / "cache").iterdir()} == {"train", "valid"}


def test_a_corpus_without_rows_is_told_of(tmp_path: Path) -> None:
    """Each time, by its name; one of share 0 is not missed."""
    write_pairs(tmp_path / "a.tsv", PAIRS)
    write_pairs(tmp_path / "b.tsv", PAIRS[:9])
    (tmp_path / "long.tsv").write_text(f"{'word ' * 300}\tt\n")
    parts = (f"{tmp_path}/{part}" for part in ("a.tsv:1", "long.tsv:1", "b.tsv:1"))
    data, chosen = ",".join(parts), options(updates=1)
    for _ in range(2):
        watch = Phases()
        prepare((data, chosen), tmp_path / "run", watch)
        (warning,) = watch.warnings
        assert f"no row of {tmp_path}/long.tsv is left to learn from" in warning
    watch = Phases()
    prepare((data.replace("long.tsv:1", "long.tsv:0"), chosen), tmp_path / "other", watch)
    assert watch.warnings == []


def test_mixed_corpora_go_on_exactly(tmp_path: Path) -> None:
    """Which rows a pass has is a function of the seed and the pass: a run that is stopped ends with
    the same bits, and its updates see the corpora in their shares."""
    write_pairs(tmp_path / "a.tsv", PAIRS[:40])
    write_pairs(tmp_path / "b.tsv", PAIRS[40:])
    data = f"{tmp_path}/a.tsv:0.2,{tmp_path}/b.tsv:0.8"
    chosen = options(updates=12, validate_every=4)
    train(data, tmp_path / "whole", options=chosen)
    for stop in (5, 9, 12):
        sitting(tmp_path / "run", chosen, until=stop, data=data)
    assert_same(tmp_path / "run", tmp_path / "whole")
