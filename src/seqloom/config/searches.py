"""The families of searches and rankings, and the options of their members.

A search or a ranking is a dataclass registered under its name; its fields made by `option` are its
options. The command line, HTTP requests, the configuration, the playground and the manual all use
the same list.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    create_model,
)
from pydantic_core import CoreSchema, core_schema

from seqloom.config.sections import PartMark
from seqloom.errors import ConfigError
from seqloom.registry import Family

__all__ = [
    "AUTO",
    "LARGEST_SEED",
    "OPEN_TABLES",
    "RANKINGS",
    "RISK_DRAWS",
    "SEARCHES",
    "BeamOptions",
    "BestPathOptions",
    "CompletionsOptions",
    "DiverseOptions",
    "ExactOptions",
    "ExhaustiveOptions",
    "GreedyOptions",
    "MethodOptions",
    "OptionsTable",
    "PartOption",
    "PrefixBeamOptions",
    "RankingTable",
    "RiskOptions",
    "SampleOptions",
    "SearchTable",
    "StochasticOptions",
    "TextbookOptions",
    "field_options",
    "option",
    "options_model",
]


class SearchFamily(Family[Any, Any]):
    """The family of searches; a class registered only by its options is also its implementation."""

    def load_part(self, kind: str) -> Any:
        """Load the class of a search; ConfigError if there is none."""
        self.load()
        return self.parts.get(kind) or self.options_of(kind)


SEARCHES = SearchFamily("search", home="seqloom.search.methods")

RANKINGS: Family[Any, Any] = Family("ranking", home="seqloom.search.ranking")

AUTO = "auto"  # beam search, or sampling for a language model

OPEN_TABLES = ("search.method.", "search.ranking.")  # whose names are checked with their values

LARGEST_COUNT = 2**31 - 1  # bound of whole numbers without one of their own

LARGEST_SEED = 2**63 - 1

LARGEST_NUMBER = 1_000.0  # bound of other numbers without one


@dataclass(frozen=True)
class PartOption:
    """An option of a search or ranking, as front ends present it."""

    name: str
    type: type[int] | type[float]
    default: float | None
    help: str
    flag: str  # on the command line, if not --name
    ge: float | None  # bounds
    gt: float | None
    le: float | None
    limit: str  # the server limit that also bounds it
    absent: str  # description of the default, if it is not a constant
    suggested: float | None  # initial value in interactive front ends, if not the default

    @property
    def most(self) -> float:
        """The upper bound in requests and configurations."""
        if self.le is not None:
            return self.le
        return LARGEST_COUNT if self.type is int else LARGEST_NUMBER

    @property
    def meaning(self) -> str:
        """The help, with the default if it is not a constant."""
        return f"{self.help}; {self.absent} if absent" if self.absent else self.help


def option(
    default: Any,
    help: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    **shown: Any,
) -> Any:
    """Declare a dataclass field as an option, with default, help and bounds.

    `shown` may have `flag`, `limit`, `absent` and `suggested`, as `PartOption` explains them.
    """
    return field(default=default, metadata={"help": help, "ge": ge, "gt": gt, "le": le, **shown})


def field_options(part: type) -> tuple[PartOption, ...]:
    """The options of a search or a ranking, in the order of its fields."""
    if part not in _LISTED:
        _LISTED[part] = _list_options(part)
    return _LISTED[part]


_LISTED: dict[type, tuple[PartOption, ...]] = {}


def _list_options(part: type) -> tuple[PartOption, ...]:
    types = get_type_hints(part)
    return tuple(
        PartOption(
            each.name,
            _number_type(types[each.name]),
            None if each.default is MISSING else each.default,
            each.metadata["help"],
            each.metadata.get("flag") or f"--{each.name.replace('_', '-')}",
            each.metadata["ge"],
            each.metadata["gt"],
            each.metadata["le"],
            each.metadata.get("limit", ""),
            each.metadata.get("absent", ""),
            each.metadata.get("suggested"),
        )
        for each in fields(part)
        if "help" in each.metadata
    )


class MethodOptions:
    """Base of a search's options, which the search inherits as fields.

    The first line of the docstring is the search's help.
    """

    title: ClassVar[str] = ""  # title in menus, if not the kind
    takes_n_best: ClassVar[bool] = True  # returns as many outputs as requested
    returns_all: ClassVar[bool] = False  # returns all outputs found, however many are requested
    is_random: ClassVar[bool] = False  # outputs are sampled

    @classmethod
    def options(cls) -> tuple[PartOption, ...]:
        """The options of the search."""
        return field_options(cls)


def _number_type(annotation: Any) -> type[int] | type[float]:
    return float if float in (annotation, *getattr(annotation, "__args__", ())) else int


class OptionsTable(BaseModel):
    """A member of a family by its kind, with validated options."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    kind: str

    @cached_property
    def given(self) -> dict[str, Any]:
        """The options that were given, by name."""
        told = self.model_fields_set - {"kind"}
        return {
            name: value
            for name, value in self.__dict__.items()
            if name in told and value is not None
        }


