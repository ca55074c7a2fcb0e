"""Plans of requests for a model, cached for requests with equal options.

Most requests of a program differ in their inputs alone. The plan of such a request, and the cost of
an input by length, is computed once.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from seqloom.errors import LimitError
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.request import DecodingRequest, PendingInput
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.prediction.whole_search import bounds_of, fits_whole_batch
from seqloom.serving.limits import ServingConfig
from seqloom.serving.requests import PredictRequest

__all__ = ["DecodingPlan", "DecodingPlans", "InputCost"]

MOST_PLANS = 256  # cached plans


@dataclass(frozen=True)
class InputCost:
    """The cost of decoding an input."""

    positions: int  # upper bound of positions read
    whole: bool  # whether it can be searched in one go, soon enough to run uninterrupted


@dataclass
class DecodingPlan:
    """A request's options for a model, and the cost of inputs."""

    model: TextPredictor
    asked: DecodingRequest
    paths: int  # hypotheses per input
    _known: dict[int, InputCost] = field(default_factory=dict)  # by length of an input

    def costs(self, inputs: Sequence[EncodedInput]) -> list[InputCost]:
        """The cost of each input; equal for equal lengths, unless inputs have prefixes of their
        own.
        """
        if len(self.asked.constraints.prefixes) > 1 or self.asked.beginnings:
            return [self._cost(each) for each in inputs]
        for each in inputs:
            if len(each.values) not in self._known:
                self._known[len(each.values)] = self._cost(each)
        return [self._known[len(each.values)] for each in inputs]

    def check_work(self, inputs: Sequence[EncodedInput], limits: ServingConfig) -> list[InputCost]:
        """The cost of each input; LimitError if the total exceeds the server's limit."""
        paths = self.asked.path_count
        if paths > limits.paths:
            raise LimitError(
                f"search: {paths:,} paths are more than this server's paths, {limits.paths:,}"
            )
        costs = self.costs(inputs)
        if (work := sum(each.positions for each in costs)) > limits.work:
            raise LimitError(
                f"inputs × paths × length: {work:,} is more than this server's work, "
                f"{limits.work:,}",
                remedy="send fewer inputs or a narrower search",
            )
        return costs

    def _cost(self, encoded: EncodedInput) -> InputCost:
        pending = PendingInput(None, encoded, encoded.number, self.asked)
        longest = int(bounds_of([pending], self.model.config.search).longest[0])
        return InputCost(self.asked.work(longest), fits_whole_batch(self.model, pending))


class DecodingPlans:
    """The plans of a server, by model and options."""

    def __init__(self, limits: ServingConfig) -> None:
        self._limits = limits
        self._plans: dict[Hashable, DecodingPlan] = {}

    def clear(self) -> None:
        """Clear the cache, with its references to models."""
        self._plans.clear()

    def plan(
        self, model: TextPredictor, request: PredictRequest, *, prefix: str | None = None
    ) -> DecodingPlan:
        """The plan of a request for a model; ConfigError if it is impossible.

        A prefix given as tokens is treated separately.
        """
        options = request.output_options()
        if prefix is not None:
            options = replace(options, prefix=prefix)
        search = request.search and (request.search.kind, *request.search.given.items())
        key = (id(model), search, request.n_best, options)
        plan = self._plans.get(key)
        if plan is None or plan.model is not model:
            wanted = request.prediction_request(model.config.search, self._limits)
            asked = model.decoding_request(replace(wanted, options=options))
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = DecodingPlan(model, asked, asked.paths)
        return plan
