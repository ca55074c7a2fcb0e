"""Searches run entirely by the compiled core."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol

import numpy as np

from seqloom.config import Config, SearchConfig
from seqloom.engine.core_model import Engine
from seqloom.engine.loop import Bounds
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.output import Output
from seqloom.prediction.request import DecodingRequest, DecodingResult, PendingInput, Tag

if TYPE_CHECKING:
    from seqloom.search import StableToken

__all__ = [
    "WholeBatch",
    "bounds_of",
    "fits_whole_batch",
    "search_whole",
]


MOST_WORK = 2_000  # most tokens of an input's paths for an uninterrupted search


class EngineModel(Protocol):
    """The interface of a model with an engine."""

    @property
    def config(self) -> Config: ...

    @property
    def engine(self) -> Engine | None: ...

    def build_output(
        self, source: EncodedInput, found: DecodingResult, asked: DecodingRequest
    ) -> Output:
        """The output for an input, with the requested extras."""
        ...


def search_whole(
    model: EngineModel, inputs: Sequence[PendingInput[Tag]], *, threads: int
) -> dict[Tag, Output] | None:
    """Decode inputs of one request on so many threads; return outputs by tag.

    None if the core does not support the search or the request needs details of its
    steps.
    """
    engine, asked = model.engine, inputs[0].request
    plan = asked.whole_plan
    if engine is None or engine.whole is None or plan is None:
        return None
    bounds = bounds_of(inputs, model.config.search)
    rows = [each.encoded.values for each in inputs]
    found = engine.whole.search_each(rows, plan, bounds, threads=threads)
    if asked.trace:
        every = dict(found)
        wanted = [asked.select(every[number]) for number in range(len(rows))]
        found = enumerate(engine.whole.attend(rows, wanted, bounds.start))
    return {
        inputs[number].tag: model.build_output(
            inputs[number].encoded,
            DecodingResult(outputs, [], len(rows[number])),
            inputs[number].request,
        )
        for number, outputs in found
    }


def fits_whole_batch(model: EngineModel, pending: PendingInput[Tag]) -> bool:
    """Whether an input can be decoded by the core in one call that is short enough not to be
    interrupted.
    """
    engine, plan = model.engine, pending.request.whole_plan
    if engine is None or engine.whole is None or plan is None:
        return False
    bounds = bounds_of([pending], model.config.search)
    return plan.width * int(bounds.longest.sum()) <= MOST_WORK


def bounds_of(inputs: Sequence[PendingInput[Tag]], options: SearchConfig) -> Bounds:
    """The length limits of inputs that may be decoded together."""
    constraints = inputs[0].request.constraints
    lengths = np.array([len(each.encoded.values) for each in inputs])
    return constraints.bounds(lengths, [each.line for each in inputs], options)


@dataclass
class WholeBatch(Generic[Tag]):
    """Inputs decoded together in one call of the core."""

    model: EngineModel
    pending: list[PendingInput[Tag]] = field(default_factory=list)

    @property
    def tags(self) -> list[Tag]:
        """The tags of the inputs that are not done."""
        return [each.tag for each in self.pending]

    @property
    def done(self) -> bool:
        """Whether no input is left."""
        return not self.pending

    def add(self, newcomers: Sequence[PendingInput[Tag]]) -> dict[Tag, Output]:
        """Queue these inputs for the next call."""
        self.pending = [*self.pending, *newcomers]
        return {}

    def advance(self) -> dict[Tag, Output]:
        """Decode all queued inputs on one thread."""
        inputs, self.pending = self.pending, []
        found = search_whole(self.model, inputs, threads=1)
        if found is None:
            raise TypeError("these inputs cannot be searched for as a whole")
        return found

    def cancel(self, tags: set[Tag]) -> None:
        """Cancel these inputs."""
        self.pending = [each for each in self.pending if each.tag not in tags]

    def stable_tokens(self, tag: Tag, known: int) -> "list[StableToken]":
        """Nothing: outputs are known only when complete."""
        return []
