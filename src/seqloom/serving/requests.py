"""What a request may say, and the prediction request that follows from it (S7)."""

from collections.abc import Mapping, Sequence
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from seqloom.config import SearchConfig
from seqloom.config.searches import (
    SEARCHES,
    OptionsTable,
    PartOption,
    options_model,
)
from seqloom.engine.loop import configured_plan
from seqloom.errors import LimitError
from seqloom.prediction.configured_search import build_search
from seqloom.prediction.request import (
    NO_OPTIONS,
    OutputOptions,
    PredictionRequest,
)
from seqloom.serving.inputs import Input, StrictModel, check_input
from seqloom.serving.limits import ServingConfig

__all__ = [
    "LookRequest",
    "PredictRequest",
    "ScoreRequest",
    "Switch",
    "check_inputs",
    "check_limit",
    "describe_searches",
    "look_cost",
    "predict_request_model",
]

LONGEST_INTEGRAL = 256  # points at which gradients are integrated, at most
HELD_OUT_COST = 3_000  # ... and the positions that this reads, about
MOST_SWITCHES = 64
NO_TEXTS: Any = ()  # which, other than a list, no request needs a copy of
USUAL_FIELDS = frozenset({"model", "inputs", "search", "n_best"})  # most requests have no other
Number = Annotated[int, Field(ge=1, le=10_000)]
HIGHEST = 2**31 - 1  # of any whole number; the server's limits are far lower
Count = Annotated[int, Field(ge=0, le=HIGHEST)]
Positive = Annotated[int, Field(ge=1, le=HIGHEST)]


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


Inputs = Annotated[list[Input], BeforeValidator(_as_list, json_schema_input_type=str | list[Input])]
"""Several inputs; one text may stand for itself."""

EXAMPLE: dict[str, Any] = {
    "inputs": ["Elle était seule dans la maison."],
    "search": {"kind": "beam", "width": 5},
    "n_best": 1,
}


