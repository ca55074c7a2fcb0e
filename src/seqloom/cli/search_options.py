"""Options of all registered searches, and the search that a command line selects."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from seqloom.cli.completions import starting_so
from seqloom.cli.option_groups import OptionGroup
from seqloom.cli.panels import SEARCH
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.config import SearchConfig
    from seqloom.config.searches import PartOption
    from seqloom.search import Search

__all__ = ["SearchOptions"]

PREFIX = "search_"  # prefix that keeps parameter names apart from other options
FALLBACK = "beam"  # the search that options belong to unless one is named


@dataclass(frozen=True)
class SearchOptions(OptionGroup):
    """The given search options; the others have the search's or the run's defaults."""

    is_late: ClassVar[bool] = True

    kind: str | None = None
    given: Mapping[str, float] = field(default_factory=dict)  # by flag

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        from seqloom.config.searches import SEARCHES

        kinds = SEARCHES.kinds()
        told = typer.Option(
            "--search",
            help=f"{', '.join(kinds)}; the run's own choice if absent",
            rich_help_panel=SEARCH,
            autocompletion=starting_so(kinds),
        )
        return [
            _parameter("kind", Annotated[str | None, told]),
            *(_flag_parameter(flag, users) for flag, users in _flags().items()),
        ]

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "SearchOptions":
        flags = {_parameter_name(flag): flag for flag in _flags()}
        given = {flags[name]: value for name, value in values.items() if name in flags}
        told = {flag: value for flag, value in given.items() if value is not None}
        return cls(values[f"{PREFIX}kind"], told)

    @property
    def is_silent(self) -> bool:
        """Whether no search option is given."""
        return self.kind is None and not self.given

    @property
    def returns_all(self) -> bool:
        """Whether the search returns several outputs even if one is requested."""
        from seqloom.config.searches import SEARCHES

        return self.kind in SEARCHES and SEARCHES.options_of(str(self.kind)).returns_all

    def search(self, config: "SearchConfig", *, n_best: int = 1) -> "Search | None":
        """The selected search for so many outputs; None leaves it to the run."""
        if self.is_silent:
            return None
        from seqloom.config.searches import SEARCHES
        from seqloom.prediction.configured_search import build_search

        flags = _flags()
        kind = self.kind
        if kind is None and any(FALLBACK in flags[flag] for flag in self.given):
            kind = FALLBACK
        if kind is not None and kind not in SEARCHES.kinds():
            raise ConfigError(
                "there is no such search",
                place=f"--search {kind}",
                remedy=f"choose {_join_names(SEARCHES.kinds())}",
            )
        for flag in self.given:
            if kind not in flags[flag]:
                fitting = _join_names(list(flags[flag]))
                raise ConfigError(f"{flag} has a meaning only with --search {fitting}")
        options = {flags[flag][str(kind)].name: value for flag, value in self.given.items()}
        return build_search(str(kind), options, config, n_best=n_best)


def _flags() -> "dict[str, dict[str, PartOption]]":
    """Each flag, with the searches that have it and its option in each."""
    from seqloom.config.searches import SEARCHES

    found: dict[str, dict[str, PartOption]] = {}
    for kind, search in SEARCHES:
        for each in search.options():
            found.setdefault(each.flag, {})[kind] = each
    return found


def _flag_parameter(flag: str, users: "Mapping[str, PartOption]") -> inspect.Parameter:
    """One parameter for all searches with this flag; the searches check values that are not whole
    numbers.
    """
    first, *_ = users.values()
    bounds = [each.ge for each in users.values() if each.ge is not None]
    least = int(min(bounds)) if bounds and first.type is int else None
    meaning = f"{', '.join(users)}: {first.help}"
    told = typer.Option(flag, help=meaning, min=least, rich_help_panel=SEARCH)
    return _parameter(flag, Annotated[first.type | None, told])


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(_parameter_name(name), kind, annotation=annotation, default=None)


def _parameter_name(flag: str) -> str:
    return PREFIX + flag.removeprefix("--").replace("-", "_")


def _join_names(names: list[str]) -> str:
    return " or ".join(", ".join(names).rsplit(", ", 1))
