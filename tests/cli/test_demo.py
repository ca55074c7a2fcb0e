"""`seqloom demo`: what a first visitor sees, with a model that is given no time to learn."""

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seqloom import datasets as builtin
from seqloom.demos import demo
from seqloom.demos.demo import DEMOS
from tests.cli.support import Command
from tests.runs.support import options


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Few dates, few updates, and nothing kept between tests."""
    chosen: dict[str, Any] = {**options(updates=2, validate_every=2), "data": {}}
    small = {name: replace(each, options=chosen) for name, each in demo.DEMOS.items()}
    few = {**builtin.BUILTIN, "dates": lambda: builtin.dates(train=200, held_out=40)}
    monkeypatch.setattr(demo, "DEMOS", small)
    monkeypatch.setattr(demo, "BUILTIN", few)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def check_shown(out: str, run: Path) -> None:
    """A table, a picture, a score, and what to type next."""
    assert "Held-out examples" in out
    assert "ISO 8601" in out
    assert "Where the model looked" in out
    assert (run / "attention.png").read_bytes().startswith(b"\x89PNG")
    assert str(run / "attention.png") in out
    assert "On 40 test pairs" in out
    assert "exact match" in out
    assert "BLEU" not in out
    for typed in ("predict", "evaluate", "describe", "train"):
        assert f"seqloom {typed} " in out


def test_dates(command: Command, tmp_path: Path) -> None:
    result = command("demo", "dates", "--run", tmp_path / "dates")
    assert result.code == 0, result.err
    check_shown(result.out, tmp_path / "dates")


def test_the_second_time_nothing_is_trained(command: Command) -> None:
    first = command("demo", "dates")
    again = command("demo", "dates")
    assert (first.code, again.code) == (0, 0)
    assert "going on after update 2" in again.err
    check_shown(again.out, Path("runs/demo-dates"))


@pytest.mark.parametrize(("name", "kind"), [("languages", "label"), ("parts", "tags")])
def test_labels_and_tags(
    command: Command, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    """A table, scores beside their baseline, and alternatives in place of N-best."""
    hasty = {**options(updates=2, validate_every=2), "data": {}, "search": {}}
    stack = hasty["model"]["encoder"]
    chosen = {**hasty, "target": {"kind": kind}, "model": {"embedding": 8, "encoder": stack}}
    if kind == "tags":
        chosen["source"] = {"unit": "symbol", "spelling": 0}
    monkeypatch.setattr(demo, "DEMOS", {name: replace(demo.DEMOS[name], options=chosen)})
    few = {name: lambda: getattr(builtin, name)(train=100, held_out=40)}
    monkeypatch.setattr(demo, "BUILTIN", few)
    result = command("demo", name)
    assert result.code == 0, result.err
    assert "Held-out examples" in result.out
    assert "On 40 test pairs" in result.out
    assert "baselines" in result.out
    assert f"predict runs/demo-{name} --json --alternatives 3" in result.out
    assert demo.DEMOS[name].example in result.out


HASTY = {
    "sizes": ("R²", {"target": {"kind": "number"}}),
    "places": ("it invented them", {"source": {"kind": "label"}}),
    "counting": ("grams: perplexity", {"source": {"kind": "none"}, "data": {"target": "target"}}),
    "missing": (
        "two-sided bigrams",
        {
            "source": {"unit": "symbol"},
            "target": {"kind": "blanks"},
            "data": {"source": "target", "target": "target"},
        },
    ),
}


@pytest.mark.parametrize("name", HASTY)
def test_every_pair_of_fields_has_a_demo(
    command: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """S8: numbers, labels to text, language models and gaps show rows, scores, and what to type."""
    said, kinds = HASTY[name]
    chosen = {**kinds, "training": {"updates": 2, "validate_every": 2, "curves": False}}
    monkeypatch.setattr(demo, "DEMOS", {name: replace(DEMOS[name], options=chosen)})
    few = {name: lambda: getattr(builtin, name)(held_out=20)}
    monkeypatch.setattr(demo, "BUILTIN", few)
    result = command("demo", name)
    assert result.code == 0, result.err
    assert "Held-out examples" in result.out
    assert "On 20 test pairs" in result.out
    assert said in result.out
    typed = f"echo '{DEMOS[name].example}' | seqloom predict runs/demo-{name}{DEMOS[name].flags}\n"
    assert typed in result.out


def test_without_an_index_the_other_demo_runs(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says in a sentence that the index cannot be reached, and shows dates."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{closed.getsockname()[1]}/index")
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        result = command("demo")
    assert result.code == 0, result.err
    assert "the demo that needs no download" in result.err
    check_shown(result.out, Path("runs/demo-dates"))