class PredictRequest(StrictModel):
    """Inputs, how outputs are looked for, and what is told with them."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    model: str | None = Field(None, description="which model, by its name; the first if absent")
    inputs: Inputs = Field(
        description="texts, objects with the names of columns, turns, files or series; each has an "
        "output; or one text",
        min_length=1,
    )
    search: OptionsTable | None = Field(None, description="the model's own choice if absent")
    n_best: Positive = Field(1, description="outputs for each input")
    attention: bool = Field(False, description="tell how each token looked at the source")
    alternatives: Count = Field(0, description="likeliest tokens to tell of each step")
    tree: bool = Field(False, description="tell all that the search looked at")
    prefix: str | list[str] = Field("", description="how outputs begin: all, or each")
    prefix_tokens: list[str] = Field(
        NO_TEXTS, description="how all outputs begin, in tokens as answers name them"
    )
    require: list[str] = Field(NO_TEXTS, description="words that every output contains")
    forbid: list[str] = Field(NO_TEXTS, description="words that no output contains")
    no_repeat: Count = Field(0, description="so many tokens in a row are not written twice")
    overlong: Literal["truncate", "error", "split"] | None = Field(
        None,
        description="what becomes of an input that is longer than the model takes; as in training "
        "if absent",
    )

    def prediction_request(self, config: SearchConfig, limits: ServingConfig) -> PredictionRequest:
        """What is asked of a model with this configuration; None leaves the search to it."""
        options = self.output_options()
        if self.search is None:
            return PredictionRequest(None, self.n_best, options)
        kind, given = self.search.kind, _options_within(self.search, limits)
        plan = configured_plan(kind, given, config, self.n_best)
        search = None if plan else build_search(kind, given, config, n_best=self.n_best)
        return PredictionRequest(search, self.n_best, options, plan)

    def output_options(self) -> OutputOptions:
        """What the outputs are to be, and what is to be told with them."""
        if self.model_fields_set <= USUAL_FIELDS:
            return NO_OPTIONS
        prefix = self.prefix if isinstance(self.prefix, str) else tuple(self.prefix)
        return OutputOptions(
            prefix=prefix,
            require=tuple(self.require),
            forbid=tuple(self.forbid),
            no_repeat=self.no_repeat,
            attention=self.attention,
            alternatives=self.alternatives,
            tree=self.tree,
            overlong=self.overlong,
        )

    def check_sizes(self, limits: ServingConfig) -> None:
        """LimitError that names the first limit which the request exceeds."""
        check_limit("inputs", len(self.inputs), limits.inputs)
        check_inputs("inputs", self.inputs, limits)
        if not self.model_fields_set <= USUAL_FIELDS:
            self._check_constraints(limits)
        check_limit("n_best", self.n_best, limits.n_best)
        check_limit("alternatives", self.alternatives, limits.alternatives)
        check_limit("characters", self.no_repeat, limits.characters, said="no_repeat")
        if self.search is not None:
            given = self.search.given
            for name, limit in _limited_options(self.search.kind):
                if name in given:
                    check_limit(limit, given[name], getattr(limits, limit), said=name)

    def _check_constraints(self, limits: ServingConfig) -> None:
        self._check_prefixes(limits)
        for name, phrases in (("require", self.require), ("forbid", self.forbid)):
            check_limit("phrases", len(phrases), limits.phrases, said=name)
            check_inputs(name, phrases, limits)

    def _check_prefixes(self, limits: ServingConfig) -> None:
        prefixes = [self.prefix] if isinstance(self.prefix, str) else self.prefix
        if not isinstance(self.prefix, str) and len(prefixes) != len(self.inputs):
            raise LimitError(
                f"prefix: there are {len(prefixes):,} for {len(self.inputs):,} inputs",
                remedy="give one for each, or one text for all",
            )
        check_inputs("prefix", prefixes, limits)
        size = sum(map(len, self.prefix_tokens))
        check_limit("characters", size, limits.characters, said="prefix_tokens")


class ScoreRequest(StrictModel):
    """Pairs of an input and an output, of which the likelihood is wanted."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"pairs": [["Elle est seule.", "She is alone."]]}]}
    )

    model: str | None = Field(None, description="which model, by its name; the first if absent")
    pairs: list[Annotated[tuple[Input, str], Field(strict=False)]] = Field(
        description="an input and an output each", min_length=1
    )

    def check_sizes(self, limits: ServingConfig) -> None:
        """LimitError that names the first limit which the request exceeds."""
        check_limit("inputs", len(self.pairs), limits.inputs)
        check_inputs("pairs", [source for source, _ in self.pairs], limits)
        check_inputs("pairs", [target for _, target in self.pairs], limits)


class Switch(StrictModel):
    """A part that is switched off: a head, or a gate of a recurrent unit or of one of its cells."""

    of: str | None = Field(None, description="of a head: cross, encoder or decoder")
    layer: Number = Field(1, description="of a head")
    head: Number | None = None
    at: str = Field("", description="of a gate: the unit, as steps name it")
    gate: str = ""
    cell: Annotated[int, Field(ge=0, le=100_000)] | None = Field(
        None, description="of a gate: one cell, counted from 0; all if absent"
    )


