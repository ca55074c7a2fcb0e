"""What a request may say, and the search and wishes that follow from it (S7)."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from seqloom.config import SearchConfig, ServingConfig
from seqloom.errors import LimitError
from seqloom.prediction import OutputOptions
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Exact,
    Greedy,
    MinimumRisk,
    Ranking,
    Sample,
    Search,
    StochasticBeam,
)
from seqloom.serving.inputs import Input, StrictModel, check_input

__all__ = ["PredictRequest", "ScoreRequest", "SearchRequest", "check_sizes"]

HIGHEST = 2**31 - 1  # of any whole number; the server's limits are far lower
Count = Annotated[int, Field(ge=0, le=HIGHEST)]
Positive = Annotated[int, Field(ge=1, le=HIGHEST)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
PositiveNumber = Annotated[float, Field(gt=0, le=1_000)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class GreedyRequest(StrictModel):
    """The likeliest token, step after step."""

    kind: Literal["greedy"]

    def search(self, _ranking: Ranking, _n_best: int) -> Search:
        return Greedy()


class BeamRequest(StrictModel):
    """The best paths, `width` at a time."""

    kind: Literal["beam"]
    width: Positive = 5

    def search(self, ranking: Ranking, n_best: int) -> Search:
        return Beam(max(self.width, n_best), ranking)


class DiverseRequest(StrictModel):
    """A beam in groups that keep away from one another's tokens."""

    kind: Literal["diverse"]
    width: Positive = 6
    groups: Positive = 3
    strength: Annotated[float, Field(ge=0, le=1_000)] = 0.5

    def search(self, ranking: Ranking, _n_best: int) -> Search:
        return DiverseBeam(self.width, self.groups, self.strength, ranking)


class StochasticRequest(StrictModel):
    """Different outputs, drawn without replacement."""

    kind: Literal["stochastic"]
    width: Positive = 5
    temperature: PositiveNumber = 1.0
    seed: Seed = 1

    def search(self, _ranking: Ranking, _n_best: int) -> Search:
        return StochasticBeam(self.width, self.temperature, self.seed)


class SamplingOptions(StrictModel):
    """How draws are made."""

    temperature: PositiveNumber = 1.0
    top_k: Count = 0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    min_p: Fraction = 0.0
    seed: Seed = 1

    def sample(self, draws: int) -> Sample:
        return Sample(self.temperature, self.top_k, self.top_p, self.min_p, draws, self.seed)


class SampleRequest(SamplingOptions):
    """Draws from the model's distribution."""

    kind: Literal["sample"]
    draws: Positive | None = None

    def search(self, _ranking: Ranking, n_best: int) -> Search:
        return self.sample(n_best if self.draws is None else self.draws)


class RiskRequest(SamplingOptions):
    """The draw most like all the others."""

    kind: Literal["risk"]
    draws: Annotated[int, Field(ge=2, le=HIGHEST)] = 16

    def search(self, _ranking: Ranking, _n_best: int) -> Search:
        return MinimumRisk(self.sample(self.draws))


class ExactRequest(StrictModel):
    """The best output there is, or the best known when so many paths have been read."""

    kind: Literal["exact"]
    expansions: Positive = 1_000

    def search(self, ranking: Ranking, _n_best: int) -> Search:
        return Exact(ranking, self.expansions)


class CompletionsRequest(StrictModel):
    """The likeliest tokens after the prefix, each completed."""

    kind: Literal["completions"]
    count: Positive = 5
    width: Positive = 3

    def search(self, ranking: Ranking, _n_best: int) -> Search:
        return Completions(self.count, self.width, ranking)


SearchRequest = Annotated[
    GreedyRequest
    | BeamRequest
    | DiverseRequest
    | StochasticRequest
    | SampleRequest
    | RiskRequest
    | ExactRequest
    | CompletionsRequest,
    Field(discriminator="kind"),
]

EXAMPLE: dict[str, Any] = {
    "inputs": ["Elle était seule dans la maison."],
    "search": {"kind": "beam", "width": 5},
    "n_best": 1,
}


