"""Pairs of texts as the tensors that a finished model's network reads."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqloom.errors import DataError
from seqloom.fields import EMPTY, END, TextField
from seqloom.model import Source
from seqloom.prediction import Model
from seqloom.training import Example

__all__ = ["example_of"]


def example_of(model: Model, pairs: Sequence[tuple[str, str]]) -> Example:
    """Sources and targets as one batch; a source too long for the model is cut as in use."""
    if not pairs:
        raise DataError("there is nothing to look at: give at least one pair of source and target")
    sources = _ended(model.source, [pair[0] for pair in pairs], most=model.config.data.max_source)
    targets = _ended(model.target, [pair[1] for pair in pairs])
    lengths = torch.tensor([len(row) for row in sources])
    return Example(Source(_padded(sources), lengths), _padded(targets))


def _ended(field: TextField, texts: list[str], *, most: int | None = None) -> list[Tensor]:
    rows = [ids[:most].tolist() for ids in field.encode_many(texts)]
    return [torch.tensor([*row, END]) for row in rows]


def _padded(rows: list[Tensor]) -> Int[Tensor, "B T"]:
    return pad_sequence(rows, batch_first=True, padding_value=EMPTY)
