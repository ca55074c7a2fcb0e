"""What of a picture a decoder looks at (SPEC S3.4), and inputs that stand for any other."""

import numpy as np
import torch

from seqloom.fields import Field, Pixels, Series, Symbols
from seqloom.model.front_ends import FrontedEncoder, PictureFront
from seqloom.prediction.inputs import Encoded, padded
from seqloom.prediction.text_predictor import Model

__all__ = ["any_input", "grid", "grid_of"]

STEPS = 50  # of an input that can be of any length
MOST_HALVINGS = 16


def any_input(field: Field) -> Encoded:
    """An input that a model can read, whatever its source is made of."""
    items = field.items
    if isinstance(items, Symbols):
        shape = (2, 1 + items.spelling) if items.spelling else (2,)
        return Encoded(0, np.ones(shape, np.int32)[: 1 + field.closing])
    if isinstance(items, Pixels):
        return Encoded(0, np.full((1, items.count), 255, np.uint8))
    steps = items.steps if isinstance(items, Series) else STEPS
    return Encoded(0, np.zeros((steps, items.count), np.float32))


def grid(model: Model, cells: int) -> tuple[int, int]:
    """Rows and columns of so many cells of a picture: it was halved some times, or cut in columns.

    Where neither is so, the cells are one row.
    """
    encoder, pixels = model.network.encoder, model.source.items
    front = encoder.front if isinstance(encoder, FrontedEncoder) else None
    in_cells = isinstance(front, PictureFront) and front.vectors.grid == "cells"
    if in_cells and isinstance(pixels, Pixels):
        for halvings in range(MOST_HALVINGS):
            rows, columns = (-(-side // 2**halvings) for side in (pixels.height, pixels.width))
            if rows * columns == cells:
                return rows, columns
    return 1, cells


@torch.inference_mode()
def grid_of(model: Model) -> tuple[int, int] | None:
    """Rows and columns of what can be looked at in every picture; None where none are read."""
    if not isinstance(model.source.items, Pixels):
        return None
    source = padded([any_input(model.source).values])
    return grid(model, int(model.encoder.encode(source).seen(source)[0]))
