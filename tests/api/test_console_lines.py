"""The lines of progress that a preparation writes where there is no bar."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from seqloom.api import console


def lines_of(
    progress: Sequence[tuple[float, float]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """What is written of a phase whose shares are reported at these seconds."""
    now = 0.0
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: now))
    observer = console.Console()
    for seconds, share in progress:
        now = seconds
        observer.on_progress("reading", share)
    return capsys.readouterr().err.splitlines()


def test_the_time_left_is_that_of_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A share of 1 / 600 each second: 600 seconds from the beginning, and 300 from the middle."""
    steady = [(second, second / 600) for second in range(301)]
    found = lines_of(steady, monkeypatch, capsys)
    assert found[0] == "reading · 10% · about 9 min left"
    assert found[-1] == "reading · 50% · about 5 min left"
    assert len(found) == 5


def test_what_was_done_before_an_interruption_took_no_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half is done after two seconds, and the rest takes 600."""
    resumed = [(0, 0.0), (1, 0.05), *((2 + second, 0.5 + second / 1_200) for second in range(60))]
    assert lines_of(resumed, monkeypatch, capsys) == ["reading · 55% · about 9 min left"]


def test_without_progress_nothing_is_said_of_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither while nothing is known of the share, nor while it stands still."""
    unknown = [(0, 0.0), (61, 0.0), (62, 0.5), (90, 0.5), (95, 0.5), (125, 0.5)]
    found = lines_of(unknown, monkeypatch, capsys)
    assert found == ["reading · 1 min so far", "reading · 50%"]
