"""Series on the command line: check, train, predict, evaluate, and what they refuse (S1.2)."""

import json
import math
import re
import shlex
from pathlib import Path

import pytest

from seqloom.api.describe import example_command
from seqloom.api.train import train
from tests.cli.support import Command

OPTIONS = {
    "data": {"target": "wave"},
    "source": {"window": 10},
    "target": {"kind": "series", "horizon": 3},
    "training": {"updates": 30},
}
SHORT = ["--set", "target.horizon=3", "--set", "source.window=10"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a series and a run that was trained on it."""
    folder = tmp_path_factory.mktemp("series")
    rows = [f"2026-01-{day:02d},{10 + math.sin(day):.4f},{day}" for day in range(1, 32)]
    rows += [f"2026-02-{day:02d},{10 + math.sin(31 + day):.4f},{31 + day}" for day in range(1, 29)]
    (folder / "a.csv").write_text("\n".join(["day,wave,line", *rows]) + "\n")
    train(folder / "a.csv", folder / "r", options=OPTIONS)
    return folder


def test_a_forecast_goes_on_after_the_file(place: Path, command: Command) -> None:
    """CSV with the next times; more steps on demand; JSON with quantiles; a picture."""
    told = command("predict", place / "r", place / "a.csv", "--picture", place / "p.png")
    lines = told.out.splitlines()
    assert lines[0] == "day,wave"
    assert [line.partition(",")[0] for line in lines[1:]] == [
        "2026-03-01",
        "2026-03-02",
        "2026-03-03",
    ]
    assert (place / "p.png").read_bytes().startswith(b"\x89PNG")
    longer = command("predict", place / "r", place / "a.csv", "--set", "target.horizon=5")
    assert longer.out.splitlines()[:4] == lines
    assert len(longer.out.splitlines()) == 6
    steps = command("predict", place / "r", place / "a.csv", "--json").out.splitlines()
    step = json.loads(steps[0])
    assert step["day"] == "2026-03-01"
    assert step["quantiles"]["0.1"]["wave"] <= step["quantiles"]["0.9"]["wave"]
    assert f"{step['mean']['wave']:.6g}" == lines[1].partition(",")[2]


def test_baselines_are_always_told(place: Path, command: Command) -> None:
    """Beside the model's errors, which say that they are standardised; each column on demand."""
    told = command("evaluate", place / "r", place / "a.csv", "--by-variate").out
    assert "seasonal naive" in told
    assert "linear (ridge): R²" in told
    assert "standardised|windows:47" in told
    assert "wave: MSE" in told
    found = json.loads(command("evaluate", place / "r", place / "a.csv", "--json").out)
    assert [each["name"] for each in found["scores"]] == ["R²", "MSE", "MAE", "MASE", "sMAPE"]
    assert set(found["variates"][0]) == {"name", "mse", "mae", "mae_own", "mase", "smape"}


def test_check_says_what_is_in_a_series(place: Path, command: Command) -> None:
    """Times, columns and windows; a gap is counted first and refused in the end."""
    told = command("check", place / "a.csv", "--target", "all:series", *SHORT)
    assert "times: day, every 1 day" in told.out
    assert "forecast: wave, line" in told.out
    lines = (place / "a.csv").read_text().splitlines()
    (place / "gap.csv").write_text("\n".join(lines[:20] + lines[21:]) + "\n")
    told = command("check", place / "gap.csv", "--target", "all:series", *SHORT)
    assert told.code == 3
    assert "1 × time that does not follow the one before" in told.out


def test_gaps_that_leave_no_window_are_named(place: Path, command: Command) -> None:
    """`check` tells it with the verdict, and `train` refuses it, both with what to do."""
    lines = (place / "a.csv").read_text().splitlines()
    kept = [line for number, line in enumerate(lines) if number % 12 or not number]
    (place / "gaps.csv").write_text("\n".join(kept) + "\n")
    asked = ("--target", "wave:series", *SHORT, "--skip-bad")
    told = command("check", place / "gaps.csv", *asked)
    assert "there is no training window, which takes 13 rows without a gap; fill in" in told.out
    told = command("train", place / "gaps.csv", *asked, "--run", place / "gappy")
    assert told.code == 3
    assert re.search(
        r"none of \d+ rows begins a whole window .* without a gap; fill in", told.sentence
    )


def test_the_command_to_try_reads_what_training_read(place: Path, command: Command) -> None:
    """A series with a gap was learnt from with --skip-bad, so that its forecast takes it too."""
    lines = (place / "a.csv").read_text().splitlines()
    (place / "one-gap.csv").write_text("\n".join(lines[:12] + lines[13:]) + "\n")
    asked = ("--target", "wave:series", *SHORT, "--skip-bad", "--set", "training.updates=2")
    told = command("train", place / "one-gap.csv", *asked, "--run", place / "one-gap")
    assert told.code == 0, told.err
    tried = example_command(place / "one-gap", str(place / "one-gap.csv"))
    picture = place / "forecast.png"
    told = command(*shlex.split(tried.replace("forecast.png", str(picture)))[1:])
    assert told.code == 0, told.err
    assert picture.is_file()


def test_what_makes_no_sense_is_refused(place: Path, command: Command) -> None:
    """One sentence with the cure."""
    mixed = ("--target", "wave:series", "--source", "1:text", "--run", place / "x")
    for words, sentence in (
        (("predict", place / "r"), "name its CSV file"),
        (("predict", place / "r", place / "a.csv", "--set", "search.beam=3"), "target.horizon"),
        (("train", place / "a.csv", *mixed), "a series is forecast from series alone"),
    ):
        told = command(*words)
        assert told.code == 2
        assert sentence in told.sentence


@pytest.mark.parametrize(
    "asked",
    [
        ["--search", "greedy"],
        ["--beam", 3],
        ["--prefix", "a"],
        ["--json", "--attention"],
        ["--json", "--n-best", 2],
        ["--length", 9],
    ],
)
def test_a_forecast_is_not_searched_for(
    place: Path, command: Command, asked: list[str | int]
) -> None:
    """Exit 2, rather than a forecast that passes over what was asked."""
    refused = command("predict", place / "r", place / "a.csv", *asked)
    assert refused.code == 2
    assert refused.sentence.startswith("a model of series forecasts and does not search; leave")
    assert not refused.out


@pytest.mark.parametrize("asked", [["--search", "greedy"], ["--beam", 3], ["--lowercase"]])
def test_an_evaluated_forecast_is_not_searched_for(
    place: Path, command: Command, asked: list[str | int]
) -> None:
    """Nor are there capitals in it: exit 2 and no scores."""
    refused = command("evaluate", place / "r", place / "a.csv", *asked)
    assert refused.code == 2
    assert "a model of series forecasts" in refused.sentence
    assert refused.sentence.endswith("out")
    assert not refused.out
