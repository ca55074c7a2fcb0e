"""What of a picture a decoder looks at (S3.4), and inputs that stand for any other."""

from typing import TYPE_CHECKING

import numpy as np
import torch

from seqloom.fields import Field, Pixels, Series, Symbols
from seqloom.model.front_ends import FrontEndEncoder, PictureFrontEnd
from seqloom.prediction.inputs import EncodedInput, pad_batch

if TYPE_CHECKING:
    from seqloom.prediction.text_predictor import TextPredictor

__all__ = ["dummy_input", "grid_shape", "picture_grid"]

STEPS = 50  # of an input that can be of any length
MAX_HALVINGS = 16


def dummy_input(field: Field) -> EncodedInput:
    """An input that a model can read, whatever its source is made of."""
    items = field.items
    if isinstance(items, Symbols):
        shape = (2, 1 + items.spelling) if items.spelling else (2,)
        return EncodedInput(0, np.ones(shape, np.int32)[: 1 + field.closing])
    if isinstance(items, Pixels):
        return EncodedInput(0, np.full((1, items.count), 255, np.uint8))
    steps = items.steps if isinstance(items, Series) else STEPS
    return EncodedInput(0, np.zeros((steps, items.count), np.float32))


def grid_shape(model: "TextPredictor", cells: int) -> tuple[int, int]:
    """Rows and columns of so many cells of a picture: it was halved some times, or cut in columns.

    Where neither is so, the cells are one row.
    """
    encoder, pixels = model.network.encoder, model.source.items
    front = encoder.front if isinstance(encoder, FrontEndEncoder) else None
    in_cells = isinstance(front, PictureFrontEnd) and front.vectors.grid == "cells"
    if in_cells and isinstance(pixels, Pixels):
        for halvings in range(MAX_HALVINGS):
            rows, columns = (-(-side // 2**halvings) for side in (pixels.height, pixels.width))
            if rows * columns == cells:
                return rows, columns
    return 1, cells


@torch.inference_mode()
def picture_grid(model: "TextPredictor") -> tuple[int, int] | None:
    """Rows and columns of what can be looked at in every picture; None where none are read."""
    if not isinstance(model.source.items, Pixels):
        return None
    source = pad_batch([dummy_input(model.source).values])
    return grid_shape(model, int(model.encoder.encode(source).source_lengths(source)[0]))
