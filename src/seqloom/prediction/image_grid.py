"""What of a picture a decoder looks at (S3.4), and inputs that stand for any other."""

from typing import TYPE_CHECKING

import torch

from seqloom.fields import Field
from seqloom.prediction.inputs import EncodedInput, pad_batch

if TYPE_CHECKING:
    from seqloom.prediction.text_predictor import TextPredictor

__all__ = ["dummy_input", "grid_shape", "picture_grid"]


def dummy_input(field: Field) -> EncodedInput:
    """An input that a model can read, whatever its source is made of."""
    return EncodedInput(0, field.items.placeholder(closing=field.closing))


def grid_shape(model: "TextPredictor", cells: int) -> tuple[int, int]:
    """Rows and columns of so many cells of a picture; one row where they are no grid."""
    return model.network.encoder.grid_shape(cells)


@torch.inference_mode()
def picture_grid(model: "TextPredictor") -> tuple[int, int] | None:
    """Rows and columns of what can be looked at in every picture; None where none are read."""
    if model.source.items.pixels is None:
        return None
    source = pad_batch([dummy_input(model.source).values])
    return grid_shape(model, int(model.encoder.encode(source).source_lengths(source)[0]))
