"""Building blocks of a configuration: sections of options, choices of parts, nested tables."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from seqloom.registry import Family

__all__ = [
    "LARGEST",
    "RENAMED_VALUES",
    "Choice",
    "Count",
    "DropoutRate",
    "Layers",
    "NameOf",
    "Overrides",
    "PartMark",
    "PartOptions",
    "Positive",
    "ReadoutChoice",
    "Section",
    "Share",
    "Width",
    "leaves",
    "merge",
    "original_values",
    "rename_values",
    "word_list",
]

LARGEST = 2**63 - 1  # integers that TOML guarantees
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
DropoutRate = Annotated[float, Field(ge=0.0, le=0.9)]
Width = Annotated[int, Field(ge=1, le=16_384)]
Layers = Annotated[int, Field(ge=1, le=64)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
ReadoutChoice = Annotated[
    Literal["perceptron", "affine"],
    Field(
        description="from the state to the output layer: through tanh(W s + b), or directly",
    ),
]


class Section(BaseModel):
    """A section of the configuration: immutable, and strict about names."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True
    )


class PartOptions(Section):
    """The options of one member of a family, identified by `kind`.

    A member declares `kind: Literal["name"] = "name"`.
    """

    kind: str


class PartMark:
    """Marks an option whose value chooses a member of a family."""

    def __init__(self, *families: Family[Any, Any]) -> None:
        self.families = families

    def member(self, value: Any) -> tuple[Family[Any, Any], str] | None:
        """The family and kind of the member that a value chooses; None if there is none."""
        if isinstance(value, Mapping):
            kind = value.get("kind")
        else:
            kind = value if isinstance(value, str) else value.kind
        family = next((each for each in self.families if kind in each), None)
        return None if family is None else (family, str(kind))


class Choice(PartMark):
    """Marks an option as open: its value is the options of any member of these families.

    It is written as a table with `kind`, or as the bare kind; a table without one has the `default`
    kind, if there is a default.
    """

    def __init__(self, *families: Family[Any, Any], default: str = "") -> None:
        super().__init__(*families)
        self.default = default

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    def kinds(self) -> list[str]:
        """The kinds that can be chosen."""
        return [kind for family in self.families for kind, _ in family]

    def members(self) -> Iterable[tuple[str, type[PartOptions]]]:
        """Every kind that can be chosen, with its options."""
        return [member for family in self.families for member in family]

    @property
    def meaning(self) -> str:
        """What the choice is about, and all that can be chosen."""
        return f"{self.families[0].meaning}: {word_list(self.kinds())}"

    def _validate(self, value: Any) -> Any:
        known = dict(self.members())
        if isinstance(value, PartOptions):
            if known.get(value.kind) is type(value):
                return value
            raise self._unknown(value.kind)
        table = {"kind": value} if isinstance(value, str) else value
        if not isinstance(table, Mapping):
            raise PydanticKnownError("model_attributes_type")
        kind = table.get("kind", self.default)
        if not kind:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'kind'"})
        if not isinstance(kind, str):
            raise self._unknown(str(kind))
        if kind not in known:
            for family in self.families:
                family.load()
            known = dict(self.members())
        if kind not in known:
            raise self._unknown(kind)
        return known[kind].model_validate({**table, "kind": kind})

    def _unknown(self, kind: str) -> PydanticKnownError:
        tags = ", ".join(map(repr, self.kinds()))
        context = {"discriminator": "'kind'", "tag": kind, "expected_tags": tags}
        return PydanticKnownError("union_tag_invalid", context)


class NameOf(PartMark):
    """Marks an option as the name of a member of a family."""

    def __init__(self, family: Family[Any, Any]) -> None:
        super().__init__(family)
        self.family = family

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    @property
    def meaning(self) -> str:
        """What the choice is about, and all that can be chosen."""
        return f"{self.family.meaning}: {word_list(self.family.kinds())}"

    def _validate(self, value: Any) -> str:
        if isinstance(value, str):
            if value not in self.family:
                self.family.load()
            if value in self.family:
                return value
        expected = word_list(map(repr, self.family.kinds()))
        raise PydanticKnownError("literal_error", {"expected": expected})


def word_list(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


Overrides = dict[str, Any]
"""A partial configuration: nested tables as TOML gives them."""


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Overrides:
    """Merge nested tables; values of `over` win."""
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
    """Turn bare kinds into tables where the other side has a table."""
    if isinstance(old, Mapping) and isinstance(new, str):
        return old, {"kind": new}
    if isinstance(old, str) and isinstance(new, Mapping):
        return {"kind": old}, new
    return old, new


def _switches_kind(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return "kind" in old and "kind" in new and bool(old["kind"] != new["kind"])


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of nested tables with its dotted name."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


RENAMED_VALUES: dict[str, dict[str, str]] = {
    "target": {"gaps": "blanks"},
    "model.decoder": {"gaps": "blanks"},
}
"""For the dotted name of a choice: kinds renamed since earlier releases."""


def rename_values(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Update renamed values in the tables of a configuration from an earlier release."""
    return _replace_kinds(tables, RENAMED_VALUES)


def original_values(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with every value under its original name, for stable hashes."""
    original = {
        name: {new: old for old, new in kinds.items()} for name, kinds in RENAMED_VALUES.items()
    }
    return _replace_kinds(tables, original)


def _replace_kinds(
    tables: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    changed = dict(tables)
    for name, kinds in names.items():
        first, _, rest = name.partition(".")
        value = changed.get(first)
        if rest and isinstance(value, Mapping):
            changed[first] = _replace_kinds(value, {rest: kinds})
        elif not rest and first in changed:
            changed[first] = _replace_kind(value, kinds)
    return changed


def _replace_kind(value: Any, kinds: Mapping[str, str]) -> Any:
    """Replace the kind of a choice, given bare or as a table."""
    if isinstance(value, str):
        return kinds.get(value, value)
    if isinstance(value, Mapping) and isinstance(value.get("kind"), str):
        return {**value, "kind": kinds.get(value["kind"], value["kind"])}
    return value
