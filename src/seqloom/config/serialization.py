"""Parse and write configurations: TOML, `--set a.b=c`, and errors that name the nearest key.

The text names the modules that registered user-defined parts; reading checks that they are
registered.
"""

import difflib
import reprlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from seqloom.config.schema import Config, names_and_sections, option_names
from seqloom.config.searches import OPEN_TABLES
from seqloom.config.sections import Overrides, PartMark, Section, leaves, merge, rename_values
from seqloom.errors import ConfigError
from seqloom.foreign_options import answer_of
from seqloom.registry import FAMILIES, Family
from seqloom.remedies import Command, Phrase, Place, Remedy, Setting

__all__ = [
    "check_names",
    "check_parts",
    "dump",
    "first_error",
    "flatten",
    "foreign_parts",
    "load",
    "parse",
    "parse_assignments",
    "validate",
]


def foreign_parts(section: Section) -> dict[str, dict[str, str]]:
    """The module of each user-defined part in a configuration, by family and name."""
    modules: dict[str, dict[str, str]] = {}
    chosen = list(_parts(section))
    companions = [
        (FAMILIES[name], kind)
        for family, kind in chosen
        for name in family.companions
        if name in FAMILIES
    ]
    for family, kind in (*chosen, *companions):
        if kind in family and not family.is_built_in(kind):
            modules.setdefault(family.name, {})[kind] = family.module_of(kind)
    return modules


def check_parts(modules: Any, *, place: str) -> None:
    """ConfigError, naming the module, for the first recorded part that is not registered."""
    for family, members in _tables(modules, place):
        for kind, module in _tables(members, place):
            if family not in FAMILIES or kind not in FAMILIES[family]:
                shown = module if isinstance(module, str) else reprlib.repr(module)
                raise ConfigError(
                    f"needs the {family} {reprlib.repr(kind)}, which the module {shown} registers",
                    place=place,
                    remedy=Remedy("import it first with {}", Setting("modules", shown)),
                )


def _parts(section: Section) -> Iterator[tuple[Family[Any, Any], str]]:
    """Yield every member of a family that a configuration chooses."""
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        marks = (mark for mark in field.metadata if isinstance(mark, PartMark))
        yield from filter(None, (mark.member(value) for mark in marks))
        if isinstance(value, Section):
            yield from _parts(value)


