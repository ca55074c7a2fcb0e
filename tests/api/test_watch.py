"""A training that is looked at and asked to save or stop from another process."""

from pathlib import Path
from typing import ClassVar

import pytest

from seqloom.api.train import train
from seqloom.api.watch import RunMonitor
from seqloom.errors import ConfigError, Interrupted
from seqloom.runs.progress import SilentObserver
from seqloom.store import EventTail, RunDirectory
from seqloom.training import Update
from tests.runs.support import PAIRS, assert_same, at, last, options, trained


def test_a_request_to_stop_saves_and_ends(tmp_path: Path) -> None:
    """Going on ends in the bits of a run that was never stopped."""
    run, whole = tmp_path / "run", tmp_path / "whole"
    watch = at(5, lambda: RunMonitor(run).request("stop"))
    with pytest.raises(Interrupted, match="step 5 is saved"):
        train(PAIRS, run, options=options(), watch=watch)
    assert last(run).number == 5
    trained(run, options())
    trained(whole, options())
    assert_same(run, whole)


def test_a_request_to_save_changes_nothing_else(tmp_path: Path) -> None:
    """The step is there at once, and the run ends as if nobody had asked."""
    run, whole = tmp_path / "run", tmp_path / "whole"

    class Asking(SilentObserver):
        """Asks after the fifth update, and looks when it is told something."""

        seen: ClassVar[list[list[int]]] = []

        def on_update(self, update: Update) -> None:
            if update.step == 5:
                RunMonitor(run).request("save")

        def on_message(self, sentence: str) -> None:
            if RunDirectory(run).exists:
                self.seen.append([each.number for each in RunDirectory(run).checkpoints()])

    train(PAIRS, run, options=options(), watch=Asking())
    assert [4, 5] in Asking.seen
    trained(whole, options())
    assert_same(run, whole)


def test_a_request_that_nobody_took_is_gone(tmp_path: Path) -> None:
    """What was left for a training that had ended does not stop the next."""
    run = tmp_path / "run"
    trained(run, options(updates=4))
    RunMonitor(run).request("stop")
    train(PAIRS, run, options=options(updates=8))
    assert last(run).number == 8


def test_only_known_requests_are_left(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="save or stop"):
        RunMonitor(tmp_path).request("rm -rf")
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_says_of_itself(tmp_path: Path) -> None:
    """From before it is there to its last step: events, samples, and a step's insight."""
    monitor = RunMonitor(tmp_path / "run")
    assert monitor.state() == {"name": "run", "begun": False, "steps": []}
    assert monitor.events(0, 0)["events"] == []
    trained(tmp_path / "run", options("lstm", samples=2))
    state = monitor.state()
    assert state["begun"]
    assert state["updates"] == 12
    assert state["steps"][-1] == 12
    first = monitor.events(0, 0)
    checked = [each for each in first["events"] if each["event"] == "validation"]
    assert [each["step"] for each in checked] == [4, 8, 12]
    assert all(len(each["samples"]) == 2 for each in checked)
    assert {"source", "reference", "output"} == set(checked[0]["samples"][0])
    assert monitor.events(first["generation"], len(first["events"]))["events"] == []
    insight = monitor.insight(12)
    assert insight is not None
    assert insight.source in {source for source, _ in PAIRS}
    assert insight.pictures
    assert insight.pictures[0].startswith("<svg")
    gates = {gate["name"] for unit in insight.gates for gate in unit["gates"]}
    assert gates == {"input", "forget", "output"}
    assert monitor.insight(99) is None


def test_a_diary_is_read_as_it_grows_and_anew_where_it_was_cut(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    tail = EventTail(tmp_path / "events.jsonl")
    tail.refresh()
    assert tail.events == []
    for step in range(5):
        run.append_event({"step": step})
        tail.refresh()
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"step": 9')  # half a line, which is not an event yet
    tail.refresh()
    assert [each["step"] for each in tail.events] == list(range(5))
    assert tail.generation == 0
    with run.lock():
        run.truncate_events(2)
    run.append_event({"step": 3, "again": True})
    tail.refresh()
    assert [each["step"] for each in tail.events] == [0, 1, 2, 3]
    assert tail.events[-1]["again"]
    assert tail.generation == 1
