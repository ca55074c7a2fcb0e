"""Searches and rankings as families, and what users may set of their members.

A search or a ranking is a dataclass registered under its name; a field made by `option` is one that
users may set. The command line, HTTP requests, a run's configuration, the playground and the manual
all read the same list.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
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
    """Searches; one that registers its options alone implements them itself."""

    def load_part(self, kind: str) -> Any:
        """The class of a search; ConfigError where there is no such search."""
        self.load()
        return self.parts.get(kind) or self.options_of(kind)


SEARCHES = SearchFamily("search", home="seqloom.search.methods")

RANKINGS: Family[Any, Any] = Family("ranking", home="seqloom.search.ranking")

AUTO = "auto"  # the search that suits the task: a beam, or draws of a language model

OPEN_TABLES = ("search.method.", "search.ranking.")  # whose names are checked with their values

LARGEST_COUNT = 2**31 - 1  # of whole numbers without a bound of their own

LARGEST_SEED = 2**63 - 1

LARGEST_NUMBER = 1_000.0  # of other numbers without one


@dataclass(frozen=True)
class PartOption:
    """An option of a search or a ranking, as every front end presents it."""

    name: str
    type: type[int] | type[float]
    default: float | None
    help: str
    flag: str  # on the command line, where it is not --name
    ge: float | None  # bounds
    gt: float | None
    le: float | None
    limit: str  # the limit of a server that bounds it, as well
    absent: str  # what holds where it is not given, if that is not the default
    suggested: float | None  # what an interactive front end begins with, if not with the default

    @property
    def most(self) -> float:
        """The upper bound of what a request or a configuration may ask for."""
        if self.le is not None:
            return self.le
        return LARGEST_COUNT if self.type is int else LARGEST_NUMBER

    @property
    def meaning(self) -> str:
        """The help, with what holds where the option is not given."""
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
    """A dataclass field that users may set: its default, help and bounds.

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
    """The options of a search, which every search has as fields of its own.

    The first line of the docstring is the search's help.
    """

    title: ClassVar[str] = ""  # in a chooser, where it is not the kind
    takes_n_best: ClassVar[bool] = True  # gives as many outputs as are wanted
    returns_all: ClassVar[bool] = False  # all outputs found are told, however many are wanted
    is_random: ClassVar[bool] = False  # outputs are drawn

    @classmethod
    def options(cls) -> tuple[PartOption, ...]:
        """What users may set."""
        return field_options(cls)


def _number_type(annotation: Any) -> type[int] | type[float]:
    return float if float in (annotation, *getattr(annotation, "__args__", ())) else int


class OptionsTable(BaseModel):
    """A member of a family by its kind, with its options: every name known, every value checked."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    kind: str

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, by name."""
        told = self.model_dump(exclude={"kind"}, exclude_unset=True)
        return {name: value for name, value in told.items() if value is not None}


def options_model(kind: str, part: Any) -> type[OptionsTable]:
    """What a table of options for a search or a ranking must look like."""
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
    """The options a part names itself, or those of its fields."""
    named: tuple[PartOption, ...] = getattr(part, "options", lambda: field_options(part))()
    return named


class TableOf(PartMark):
    """Marks an option as a member of a family: its kind alone, or a table with its options."""

    def __init__(self, family: Family[Any, Any]) -> None:
        super().__init__(family)
        self.family = family

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: str | dict[str, Any]) -> str | dict[str, Any]:
        """ValueError where there is no such member or option."""
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
    """The kind that is chosen, alone or in a table."""
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
    """The likeliest token, step after step; among equals, the token with the lower number."""

    takes_n_best: ClassVar[bool] = False


@SEARCHES.options("beam")
@dataclass(frozen=True)
class BeamOptions(MethodOptions):
    """The best paths, `width` at a time."""

    width: int = _width(5)
    _: KW_ONLY
    patience: float | None = option(
        None, "stop when this many times the paths kept have ended, rather than when sure", gt=0
    )


@SEARCHES.options("textbook")
@dataclass(frozen=True)
class TextbookOptions(BeamOptions):
    """The best paths by plain log-probability, until the best of all is a finished one."""


@SEARCHES.options("diverse")
@dataclass(frozen=True)
class DiverseOptions(MethodOptions):
    """A beam in groups that keep away from one another's tokens."""

    title: ClassVar[str] = "diverse beam"

    width: int = _width(6)
    groups: int = option(3, "groups that share the paths", ge=1, limit="paths")
    strength: float = option(0.5, "cost of a token that another group wrote", ge=0)


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
    """Draws from the model's distribution."""

    is_random: ClassVar[bool] = True

    temperature: float = option(1.0, "above 1 more varied, below 1 less", gt=0)
    top_k: int = option(0, "only this many of the likeliest tokens; 0 is all", ge=0)
    top_p: float = option(
        1.0,
        "only the likeliest tokens with this share of the probability",
        gt=0,
        le=1,
        suggested=0.95,
    )
    min_p: float = option(0.0, "only tokens this many times as likely as the likeliest", ge=0, le=1)
    draws: int = option(
        1, "outputs drawn for each input", ge=1, limit="paths", absent="as many as are wanted"
    )
    seed: int = option(1, "of the random draws", ge=0, le=LARGEST_SEED)


@SEARCHES.options("risk")
@dataclass(frozen=True)
class RiskOptions(MethodOptions):
    """The draw most like all the others."""

    title: ClassVar[str] = "minimum risk"
    is_random: ClassVar[bool] = True

    @classmethod
    def options(cls) -> tuple[PartOption, ...]:
        """Those of the draws, of which there are at least two to compare."""
        return tuple(
            replace(each, default=RISK_DRAWS, ge=2, absent="") if each.name == "draws" else each
            for each in SampleOptions.options()
        )


@SEARCHES.options("exact")
@dataclass(frozen=True)
class ExactOptions(MethodOptions):
    """The best output there is, or the best known when a limit stops the search."""

    _: KW_ONLY
    expansions: int = option(
        10_000, "paths read before giving up", ge=1, limit="expansions", suggested=1_000
    )


@SEARCHES.options("exhaustive")
@dataclass(frozen=True)
class ExhaustiveOptions(MethodOptions):
    """Every path, to its end or to the longest length, without any pruning."""

    forks: int = option(20_000, "paths of a sentence at most, beyond which it is an error", ge=1)


@SEARCHES.options("completions")
@dataclass(frozen=True)
class CompletionsOptions(MethodOptions):
    """The likeliest tokens after the prefix, each completed."""

    takes_n_best: ClassVar[bool] = False
    returns_all: ClassVar[bool] = True

    count: int = option(
        5, "tokens that are completed", ge=1, limit="paths", absent="5, or as many as are wanted"
    )
    width: int = _width(3)


@SEARCHES.options("best-path")
@dataclass(frozen=True)
class BestPathOptions(MethodOptions):
    """CTC: the likeliest symbol of every step of the source, with repeats merged and blanks
    dropped: the labelling of the likeliest path, which need not be the likeliest labelling."""

    takes_n_best: ClassVar[bool] = False


@SEARCHES.options("prefix-beam")
@dataclass(frozen=True)
class PrefixBeamOptions(MethodOptions):
    """CTC: the `width` likeliest prefixes after every step of the source, each over all its
    paths."""

    width: int = _width(5)