def _tables(table: Any, place: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(table, Mapping):
        raise ConfigError(
            f"parts = {reprlib.repr(table)}: must be tables with the module of each part",
            place=place,
        )
    yield from table.items()


DEEPEST_NAME = 8
MISSPELT = 0.92  # similarity above which a name counts as misspelt rather than another toolkit's
PARTS = "parts"  # the table of modules of user-defined parts


def parse(text: str, *, place: str) -> Overrides:
    """TOML text as nested tables; `place` is what errors call it.

    Renamed values of earlier releases are updated. ConfigError for a part that is not
    registered.
    """
    try:
        tables = tomllib.loads(text)
    except ValueError as error:  # a number of too many digits is not a TOMLDecodeError
        raise ConfigError(f"not valid TOML: {error}", place=place) from None
    except RecursionError:
        raise ConfigError("tables are nested too deeply", place=place) from None
    check_parts(tables.pop(PARTS, {}), place=place)
    return rename_values(tables)


def parse_assignments(assignments: Iterable[str]) -> Overrides:
    """Parse `["training.updates=500", ...]` as nested tables; a value is TOML, or else a bare
    string.
    """
    overrides: Overrides = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        names = name.strip().split(".")
        if not equals or not all(names) or len(names) > DEEPEST_NAME:
            shown = reprlib.repr(assignment)
            raise ConfigError(
                f"{shown} sets nothing",
                place=Setting("assignments"),
                remedy="write it as name=value, for example seed=7",
            )
        overrides = merge(overrides, rename_values(_nest(names, _value(value.strip()))))
    return overrides


def validate(tables: Mapping[str, Any], *, place: str) -> Config:
    """Validate nested tables as a Config; ConfigError names the wrong key and its valid values."""
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        raise first_error(error, place=place) from None


def first_error(error: ValidationError, *, place: Place) -> ConfigError:
    """The first validation error, with its dotted name."""
    problem, remedy = _problem(error.errors()[0])
    return ConfigError(problem, place=place, remedy=remedy)


def check_names(tables: Mapping[str, Any], *, place: str) -> None:
    """ConfigError for the first name that is not an option."""
    known = set(names_and_sections())
    for name, _ in leaves(tables):
        if name not in known and not name.startswith(OPEN_TABLES):
            problem, remedy = _no_such_option(_printable(name))
            raise ConfigError(problem, place=place, remedy=remedy)


def dump(config: Config) -> str:
    """The whole configuration as TOML; `validate(parse(...))` gives the same back.

    User-defined parts are recorded with the names of their modules, which are never imported from
    there.
    """
    tables = config.model_dump(mode="json")
    modules = foreign_parts(config)
    return tomli_w.dumps({**tables, PARTS: modules} if modules else tables)


def load(path: Path) -> Overrides:
    """Load a user's TOML file as nested tables."""
    try:
        return parse(path.read_text(encoding="utf-8-sig"), place=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read as TOML text: {error}", place=path) from None


def flatten(config: Config) -> dict[str, Any]:
    """All options of a configuration by dotted name."""
    return dict(leaves(config.model_dump(mode="json")))


def _nest(names: list[str], value: Any) -> Overrides:
    for name in reversed(names):
        value = {name: value}
    return dict(value)


def _value(text: str) -> Any:
    try:
        tables = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return tables["value"] if len(tables) == 1 else text


def _problem(error: ErrorDetails) -> tuple[str, Phrase]:
    """The problem and the remedy."""
    name = _format_name(error["loc"])
    match error["type"]:
        case "extra_forbidden":
            return _no_such_option(name)
        case "union_tag_invalid":
            context = error.get("ctx", {})
            return _no_such_kind(name, str(context.get("tag")), str(context.get("expected_tags")))
        case "union_tag_not_found":
            return f"{name}.kind is missing", f"set it beside the other options of {name}"
        case _:
            shown = _format_value(error["input"])
            wrong = _KINDS.get(error["type"].partition("_")[0])
            return f"{name} = {shown}: {wrong or error['msg'][0].lower() + error['msg'][1:]}", ""


_KINDS = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be text",
}


def _format_value(value: Any) -> str:
    """A user's value, shortened: it may be very long or very deep."""
    try:
        return reprlib.repr(value)
    except ValueError:
        return "a number of thousands of digits"


def _format_name(location: tuple[int | str, ...]) -> str:
    return _printable(".".join(map(str, location)))


def _no_such_kind(name: str, kind: str, known: str) -> tuple[str, Phrase]:
    near = difflib.get_close_matches(kind, [each.strip("' ") for each in known.split(",")], n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{name}.kind is {reprlib.repr(kind)}", f"{hint}it may be {known}"


def _printable(name: str) -> str:
    return name if name.isprintable() and len(name) <= 80 else reprlib.repr(name)


def _no_such_option(name: str) -> tuple[str, Phrase]:
    """The error for an unknown option: suggests the nearest name, or the equivalent of another
    toolkit's option.
    """
    problem = f"there is no option {name}"
    if name in names_and_sections():
        section = name.rpartition(".")[0]
        return f"{problem} in the kind that {section} has", f"set {section}.kind too"
    answer = answer_of(name.rpartition(".")[2])
    nearly = difflib.get_close_matches(name, names_and_sections(), n=1, cutoff=MISSPELT)
    if answer is not None and not nearly:
        return problem, answer.remedy
    near = difflib.get_close_matches(name, names_and_sections(), n=1, cutoff=0.6)
    if not near:
        ends = {each.rpartition(".")[2]: each for each in option_names()}
        last = difflib.get_close_matches(name.rpartition(".")[2], ends, n=1, cutoff=0.5)
        near = [ends[each] for each in last]
    if near:
        return problem, f"did you mean {near[0]}?"
    return problem, Remedy("{} lists them all", Command("options"))
