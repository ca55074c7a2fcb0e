"""Runs made of parts from outside: trained, saved, loaded, used, evaluated and explained."""

import json
import math
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom
from seqloom.api.describe import describe
from seqloom.api.evaluate import evaluate
from seqloom.api.train import train
from seqloom.cli.commands.look import VIEWS, ViewRequest
from seqloom.config import TrainingConfig
from seqloom.drawing.views import text_of
from seqloom.errors import ConfigError, SeqloomError
from seqloom.explain import architecture_graph, position_maps, trace_output
from seqloom.explanations.flow import collect_gates
from seqloom.runs.processes import workers
from seqloom.search import Beam
from seqloom.tasks import Evaluation, explain_output
from tests.cli.support import Command
from tests.extending.support import FOLDER, KINDS, MEMBERS, RUNS, forget_parts
from tests.runs.support import assert_same, sitting
from tests.serving.support import serving

each_run = pytest.mark.parametrize("name", KINDS)
MISSING = {
    "recurrent": {"positions"},
    "bag": {"alignment"},
    "stars": {"attention", "alignment", "positions", "tree", "steps", "igd"},
}  # looks that do not suit a run


@each_run
def test_a_run_records_the_module_of_each_part(name: str, runs: dict[str, Path]) -> None:
    tables = tomllib.loads((runs[name] / "config.toml").read_text())
    assert tables["parts"] == RUNS[name].parts


@each_run
def test_a_loaded_run_predicts_and_is_described(name: str, runs: dict[str, Path]) -> None:
    model = seqloom.load(runs[name])
    cells = [source for source, _ in RUNS[name].rows[:5]]
    outputs = model.predict(cells)
    assert [each.text for each in outputs] == [model(cell).text for cell in cells]
    assert any("parameters by part" in line for line in describe(runs[name]).lines())


def test_a_run_searches_as_it_was_told(runs: dict[str, Path], parts: Any) -> None:
    """The configured search is that of the outputs, and another ranking orders a beam's."""
    model = seqloom.load(runs["recurrent"])
    favourite = parts.favourite_search.Favourite(worth=1.5)
    (wanted,) = model.predict(["aei"], search=favourite)
    assert (model("aei").text, model("aei").score) == (wanted.text, wanted.score)
    (name,) = model.target.tokens([5])
    full = parts.favourite_search.Favourite(worth=1e6)
    for output in model.predict(["aei", "bfj"], search=full):
        assert {token.text for token in output.tokens} == {name}
    (output,) = model.predict(["aei"], search=Beam(4, parts.long_ranking.LongFirst(100)), n_best=3)
    lengths = [len(each.tokens) for each in output.n_best]
    assert lengths == sorted(lengths, reverse=True)


def test_metrics_and_baselines_are_beside_the_others(runs: dict[str, Path]) -> None:
    texts = evaluate(seqloom.load(runs["bag"]), RUNS["bag"].rows[:9]).scores
    assert texts[-2].name == "length ratio"
    assert texts[-2].interval.low <= texts[-2].value <= texts[-2].interval.high
    stars = evaluate(seqloom.load(runs["stars"]), RUNS["stars"].rows)
    assert isinstance(stars, Evaluation)
    assert [score.name for score in stars.scores] == ["within one star", "perplexity"]
    assert list(stars.baselines) == ["median rating"]
    assert stars.scores[0].value > stars.baselines["median rating"].value


@each_run
def test_every_look_works_or_says_why_not(name: str, runs: dict[str, Path]) -> None:
    model, cell = seqloom.load(runs[name]), RUNS[name].cell
    for show, look in VIEWS.items():
        rows = ((cell, None), (RUNS[name].rows[0][0], None))[: 2 if show == "states" else 1]
        if show in MISSING[name]:
            with pytest.raises(ConfigError):
                look(model, ViewRequest(rows))
            continue
        view = look(model, ViewRequest(rows))
        assert text_of(view, 80)
        json.dumps(view.as_dict(), allow_nan=False)


def test_a_unit_shows_its_gates(runs: dict[str, Path]) -> None:
    """A leak of a gives a half-life of ln ½ / ln a, whatever is read."""
    model = seqloom.load(runs["recurrent"])
    traced = trace_output(model.network, explain_output(model, "aei"))
    shares = {"encoder": 0.25, "decoder": 0.5}
    for found in collect_gates([traced]):
        assert list(found.gates) == ["leak"]
        life = math.log(0.5) / math.log(shares[found.location.side])
        assert found.half_lives() == pytest.approx(np.full(len(found.half_lives()), life))


def test_positions_and_a_decoder_are_drawn(runs: dict[str, Path]) -> None:
    model = seqloom.load(runs["bag"])
    (shown,) = position_maps(model.network, 6).maps
    assert shown.kind == "a triangle wave, appended"
    assert shown.table[:, 0] == pytest.approx([0, 0.5, 1, 0.5, 0, 0.5])
    assert architecture_graph(model.network).nodes


def test_a_run_goes_on_as_if_it_had_not_stopped(
    runs: dict[str, Path], tmp_path: Path, parts: Any
) -> None:
    """What an optimizer from outside keeps for each weight is saved with the step."""
    options = RUNS["recurrent"].options
    data = runs["recurrent"].with_name("recurrent.arrows")
    sitting(tmp_path / "run", options, until=5, data=data)
    train(data, tmp_path / "run", options=options)
    assert_same(tmp_path / "run", runs["recurrent"])


