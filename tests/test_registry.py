"""Parts of a user's own: registered once, they work wherever built-in ones do.

What a module registers here stays registered for this test alone.
"""

import sys
from copy import copy
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from seqloom.config import (
    SCORES,
    TARGETS,
    UNITS,
    ColumnStatistics,
    Config,
    Facts,
    RecurrentEncoderConfig,
    TargetOptions,
    UnitOptions,
    dump,
    merge,
    option_rows,
    parse,
    parse_assignments,
    plan,
    validate,
)
from seqloom.errors import ConfigError
from seqloom.registry import Family, import_parts

MODULE = __name__
SIDE = ColumnStatistics(60, 12, 10, 80, 9_000, 2_000)
FACTS = Facts(rows=29_000, source=SIDE, target=SIDE)


class LeakyConfig(UnitOptions):
    """A unit of a user's own."""

    kind: Literal["leaky"] = "leaky"
    leak: float = Field(0.5, description="share of the state that stays")


class RatingConfig(TargetOptions):
    """A kind of target of a user's own."""

    kind: Literal["rating"] = "rating"
    stars: int = Field(5, ge=1, description="the highest rating")


def score() -> None:
    """Stands for an attention score."""


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit, a target and an attention score that are not built in."""
    for family in (UNITS, TARGETS, SCORES):
        monkeypatch.setattr(family, "_options", dict(family._options))
        monkeypatch.setattr(family, "parts", copy(family.parts))
    UNITS.options("leaky")(LeakyConfig)
    TARGETS.options("rating")(RatingConfig)
    SCORES.part("cosine")(score)


CHOSEN = [
    "model.encoder.kind=recurrent",
    "model.encoder.unit.kind=leaky",
    "model.encoder.unit.leak=0.25",
    "model.decoder.kind=recurrent",
    "model.decoder.attention.score=cosine",
    "target.kind=rating",
]


def chosen() -> Config:
    return validate(parse_assignments(CHOSEN), place="--set")


@pytest.mark.usefixtures("registered")
def test_a_registered_kind_can_be_set_written_and_read() -> None:
    config = chosen()
    assert isinstance(config.model.encoder, RecurrentEncoderConfig)
    assert config.model.encoder.unit == LeakyConfig(leak=0.25)
    assert config.target == RatingConfig()
    assert validate(parse(dump(config), place="run"), place="run") == config
    bare = {"model": {"encoder": {"kind": "recurrent", "unit": "leaky"}}, "target": "rating"}
    assert validate(bare, place="options").model.encoder == RecurrentEncoderConfig(
        unit=LeakyConfig()
    )


@pytest.mark.usefixtures("registered")
def test_an_option_of_a_registered_kind_is_checked_and_listed() -> None:
    with pytest.raises(ConfigError, match=r"target\.stars = 0: .* greater than or equal to 1"):
        validate({"target": {"kind": "rating", "stars": 0}}, place="options")
    with pytest.raises(ConfigError, match=r"did you mean target\.stars\?"):
        validate({"target": {"kind": "rating", "star": 1}}, place="options")
    with pytest.raises(
        ConfigError, match=r"unit\.kind is 'leeky'; did you mean 'leaky'\? it may be"
    ):
        validate(merge(parse_assignments(CHOSEN), {"model": {"encoder": {"unit": "leeky"}}}),
                 place="options")  # fmt: skip
    rows = {(row.name, row.kind): row for row in option_rows()}
    assert rows["model.encoder.unit.leak", "leaky"][2:] == (0.5, "share of the state that stays")
    assert rows["model.encoder.unit.kind", "recurrent"].meaning.endswith("ssru or leaky")
    assert "cosine" in rows["model.decoder.attention.score", "global"].meaning


@pytest.mark.usefixtures("registered")
def test_a_registered_target_is_planned_for_with_the_head_of_its_name() -> None:
    """Whoever registers a target registers a head for it; here there is none, which is told."""
    with pytest.raises(ConfigError, match=r"model\.decoder\.kind is 'rating'; it may be"):
        plan({"target": "rating"}, FACTS)


@pytest.mark.usefixtures("registered")
def test_a_part_that_is_not_built_in_is_recorded_with_its_module() -> None:
    tables = parse_raw(dump(chosen()))
    assert tables["parts"] == {
        "unit": {"leaky": MODULE},
        "attention score": {"cosine": MODULE},
        "kind of target": {"rating": MODULE},
    }
    assert "parts" not in parse_raw(dump(Config()))


def parse_raw(text: str) -> dict[str, object]:
    import tomllib

    return tomllib.loads(text)


def test_a_missing_part_is_named_with_the_module_that_had_it(
    registered: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = dump(chosen())
    monkeypatch.delitem(UNITS._options, "leaky")
    with pytest.raises(
        ConfigError,
        match=rf"^run/config\.toml: needs the unit 'leaky', which the module {MODULE} registers; "
        rf"import it first with `import {MODULE}`$",
    ):
        parse(text, place="run/config.toml")


@pytest.mark.parametrize("damaged", ["parts = 5", "[parts]\nunit = 5"])
def test_a_damaged_record_of_parts_is_told(damaged: str) -> None:
    with pytest.raises(ConfigError, match="run: parts = 5: must be tables with the module of each"):
        parse(damaged, place="run")


def test_reading_a_configuration_imports_nothing(tmp_path: Path) -> None:
    """A run directory holds nothing that is executed."""
    (tmp_path / "evil_parts.py").write_text("raise SystemExit('executed')", encoding="utf-8")
    text = '[parts.unit]\nleaky = "evil_parts"\n'
    with pytest.raises(ConfigError, match="needs the unit 'leaky'"):
        parse(text, place="run")
    assert "evil_parts" not in sys.modules


def test_a_name_is_given_once() -> None:
    family: Family[UnitOptions, object] = Family("toy", names=("own",))
    family.options("leaky")(LeakyConfig)
    family.options("leaky")(LeakyConfig)  # a module may be imported again
    with pytest.raises(ConfigError, match="the toy 'own' is defined in seqloom already"):
        family.part("own")(score)
    with pytest.raises(ConfigError, match=r"LeakyConfig is registered as the toy 'lossy': declare"):
        family.options("lossy")(LeakyConfig)
    with pytest.raises(ConfigError, match="no toy is called 'leeky'; did you mean 'leaky'"):
        family.options_of("leeky")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no module toy_parts in .* give the name of a Python module without .py"),
        ("import no_such_library_here", "it imports no_such_library_here, which is not installed"),
        ("1 / 0", "importing it failed with ZeroDivisionError: division by zero"),
        ("def f(:", "importing it failed with SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_why(
    content: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    if content is not None:
        (tmp_path / "toy_parts.py").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"^`import toy_parts`: {message}"):
        import_parts("toy_parts")


def test_a_module_of_the_current_folder_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "good_toy_parts.py").write_text("ready = True", encoding="utf-8")
    import_parts("good_toy_parts")
    assert sys.modules.pop("good_toy_parts").ready
