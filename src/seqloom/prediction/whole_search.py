"""Plain searches that the compiled core carries out as a whole, without a step in Python."""

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

from seqloom.engine.selection import Engine
from seqloom.prediction.decoding import DecodingModel, PendingInput, limits_for
from seqloom.prediction.output import Output
from seqloom.prediction.request import DecodingResult

__all__ = ["search_whole"]

Tag = TypeVar("Tag", bound=Hashable)


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
    found = engine.compiled.search(rows, asked.search, limits, threads=threads)
    if found is None:
        return None
    if asked.trace:
        wanted = [asked.wanted(outputs) for outputs in found]
        found = engine.compiled.attend(rows, wanted, limits)
    return {
        each.tag: model.build_output(
            each.encoded, DecodingResult(outputs, [], len(row)), each.request
        )
        for each, row, outputs in zip(inputs, rows, found, strict=True)
    }
