"""Requests in the tokens of a model, made once for all that ask for the same.

Most requests of a program differ in their inputs alone. What such a request asks of the model, and
what an input of a length costs by it, is worked out for the first of them.
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

MOST_PLANS = 256  # that are remembered


@dataclass(frozen=True)
class InputCost:
    """What decoding an input takes."""

    positions: int  # that are read for it, at most
    whole: bool  # whether it can be searched for in one go, and soon enough to be left alone


@dataclass
class DecodingPlan:
    """What is asked of a model, and what inputs cost by it."""

    model: TextPredictor
    asked: DecodingRequest
    _known: dict[int, InputCost] = field(default_factory=dict)  # by the length of an input

    def costs(self, inputs: Sequence[EncodedInput]) -> list[InputCost]:
        """Of each of these inputs: of one length the same, unless each begins in its own way."""
        if len(self.asked.constraints.prefixes) > 1 or self.asked.beginnings:
            return [self._cost(each) for each in inputs]
        for each in inputs:
            if len(each.values) not in self._known:
                self._known[len(each.values)] = self._cost(each)
        return [self._known[len(each.values)] for each in inputs]

    def check_work(self, inputs: Sequence[EncodedInput], limits: ServingConfig) -> list[InputCost]:
        """What each of these inputs costs; LimitError where all are more than a server allows."""
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
    """The plans of one server, by model and by what is asked."""

    def __init__(self, limits: ServingConfig) -> None:
        self._limits = limits
        self._plans: dict[Hashable, DecodingPlan] = {}

    def plan(
        self, model: TextPredictor, request: PredictRequest, *, prefix: str | None = None
    ) -> DecodingPlan:
        """What a request asks of a model; ConfigError where it cannot be met.

        A prefix that is given in tokens is told apart.
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
            plan = self._plans[key] = DecodingPlan(model, asked)
        return plan