def test_the_commands_take_a_module(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command from `check` to `look`, with parts that only `--import` brings."""
    monkeypatch.chdir(FOLDER)
    data, run = tmp_path / "ratings.arrows", tmp_path / "run"
    data.write_text("".join(f"{source} -> {target}\n" for source, target in RUNS["stars"].rows))
    names = ("arrow_format", "colour_field", "stars_field", "stars_task", "median_baseline")
    imports = [word for name in names for word in ("--import", name)]
    columns = ["--source", "1:colour", "--target", "2:stars"]
    short = ["--set", "training.updates=2", "--set", "training.curves=false", "--workers", 1]
    with forget_parts(monkeypatch):
        assert "rows kept: 64" in command(*imports, "check", data, *columns).out
        made = command(*imports, "train", data, "--run", run, *columns, *short)
        assert made.code == 0, made.err
        told = command(*imports, "predict", run, stdin=b"#ff8040\n#000000\n")
        assert re.fullmatch(r"([1-5]\n){2}", told.out)
        assert "median rating" in command(*imports, "evaluate", run, data).out
        for arguments in (("look", run, "#ff8040"), ("describe", run), ("report", run)):
            assert command(*imports, *arguments).code == 0
        wrong = command(*imports, "predict", run, stdin=b"red\n")
        assert wrong.sentence.endswith("'red' is no colour; write it as #ff8800")
        data.write_text("#000000 -> 1\nnothing\n")
        told = command(*imports, "check", data, *columns)
        assert "wrong number of columns, first at" in told.out


LEFT_OUT = {
    "leaky_unit": ("recurrent", "unit 'leaky'"),
    "distance_score": ("recurrent", "attention score 'distance'"),
    "sign_optimizer": ("recurrent", "optimizer 'signs'"),
    "sawtooth_schedule": ("recurrent", "schedule 'sawtooth'"),
    "favourite_search": ("recurrent", "search 'favourite'"),
    "long_ranking": ("recurrent", "ranking 'long'"),
    "bag_decoder": ("bag", "decoder 'bag'"),
    "triangle_positions": ("bag", "kind of positions 'triangle'"),
    "colour_field": ("stars", "kind of source 'colour'"),
    "stars_field": ("stars", "kind of target 'stars'"),
    "stars_task": ("stars", "task 'stars'"),
}  # modules, each with a run that needs it, and what of it


@pytest.mark.parametrize("module", LEFT_OUT)
def test_a_part_that_is_missing_is_named_with_its_module(
    module: str, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """One sentence, by Python and by the commands."""
    name, part = LEFT_OUT[module]
    needed = {each for table in RUNS[name].parts.values() for each in table.values()}
    monkeypatch.chdir(FOLDER)
    with forget_parts(monkeypatch):
        imports = [word for each in sorted(needed - {module}) for word in ("--import", each)]
        refused = command(*imports, "predict", runs[name], stdin=b"a\n")
        assert refused.code == 4
        assert f"needs the {part}, which the module {module} registers" in refused.sentence
        assert refused.sentence.endswith(f"--import {module}")
        with pytest.raises(SeqloomError, match=f"the module {module} registers"):
            seqloom.load(runs[name])


def test_a_server_has_them_too(runs: dict[str, Path]) -> None:
    """A search from outside is in the schema and answers; kinds of columns are told to clients."""
    models = {name: seqloom.load(run) for name, run in runs.items()}
    with serving(models) as served:
        table = {"kind": "favourite", "token": 6, "worth": 9.0}
        body = {"model": "recurrent", "inputs": ["aei"], "search": table}
        answer = served.ask("POST", "/v1/predict", body)
        assert answer.status == 200, answer.body
        stars = served.ask("POST", "/v1/predict", {"model": "stars", "inputs": ["#ff8040"]})
        assert stars.json["outputs"][0]["text"] == models["stars"]("#ff8040").text
        wrong = served.ask("POST", "/v1/predict", {"model": "stars", "inputs": ["red"]})
        assert (wrong.status, "is no colour" in wrong.error) == (422, True)
        listed = served.ask("GET", "/v1/models").json["models"]
        kinds = {each["name"]: (each["source"]["kind"], each["target"]["kind"]) for each in listed}
        assert kinds["stars"] == ("colour", "stars")


def test_workers_import_the_parts_too(parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is started with the modules, from the folder that they are in."""
    started: list[Any] = []

    def start(command: list[str], **given: Any) -> Any:
        started.append((command, given["env"]["PYTHONPATH"].split(os.pathsep)))
        raise BlockingIOError

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(BlockingIOError), workers._start_worker(["run"]):
        pass
    ((command, folders),) = started
    names = [command[place + 1] for place, word in enumerate(command) if word == "--import"]
    assert sorted(names) == sorted(MEMBERS)
    assert command.index("worker") > max(map(command.index, names))
    assert str(FOLDER) in folders


def test_parts_of_a_script_are_used_in_one_process(
    parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker imports a script a second time."""
    long = TrainingConfig(updates=10**6, batch_tokens=4096)
    monkeypatch.setattr(workers, "cores", lambda: 4)
    assert workers.worker_count(long) == 4
    monkeypatch.setattr(parts.leaky_unit.LeakyOptions, "__module__", "__main__")
    assert workers.worker_count(long) == 1
    with pytest.raises(ConfigError, match="move them into a module of their own, or set it to 1"):
        workers.worker_count(long.model_copy(update={"workers": 2}))
