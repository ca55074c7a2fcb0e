"""The agreement of an exported model with the original."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from seqloom.fields import END
from seqloom.model import Source
from seqloom.prediction import TextPredictor
from seqloom.training import row_log_probabilities

__all__ = ["Agreement", "log_probability_distance"]


@dataclass(frozen=True)
class Agreement:
    """The agreement of two runtimes on one model."""

    sentences: int
    equal: int  # outputs with equal text
    max_difference: float  # largest difference of a token's log-probability

    def __str__(self) -> str:
        return (
            f"{self.equal:,} of {self.sentences:,} outputs are the same, and no token's "
            f"log-probability differs by more than {self.max_difference:.1g}"
        )


@torch.inference_mode()
def log_probability_distance(
    model: TextPredictor, row: np.ndarray, ids: list[int], theirs: Sequence[float]
) -> float:
    """The largest difference of log-probabilities over the tokens of an output and its `<end>`."""
    source = Source(torch.from_numpy(row.astype(np.int64))[None], torch.tensor([len(row)]))
    state = model.network.decoder.start(model.network.encoder.encode(source))
    target = torch.tensor([[*ids, END]])
    ours = row_log_probabilities(model.network.decoder, state, target)[0]
    return float((ours - torch.tensor(theirs)).abs().max())
