"""Pairs of texts as the tensors that a finished model's network reads."""

from collections.abc import Sequence

from seqloom.errors import DataError
from seqloom.prediction import TextPredictor
from seqloom.prediction.inputs import pad_batch
from seqloom.training import Example

__all__ = ["example_of"]


def example_of(model: TextPredictor, pairs: Sequence[tuple[str, str]]) -> Example:
    """Sources and targets as one batch; a source too long for the model is cut as in use."""
    if not pairs:
        raise DataError("there is nothing to look at: give at least one pair of source and target")
    reader = model.input_reader
    sources = [reader.truncate(0, row).values for row in model.source.rows([s for s, _ in pairs])]
    targets = model.target.rows([target for _, target in pairs])
    return Example(pad_batch(sources), pad_batch(targets).values)