class PredictRequest(StrictModel):
    """Inputs, how outputs are looked for, and what is told with them."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    model: str | None = Field(None, description="which model, by its name; the first if absent")
    inputs: list[Input] = Field(
        description="texts, turns, files or series, each of which has an output", min_length=1
    )
    search: SearchRequest | None = Field(None, description="the model's own choice if absent")
    n_best: Positive = Field(1, description="outputs for each input")
    attention: bool = Field(False, description="tell how each token looked at the source")
    alternatives: Count = Field(0, description="likeliest tokens to tell of each step")
    tree: bool = Field(False, description="tell all that the search looked at")
    prefix: str | list[str] = Field("", description="how outputs begin: all, or each")
    prefix_tokens: list[str] = Field(
        [], description="how all outputs begin, in tokens as answers name them"
    )
    require: list[str] = Field([], description="words that every output contains")
    forbid: list[str] = Field([], description="words that no output contains")
    no_repeat: Count = Field(0, description="so many tokens in a row are not written twice")

    def build_search(self, config: SearchConfig) -> Search | None:
        """The search asked for; None leaves it to the model."""
        if self.search is None:
            return None
        return self.search.search(Ranking.from_config(config), self.n_best)

    def output_options(self) -> OutputOptions:
        """What is wished of the outputs."""
        prefix = self.prefix if isinstance(self.prefix, str) else tuple(self.prefix)
        return OutputOptions(
            prefix,
            tuple(self.require),
            tuple(self.forbid),
            self.no_repeat,
            self.attention,
            self.alternatives,
            self.tree,
        )


class ScoreRequest(StrictModel):
    """Pairs of an input and an output, of which the likelihood is wanted."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"pairs": [["Elle est seule.", "She is alone."]]}]}
    )

    model: str | None = Field(None, description="which model, by its name; the first if absent")
    pairs: list[Annotated[tuple[Input, str], Field(strict=False)]] = Field(
        description="an input and an output each", min_length=1
    )


def check_sizes(request: PredictRequest | ScoreRequest, limits: ServingConfig) -> None:
    """LimitError that names the first limit which a request exceeds."""
    if isinstance(request, ScoreRequest):
        _check_limit("inputs", len(request.pairs), limits.inputs)
        _check_inputs("pairs", [source for source, _ in request.pairs], limits)
        _check_inputs("pairs", [target for _, target in request.pairs], limits)
        return
    _check_limit("inputs", len(request.inputs), limits.inputs)
    _check_inputs("inputs", request.inputs, limits)
    prefixes = [request.prefix] if isinstance(request.prefix, str) else request.prefix
    if not isinstance(request.prefix, str) and len(prefixes) != len(request.inputs):
        raise LimitError(
            f"prefix: there are {len(prefixes):,} for {len(request.inputs):,} inputs; "
            "give one for each, or one text for all"
        )
    _check_inputs("prefix", prefixes, limits)
    _check_limit(
        "characters", sum(map(len, request.prefix_tokens)), limits.characters, said="prefix_tokens"
    )
    for name, phrases in (("require", request.require), ("forbid", request.forbid)):
        _check_limit("phrases", len(phrases), limits.phrases, said=name)
        _check_inputs(name, phrases, limits)
    _check_limit("n_best", request.n_best, limits.n_best)
    _check_limit("alternatives", request.alternatives, limits.alternatives)
    _check_limit("characters", request.no_repeat, limits.characters, said="no_repeat")
    if request.search is not None:
        for name in ("width", "draws", "count", "groups"):
            _check_limit("paths", getattr(request.search, name, None) or 0, limits.paths, said=name)
        most = getattr(request.search, "expansions", 0)
        _check_limit("expansions", most, limits.expansions)


def _check_limit(limit: str, count: int, most: int, *, said: str | None = None) -> None:
    if count > most:
        raise LimitError(f"{said or limit}: {count:,} is more than this server's {limit}, {most:,}")


def _check_inputs(name: str, inputs: Sequence[Input], limits: ServingConfig) -> None:
    for number, given in enumerate(inputs, start=1):
        try:
            check_input(given, limits)
        except LimitError as error:
            raise LimitError(f"{name}, number {number}: {error}") from None