class LookRequest(StrictModel):
    """An input, the output that is looked at, and what is to be seen of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"input": "Elle est seule.", "show": "attention", "layer": 1}]
        }
    )

    model: str | None = Field(None, description="which model, by its name; the first if absent")
    input: Input = Field(description="as an input of /v1/predict")
    tokens: list[str] | None = Field(
        None,
        description="the output, in tokens as answers name them; the model's own if absent",
    )
    show: Literal["attention", "attribution", "steps", "unit", "net"] = Field(
        "attention", description="what is seen"
    )
    of: str | None = Field(
        None, description="attention: cross, encoder or decoder; the first of these if absent"
    )
    layer: Number | None = Field(None, description="counted from 1; the last if absent")
    head: Number | None = Field(None, description="counted from 1; all of them if absent")
    pool: Literal["mean", "max"] = Field("mean", description="what is made of all heads")
    method: Literal["gradient", "integrated", "erasure"] = Field(
        "gradient", description="how an attribution is computed"
    )
    at: str | None = Field(
        None,
        description="steps and unit: the recurrent unit, as steps name it; the first if absent",
    )
    table: str = Field("hidden", description="unit: a tensor of its state, or a gate")
    cell: Annotated[int, Field(ge=0, le=100_000)] = Field(
        0, description="unit: the cell, counted from 0, whose held-out inputs are looked for"
    )
    off: list[Switch] = Field(
        [],
        description="steps and net: heads and gates that are switched off",
        max_length=MOST_SWITCHES,
    )
    side: Literal["encoder", "decoder"] = Field("decoder", description="net: of the step")
    step: Annotated[int, Field(ge=0, le=100_000)] | None = Field(
        None,
        description="net: a step, counted from 0, that is seen however many there are",
    )

    def check_sizes(self, limits: ServingConfig) -> None:
        """LimitError that names the first limit which the request exceeds."""
        check_inputs("input", [self.input], limits)
        size = sum(map(len, self.tokens or ()))
        check_limit("characters", size, limits.characters, said="tokens")


def look_cost(request: LookRequest, characters: int) -> int:
    """Positions that are read for it, at most."""
    length = characters + len(request.tokens or "") + 1
    if request.show == "unit":
        return HELD_OUT_COST
    if request.show != "attribution":
        return length
    passes = {"gradient": 1, "integrated": LONGEST_INTEGRAL, "erasure": length}
    return length * passes[request.method]


def predict_request_model() -> type[PredictRequest]:
    """The body of a request for outputs, with a schema for each search registered now."""
    tables = (options_model(kind, search) for kind, search in SEARCHES)
    choice: Any = Annotated[reduce(or_, tables), Field(discriminator="kind")]
    told = PredictRequest.model_fields["search"].description
    body: dict[str, Any] = {"search": (choice | None, Field(None, description=told))}
    made: type[PredictRequest] = create_model(
        "PredictRequest", __base__=PredictRequest, __doc__=PredictRequest.__doc__, **body
    )
    return made


def describe_searches(limits: ServingConfig) -> list[dict[str, Any]]:
    """Every search with its options, for a chooser; no option goes beyond the server's limits."""
    return [
        {
            "kind": kind,
            "title": search.title or kind,
            "help": (search.__doc__ or "").strip().partition("\n")[0],
            "takes_n_best": search.takes_n_best,
            "random": search.is_random,
            "options": [
                {
                    "name": each.name,
                    "whole": each.type is int,
                    "default": _first_value(each),
                    "least": each.gt if each.ge is None else each.ge,
                    "most": min(each.most, getattr(limits, each.limit or "none", each.most)),
                    "help": each.meaning,
                }
                for each in search.options()
            ],
        }
        for kind, search in SEARCHES
    ]


def _first_value(option: PartOption) -> float | None:
    """What a chooser begins with; None leaves the option to the server."""
    if option.suggested is not None:
        return option.suggested
    return None if option.absent else option.default


@cache
def _limited_options(kind: str) -> list[tuple[str, str]]:
    """The options of a search that a limit of the server bounds, and the names of the limits."""
    options = SEARCHES.options_of(kind).options()
    return [(each.name, each.limit) for each in options if each.limit]


def _options_within(search: OptionsTable, limits: ServingConfig) -> Mapping[str, Any]:
    """The options given, and defaults that would exceed a limit of the server lowered to it."""
    lowered = {
        each.name: getattr(limits, each.limit)
        for each in SEARCHES.options_of(search.kind).options()
        if each.limit and not each.absent and (each.default or 0) > getattr(limits, each.limit)
    }
    return {**lowered, **search.given}


def check_limit(limit: str, count: int, most: int, *, said: str | None = None) -> None:
    """LimitError where a count exceeds a limit of the server."""
    if count > most:
        problem = f"{count:,} is more than this server's {limit}, {most:,}"
        raise LimitError(problem, place=said or limit)


def check_inputs(name: str, inputs: Sequence[Input], limits: ServingConfig) -> None:
    """LimitError that names the first input which is larger than this server takes."""
    for number, given in enumerate(inputs, start=1):
        try:
            check_input(given, limits)
        except LimitError as error:
            raise error.at(f"{name}, number {number}") from None
