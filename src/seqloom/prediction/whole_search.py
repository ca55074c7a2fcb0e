"""Plain searches that the compiled core carries out as a whole, without a step in Python."""

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


MOST_WORK = 2_000  # tokens of all paths of an input up to which nobody need look in between


class EngineModel(Protocol):
    """A model that an engine may run."""

    @property
    def config(self) -> Config: ...

    @property
    def engine(self) -> Engine | None: ...

    def build_output(
        self, source: EncodedInput, found: DecodingResult, asked: DecodingRequest
    ) -> Output:
        """The output for an input, with what was asked for beside it."""
        ...


def search_whole(
    model: EngineModel, inputs: Sequence[PendingInput[Tag]], *, threads: int
) -> dict[Tag, Output] | None:
    """The outputs of inputs with one request, by their tags, on so many threads.

    None where the core has no loop for the search, or something is asked for that only a search
    step by step tells.
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
    """Whether an input can be searched for as a whole, and soon enough to be left alone."""
    engine, plan = model.engine, pending.request.whole_plan
    if engine is None or engine.whole is None or plan is None:
        return False
    bounds = bounds_of([pending], model.config.search)
    return plan.width * int(bounds.longest.sum()) <= MOST_WORK


def bounds_of(inputs: Sequence[PendingInput[Tag]], options: SearchConfig) -> Bounds:
    """The lengths of the outputs of inputs that may be decoded together."""
    constraints = inputs[0].request.constraints
    lengths = np.array([len(each.encoded.values) for each in inputs])
    return constraints.bounds(lengths, [each.line for each in inputs], options)


@dataclass
class WholeBatch(Generic[Tag]):
    """Inputs that are searched for together, from their first step to their last in one."""

    model: EngineModel
    pending: list[PendingInput[Tag]] = field(default_factory=list)

    @property
    def tags(self) -> list[Tag]:
        """Those of the inputs that are not done."""
        return [each.tag for each in self.pending]

    @property
    def done(self) -> bool:
        """Whether no input is left."""
        return not self.pending

    def add(self, newcomers: Sequence[PendingInput[Tag]]) -> dict[Tag, Output]:
        """Let these inputs wait for the next search."""
        self.pending = [*self.pending, *newcomers]
        return {}

    def advance(self) -> dict[Tag, Output]:
        """The outputs of all that wait, on one thread."""
        inputs, self.pending = self.pending, []
        found = search_whole(self.model, inputs, threads=1)
        if found is None:
            raise TypeError("these inputs cannot be searched for as a whole")
        return found

    def cancel(self, tags: set[Tag]) -> None:
        """Go on without these inputs."""
        self.pending = [each for each in self.pending if each.tag not in tags]

    def stable_tokens(self, tag: Tag, known: int) -> "list[StableToken]":
        """None, since nothing is known of an output before all of it is."""
        return []
