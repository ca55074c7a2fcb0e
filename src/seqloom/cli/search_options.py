"""From options of a command line to the search they ask for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.config import SearchConfig
    from seqloom.search import Search

__all__ = [
    "KINDS",
    "BeamOption",
    "NoRepeatOption",
    "SearchOption",
    "SearchOptions",
    "SeedOption",
    "TemperatureOption",
    "TopKOption",
    "TopPOption",
]

SAMPLING = ("temperature", "top_k", "top_p", "min_p", "draws", "seed")
KINDS: dict[str, tuple[str, ...]] = {
    "greedy": (),
    "beam": ("beam", "patience"),
    "diverse": ("beam", "groups", "strength"),
    "stochastic": ("beam", "temperature", "seed"),
    "sample": SAMPLING,
    "risk": SAMPLING,
    "exact": ("expansions",),
    "completions": ("beam",),
}
GROUPS, COMPLETIONS, DRAWS = 3, 5, 16  # unless told otherwise

SearchOption = Annotated[
    str | None,
    typer.Option("--search", help=f"{', '.join(KINDS)}; the run's own choice if absent"),
]
BeamOption = Annotated[int | None, typer.Option("--beam", min=1, help="paths kept")]
TemperatureOption = Annotated[
    float | None, typer.Option("--temperature", help="draws: above 1 more varied, below less")
]
TopKOption = Annotated[
    int | None, typer.Option("--top-k", min=0, help="draws: from so many likeliest tokens")
]
TopPOption = Annotated[
    float | None, typer.Option("--top-p", help="draws: from the likeliest with this share")
]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, help="of the draws")]
NoRepeatOption = Annotated[
    int, typer.Option("--no-repeat", min=0, help="tokens in a row that are not written twice")
]


@dataclass(frozen=True)
class SearchOptions:
    """What was said about the search; None is left to the search, or to the run."""

    kind: str | None = None
    beam: int | None = None
    groups: int | None = None
    strength: float | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    draws: int | None = None
    seed: int | None = None
    expansions: int | None = None
    patience: float | None = None

    def search(self, config: "SearchConfig", *, n_best: int = 1) -> "Search | None":
        """The search asked for, fit for so many outputs; None leaves it to the run."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        kind = given.pop("kind", "beam" if given.keys() & {"beam", "patience"} else None)
        if kind is None and not given:
            return None
        if kind is not None and kind not in KINDS:
            raise ConfigError(f"--search {kind}: choose {_join_names(list(KINDS))}")
        for name in given:
            fitting = [each for each, names in KINDS.items() if name in names]
            if kind not in fitting:
                option = f"--{name.replace('_', '-')}"
                raise ConfigError(
                    f"{option} has a meaning only with --search {_join_names(fitting)}"
                )
        return _build_search(str(kind), given, config, n_best)


def _join_names(names: list[str]) -> str:
    return " or ".join(", ".join(names).rsplit(", ", 1))


def _build_search(
    kind: str, given: dict[str, Any], config: "SearchConfig", n_best: int
) -> "Search":
    from seqloom import search

    ranking = search.Ranking.from_config(config)
    width = given.pop("beam", max(config.beam, n_best))
    built: Search
    match kind:
        case "greedy":
            built = search.Greedy()
        case "beam" if "patience" in given:
            built = search.PatientBeam(width, ranking, given["patience"])
        case "beam":
            built = search.Beam(width, ranking)
        case "diverse":
            groups = given.pop("groups", GROUPS)
            even = -(-width // groups) * groups
            built = search.DiverseBeam(even, groups, ranking=ranking, **given)
        case "stochastic":
            built = search.StochasticBeam(width, **given)
        case "sample":
            built = search.Sample(**{"draws": n_best, **given})
        case "risk":
            built = search.MinimumRisk(search.Sample(**{"draws": max(DRAWS, n_best), **given}))
        case "completions":
            built = search.Completions(n_best if n_best > 1 else COMPLETIONS, width, ranking)
        case _:
            built = search.Exact(ranking, **given)
    return built