def options_model(kind: str, part: Any) -> type[OptionsTable]:
    """A pydantic model for the options of a search or ranking."""
    allowed: dict[str, Any] = {"kind": (Literal[kind], Field())}
    for each in _options_of(part):
        value: Any = Annotated[each.type, Field(ge=each.ge, gt=each.gt, le=each.most)]
        optional = bool(each.absent) or each.default is None
        allowed[each.name] = (
            value | None if optional else value,
            Field(None if optional else each.default, description=each.meaning),
        )
    summary = (part.__doc__ or "").strip().partition("\n")[0]
    made: type[OptionsTable] = create_model(
        f"{part.__name__.removesuffix('Options')}Request",
        __base__=OptionsTable,
        __doc__=summary,
        **allowed,
    )
    return made


def _options_of(part: type) -> tuple[PartOption, ...]:
    """The options that a part declares, or those of its fields."""
    named: tuple[PartOption, ...] = getattr(part, "options", lambda: field_options(part))()
    return named


class TableOf(PartMark):
    """Marks a field as a member of a family: its kind alone, or a table with its options."""

    def __init__(self, family: Family[Any, Any]) -> None:
        super().__init__(family)
        self.family = family

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: str | dict[str, Any]) -> str | dict[str, Any]:
        """ValueError if there is no such member or option."""
        kind = _kind_of(value)
        table: Mapping[str, Any] = {"kind": kind} if isinstance(value, str) else value
        if kind == AUTO:
            if len(table) > 1:
                raise ValueError(f"{AUTO} has no options: set the kind too")
            return AUTO
        try:
            checked = options_model(kind, self.family.options_of(kind)).model_validate(table)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
        return {"kind": kind, **checked.given} if checked.given else kind


def _kind_of(value: str | Mapping[str, Any]) -> str:
    """The chosen kind, given alone or in a table."""
    return str(value if isinstance(value, str) else value.get("kind"))


SearchTable = Annotated[str | dict[str, Any], TableOf(SEARCHES)]

RankingTable = Annotated[str | dict[str, Any], TableOf(RANKINGS)]

RISK_DRAWS = 16


def _width(default: int) -> Any:
    return option(
        default, "paths kept", ge=1, flag="--beam", limit="paths", absent="the run's search.beam"
    )


@SEARCHES.options("greedy")
@dataclass(frozen=True)
class GreedyOptions(MethodOptions):
    """The most probable token at each step; ties go to the lower id."""

    takes_n_best: ClassVar[bool] = False


@SEARCHES.options("beam")
@dataclass(frozen=True)
class BeamOptions(MethodOptions):
    """The best paths, `width` at a time."""

    width: int = _width(5)
    _: KW_ONLY
    patience: float | None = option(
        None,
        "stop when this many times the beam width of outputs have ended, instead of at a "
        "proved optimum",
        gt=0,
    )


