"""Between configuration and text: TOML, `--set a.b=c`, and errors that name the nearest key."""

import difflib
import reprlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import tomli_w
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from seqloom.config.schema import Config
from seqloom.config.searches import OPEN_TABLES
from seqloom.errors import ConfigError

__all__ = [
    "Overrides",
    "check_names",
    "dump",
    "error_sentence",
    "flatten",
    "leaves",
    "load",
    "merge",
    "option_names",
    "option_rows",
    "parse",
    "parse_assignments",
    "validate",
]

DEEPEST_NAME = 8

Overrides = dict[str, Any]
"""A partial configuration: nested tables as TOML gives them."""


def parse(text: str, *, place: str) -> Overrides:
    """TOML text as nested tables; `place` is what errors call it."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # a number of too many digits is not a TOMLDecodeError
        raise ConfigError(f"{place}: not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{place}: tables are nested too deeply") from None


def parse_assignments(assignments: Iterable[str]) -> Overrides:
    """`["training.updates=500", ...]` as nested tables; a value is TOML, or else a bare string."""
    overrides: Overrides = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        names = name.strip().split(".")
        if not equals or not all(names) or len(names) > DEEPEST_NAME:
            shown = reprlib.repr(assignment)
            raise ConfigError(f"--set {shown}: write it as name=value, for example seed=7")
        overrides = merge(overrides, _nest(names, _value(value.strip())))
    return overrides


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Overrides:
    """`base` with what `over` says in its place, table by table."""
    merged = dict(base)
    for name, value in over.items():
        old, value = _expand_kinds(merged.get(name), value)
        if (
            isinstance(old, Mapping)
            and isinstance(value, Mapping)
            and not _switches_kind(old, value)
        ):
            merged[name] = merge(old, value)
        else:
            merged[name] = value
    return merged


def _expand_kinds(old: Any, new: Any) -> tuple[Any, Any]:
    """A choice may be written as its bare kind; beside a table it becomes one."""
    if isinstance(old, Mapping) and isinstance(new, str):
        return old, {"kind": new}
    if isinstance(old, str) and isinstance(new, Mapping):
        return {"kind": old}, new
    return old, new


def _switches_kind(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return "kind" in old and "kind" in new and bool(old["kind"] != new["kind"])


def validate(tables: Mapping[str, Any], *, place: str) -> Config:
    """Nested tables as a Config, or one sentence that names the wrong key and what it may be."""
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        raise ConfigError(f"{place}: {error_sentence(error)}") from None


def error_sentence(error: ValidationError) -> str:
    """What is wrong first, with the dotted name of where it is."""
    return _sentence(error.errors()[0])


def check_names(tables: Mapping[str, Any], *, place: str) -> None:
    """ConfigError at the first name that is no option, before anything else is looked at."""
    known = set(_names_and_sections())
    for name, _ in leaves(tables):
        if name not in known and not name.startswith(OPEN_TABLES):
            raise ConfigError(f"{place}: {_no_such_option(_printable(name))}")


def dump(config: Config) -> str:
    """The whole configuration as TOML; `validate(parse(...))` gives the same back."""
    return tomli_w.dumps(config.model_dump(mode="json"))


def load(path: Path) -> Overrides:
    """The tables of a user's TOML file."""
    try:
        return parse(path.read_text(encoding="utf-8-sig"), place=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML text: {error}") from None


def option_rows(
    section: type[BaseModel] = Config, prefix: str = ""
) -> Iterator[tuple[str, Any, str]]:
    """Every option once, in the order of the manual: dotted name, default, meaning."""
    seen: set[str] = set()
    for name, field in section.model_fields.items():
        rows = [
            row
            for table in _sections(field.annotation)
            for row in option_rows(table, f"{prefix}{name}.")
        ] or [(f"{prefix}{name}", field.default, field.description or "")]
        for row in rows:
            if row[0] not in seen:
                seen.add(row[0])
                yield row


def option_names() -> list[str]:
    """Every dotted name that can be set."""
    return [name for name, _, _ in option_rows()]


def flatten(config: Config) -> dict[str, Any]:
    """Every option of a configuration under its dotted name."""
    return dict(leaves(config.model_dump(mode="json")))


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested tables under its dotted name."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _sections(part)


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


def _sentence(error: ErrorDetails) -> str:
    name = _format_name(error["loc"])
    match error["type"]:
        case "extra_forbidden":
            return _no_such_option(name)
        case "union_tag_invalid":
            context = error.get("ctx", {})
            tag = reprlib.repr(context.get("tag"))
            return f"{name}.kind is {tag}; it may be {context.get('expected_tags')}"
        case "union_tag_not_found":
            return f"{name}.kind is missing; set it beside the other options of {name}"
        case _:
            shown = _format_value(error["input"])
            wrong = _KINDS.get(error["type"].partition("_")[0])
            return f"{name} = {shown}: {wrong or error['msg'][0].lower() + error['msg'][1:]}"


_KINDS = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be text",
}


def _format_value(value: Any) -> str:
    """What a user wrote, cut to size: it may be very long or very deep."""
    try:
        return reprlib.repr(value)
    except ValueError:
        return "a number of thousands of digits"


def _format_name(location: tuple[int | str, ...]) -> str:
    """The dotted name as a user writes it: without the kind that follows a choice's name."""
    known = set(_names_and_sections())
    shown: list[str] = []
    for part in map(str, location):
        chosen = f"{'.'.join(shown)}.kind" in known and ".".join([*shown, part]) not in known
        if not (chosen and part in _kinds()):
            shown.append(part)
    return _printable(".".join(shown))


@cache
def _kinds() -> set[str]:
    """Every value that some `kind` may have."""
    return set(_values_of_kind(Config))


def _values_of_kind(section: type[BaseModel]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        if name == "kind":
            yield from get_args(field.annotation)
        for table in _sections(field.annotation):
            yield from _values_of_kind(table)


def _printable(name: str) -> str:
    return name if name.isprintable() and len(name) <= 80 else reprlib.repr(name)


def _no_such_option(name: str) -> str:
    """The nearest whole name, or else the nearest last part of one."""
    if name in _names_and_sections():
        section = name.rpartition(".")[0]
        return f"there is no option {name} in the kind that {section} has: set {section}.kind too"
    near = difflib.get_close_matches(name, _names_and_sections(), n=1, cutoff=0.6)
    if not near:
        ends = {each.rpartition(".")[2]: each for each in option_names()}
        last = difflib.get_close_matches(name.rpartition(".")[2], ends, n=1, cutoff=0.5)
        near = [ends[each] for each in last]
    cure = f"did you mean {near[0]}?" if near else "seqloom options lists them all"
    return f"there is no option {name}; {cure}"


def _names_and_sections() -> list[str]:
    names = [name.split(".") for name in option_names()]
    return sorted({".".join(name[:end]) for name in names for end in range(1, len(name) + 1)})
