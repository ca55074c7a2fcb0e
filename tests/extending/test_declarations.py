"""One declaration is the TOML key, the `--set` value, the schema, the chooser and the manual."""

import ast
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from seqloom.cli.search_options import SearchOptions
from seqloom.config import Config, dump, option_rows, parse, parse_assignments, validate
from seqloom.prediction.configured_search import search_from_config
from seqloom.registry import FAMILIES
from seqloom.search import Ranking
from seqloom.serving.limits import ServingConfig
from seqloom.serving.requests import describe_searches, predict_request_model
from tests.cli.support import Command
from tests.extending.support import FOLDER, MEMBERS

ROOT = Path(__file__).parents[2]
WANTED = {
    *("unit", "attention score", "kind of positions", "decoder", "kind of source"),
    *("kind of target", "file format", "search", "ranking", "metric", "baseline"),
    *("optimizer", "schedule", "task"),
}
ENCODER = ["model.encoder.kind=recurrent"]
TRANSFORMER = ["model.encoder.kind=transformer"]
DECODER = ["model.decoder.kind=recurrent"]
CHOICES = {  # how each is set, and the row of its option with default and text
    "leaky_unit": (
        [*ENCODER, "model.encoder.unit.kind=leaky", "model.encoder.unit.share=0.25"],
        ("model.encoder.unit.share", "leaky", 0.5, "share of the state that stays"),
    ),
    "triangle_positions": (
        [*TRANSFORMER, "model.encoder.positions.kind=triangle", "model.encoder.positions.period=5"],
        (
            "model.encoder.positions.period", "triangle", 8,
            "positions from one trough to the next",
        ),
    ),
    "sign_optimizer": (
        ["training.optimizer.kind=signs", "training.optimizer.momentum=0.5"],
        ("training.optimizer.momentum", "signs", 0.9, "momentum coefficient"),
    ),
    "colour_field": (
        ["source.kind=colour", "source.gamma=2.0"],
        ("source.gamma", "colour", 1.0, "the power that each number is raised to"),
    ),
    "stars_field": (
        ["target.kind=stars", "target.most=7"],
        ("target.most", "stars", 5, "the highest rating"),
    ),
}  # fmt: skip
NAMES = {  # chosen by name alone, or without options of their own
    "bag_decoder": ("model.decoder.kind=bag", "model.decoder.kind"),
    "distance_score": ("model.decoder.attention.score=distance", "model.decoder.attention.score"),
    "sawtooth_schedule": ("training.decay=sawtooth", "training.decay"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_is_one_short_module(name: str) -> None:
    """At most 60 lines, which import nothing of Seqloom that is private."""
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    modules = [
        node.module or "" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)
    ]
    assert not any(part.startswith("_") for module in modules for part in module.split("."))


def test_every_family_has_a_member(parts: Any) -> None:
    """And each module registers what it says, nothing else."""
    found: dict[str, set[tuple[str, str]]] = {}
    for family in FAMILIES.values():
        for kind in family.kinds():
            if not family.is_built_in(kind):
                found.setdefault(family.module_of(kind), set()).add((family.name, kind))
    assert found == {module: set(members) for module, members in MEMBERS.items()}
    assert {family for members in MEMBERS.values() for family, _ in members} >= WANTED
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(MEMBERS)


@pytest.mark.parametrize("name", CHOICES)
def test_options_are_set_written_and_listed(name: str, parts: Any, manual: Any) -> None:
    """`--set` and TOML take them, config.toml brings them back, the manual has their row."""
    assignments, row = CHOICES[name]
    config = validate(parse_assignments(assignments), place="--set")
    assert validate(parse(dump(config), place="config.toml"), place="config.toml") == config
    assert config != validate(parse_assignments(assignments[:-1]), place="--set")
    assert row in [tuple(each) for each in option_rows()]
    option, _, default, meaning = row
    assert f"| `{option}` | `{default}` | {meaning} |" in manual.options_page()


@pytest.mark.parametrize("name", NAMES)
def test_names_are_set_written_and_listed(name: str, parts: Any, manual: Any) -> None:
    assignment, option = NAMES[name]
    before = DECODER if "attention" in option else []
    config = validate(parse_assignments([*before, assignment]), place="--set")
    assert validate(parse(dump(config), place="config.toml"), place="config.toml") == config
    kind = assignment.partition("=")[2]
    rows = [line for line in manual.options_page().splitlines() if f"| `{option}` |" in line]
    assert rows
    assert all(kind in row for row in rows)


def test_a_search_reaches_every_front_end(parts: Any, manual: Any) -> None:
    """The configuration, the command line, requests, the playground's chooser and the manual."""
    wanted = parts.favourite_search.Favourite(token=6, worth=9.0)
    table = {"kind": "favourite", "token": 6, "worth": 9.0}
    config = validate({"search": {"method": table}}, place="test")
    assert search_from_config(config.search, 1) == wanted
    typed = SearchOptions("favourite", {"--token": 6, "--token-worth": 9.0})
    assert typed.search(Config().search) == wanted
    body = {"inputs": ["a"], "search": table}
    asked = predict_request_model().model_validate(body)
    assert asked.prediction_request(Config().search, ServingConfig()).search == wanted
    schemas = predict_request_model().model_json_schema()["$defs"].values()
    (schema,) = [s for s in schemas if s["properties"].get("kind", {}).get("const") == "favourite"]
    assert schema["properties"]["worth"]["description"] == "added to its score"
    chooser = describe_searches(ServingConfig())[-1]
    assert (chooser["kind"], chooser["help"]) == (
        "favourite", "Greedy search in which one token is worth more.",
    )  # fmt: skip
    assert [option["name"] for option in chooser["options"]] == ["token", "worth"]
    row = "| `favourite` | `worth` | `--token-worth` | `0.5` | added to its score |"
    assert row in manual.search_table()


def test_a_ranking_is_set_in_a_run(parts: Any) -> None:
    table = parse_assignments(["search.ranking.kind=long", "search.ranking.bonus=2.5"])
    config = validate(table, place="--set")
    assert Ranking.from_config(config.search) == parts.long_ranking.LongFirst(bonus=2.5)


def test_the_help_of_a_command_has_them(
    parts: Any, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    told = command("predict", "--help").out
    assert "--token-worth" in told
    assert "added to its score" in told
    listed = command("options").out
    assert "model.encoder.unit.share" in listed
    assert "share of the state that stays" in listed


@pytest.fixture(scope="module")
def manual() -> Any:
    """scripts/manual, which writes the pages of options."""
    loader = SourceFileLoader("manual", str(ROOT / "scripts" / "manual"))
    spec = spec_from_loader("manual", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