@SEARCHES.options("textbook")
@dataclass(frozen=True)
class TextbookOptions(BeamOptions):
    """Textbook beam search: by log-probability, until the best path is finished."""


@SEARCHES.options("diverse")
@dataclass(frozen=True)
class DiverseOptions(MethodOptions):
    """Beam search in groups that are penalized for repeating one another's tokens."""

    title: ClassVar[str] = "diverse beam"

    width: int = _width(6)
    groups: int = option(3, "groups into which the beam is divided", ge=1, limit="paths")
    strength: float = option(0.5, "penalty for a token that another group wrote", ge=0)


@SEARCHES.options("stochastic")
@dataclass(frozen=True)
class StochasticOptions(MethodOptions):
    """Different outputs, drawn without replacement."""

    title: ClassVar[str] = "stochastic beam"
    is_random: ClassVar[bool] = True

    width: int = _width(5)
    temperature: float = option(1.0, "above 1 more varied, below 1 less", gt=0)
    seed: int = option(1, "of the random draws", ge=0, le=LARGEST_SEED)


@SEARCHES.options("sample")
@dataclass(frozen=True)
class SampleOptions(MethodOptions):
    """Samples from the model's distribution."""

    is_random: ClassVar[bool] = True

    temperature: float = option(1.0, "above 1 more varied, below 1 less", gt=0)
    top_k: int = option(0, "sample from this many most probable tokens; 0: all", ge=0)
    top_p: float = option(
        1.0,
        "nucleus: sample from the most probable tokens with this total probability",
        gt=0,
        le=1,
        suggested=0.95,
    )
    min_p: float = option(
        0.0, "sample from tokens with at least this fraction of the highest probability", ge=0, le=1
    )
    draws: int = option(1, "samples per input", ge=1, limit="paths", absent="the number requested")
    seed: int = option(1, "of the random draws", ge=0, le=LARGEST_SEED)


@SEARCHES.options("risk")
@dataclass(frozen=True)
class RiskOptions(MethodOptions):
    """Minimum Bayes risk: the sample most similar to all others."""

    title: ClassVar[str] = "minimum risk"
    is_random: ClassVar[bool] = True

    @classmethod
    def options(cls) -> tuple[PartOption, ...]:
        """The options of sampling, with at least two samples to compare."""
        return tuple(
            replace(each, default=RISK_DRAWS, ge=2, absent="") if each.name == "draws" else each
            for each in SampleOptions.options()
        )


@SEARCHES.options("exact")
@dataclass(frozen=True)
class ExactOptions(MethodOptions):
    """The exact optimum, or the best output known when a limit stops the search."""

    _: KW_ONLY
    expansions: int = option(
        10_000, "most paths to expand", ge=1, limit="expansions", suggested=1_000
    )


@SEARCHES.options("exhaustive")
@dataclass(frozen=True)
class ExhaustiveOptions(MethodOptions):
    """Every path, to its end or the longest length, without pruning."""

    forks: int = option(20_000, "most paths of a sentence; more are an error", ge=1)


@SEARCHES.options("completions")
@dataclass(frozen=True)
class CompletionsOptions(MethodOptions):
    """The most probable tokens after the prefix, each completed."""

    takes_n_best: ClassVar[bool] = False
    returns_all: ClassVar[bool] = True

    count: int = option(
        5, "number of tokens to complete", ge=1, limit="paths", absent="5, or the number requested"
    )
    width: int = _width(3)


@SEARCHES.options("best-path")
@dataclass(frozen=True)
class BestPathOptions(MethodOptions):
    """CTC: the most probable symbol of every source step, with repeats merged and blanks dropped;
    the labelling of the best path, not always the best labelling.
    """

    takes_n_best: ClassVar[bool] = False


@SEARCHES.options("prefix-beam")
@dataclass(frozen=True)
class PrefixBeamOptions(MethodOptions):
    """CTC: the `width` most probable prefixes after every source step, each summed over
    its paths.
    """

    width: int = _width(5)
