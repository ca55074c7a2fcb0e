"""Plain searches that the compiled core carries out as a whole, without a step in Python."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol

import torch

from seqloom.engine.selection import Engine
from seqloom.prediction.batching import DecodingModel, PendingInput, Tag, limits_for
from seqloom.prediction.output import Output
from seqloom.prediction.request import DecodingResult
from seqloom.search import (
    StableToken,
)

__all__ = [
    "WholeBatch",
    "fits_whole_batch",
    "search_whole",
]


MOST_WORK = 2_000  # tokens of all paths of an input up to which nobody need look in between


class EngineModel(DecodingModel, Protocol):
    """A model that an engine may run."""

    @property
    def engine(self) -> Engine | None: ...


def search_whole(
    model: EngineModel, inputs: Sequence[PendingInput[Tag]], *, threads: int
) -> dict[Tag, Output] | None:
    """The outputs of inputs with one request, by their tags, on so many threads.

    None where the core has no loop for the search, or something is asked for that only a search
    step by step tells.
    """
    engine, asked = model.engine, inputs[0].request
    if engine is None or engine.compiled is None or asked.options.tree:
        return None
    limits = limits_for(inputs, model.config.search)
    rows = [each.encoded.values for each in inputs]
    found = engine.compiled.search_each(rows, asked.search, limits, threads=threads)
    if found is None:
        return None
    if asked.trace:
        every = dict(found)
        wanted = [asked.select(every[number]) for number in range(len(rows))]
        found = enumerate(engine.compiled.attend(rows, wanted, limits))
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
    engine, asked = model.engine, pending.request
    if engine is None or engine.compiled is None or asked.options.tree:
        return False
    limits = limits_for([pending], model.config.search)
    if engine.compiled.plan(asked.search, limits) is None:
        return False
    return asked.search.paths * int(limits.longest.sum()) <= MOST_WORK


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

    @torch.inference_mode()
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

    def stable_tokens(self, tag: Tag, known: int) -> list[StableToken]:
        """None, since nothing is known of an output before all of it is."""
        return []
