"""Log-probabilities of given outputs, and of texts of any length (S1.2, S6.2, S7.4)."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.fields import EMPTY, Values
from seqloom.model import SequenceModel
from seqloom.prediction.batching import pad_batch
from seqloom.training import row_log_probabilities, start_stream

__all__ = ["output_log_probabilities", "text_log_probabilities", "text_scores"]

STEPS = 512  # positions read at once
WINDOWS = 32  # in a batch


@torch.inference_mode()
def output_log_probabilities(
    model: SequenceModel, sources: list[Values], targets: list[Values]
) -> list[list[float]]:
    """The log-probability of each token given those before it; 0 at padding."""
    model.eval()
    state = model.decoder.start(model.encoder.encode(pad_batch(sources)))
    target = pad_batch(targets).values
    rows: list[list[float]] = row_log_probabilities(model.decoder, state, target).tolist()
    return rows


def text_scores(model: SequenceModel, tokens: np.ndarray, *, window: int) -> list[float]:
    """The log-probability of each token of one text given all before it."""
    found: list[float] = text_log_probabilities(
        model, torch.from_numpy(tokens).long(), window=window
    ).tolist()
    return found


@torch.inference_mode()
def text_log_probabilities(
    model: SequenceModel, tokens: Int[Tensor, "N"], *, window: int
) -> Float[Tensor, "N"]:
    """The log-probability of each token given all before it.

    A Transformer uses a sliding window of the given size, with a stride of half of it.
    """
    model.eval()
    if model.decoder.carries_state:
        return torch.cat(list(_carry_state(model, tokens)))
    return _slide_window(model, tokens, window)


def _carry_state(model: SequenceModel, tokens: Int[Tensor, "N"]) -> Iterator[Float[Tensor, "T"]]:
    state, token = start_stream(model, 1)
    for chunk in tokens.split(STEPS):
        inputs = torch.cat([token, chunk[:-1]])[None]
        features, state = model.decoder.read(inputs, state)
        likely = model.decoder.write(features.hidden[0]).log_softmax(-1)
        yield likely.gather(1, chunk[:, None]).squeeze(1)
        token = chunk[-1:]


def _slide_window(
    model: SequenceModel, tokens: Int[Tensor, "N"], window: int
) -> Float[Tensor, "N"]:
    """Score all of the first window, and of each later one the part not scored before."""
    stride = max(1, window // 2)
    later = max(0, -(-(len(tokens) - window) // stride))
    padded = torch.full((window + later * stride,), EMPTY, dtype=torch.int64)
    padded[: len(tokens)] = tokens
    rows = padded.unfold(0, window, stride)
    parts = []
    for some in rows.split(WINDOWS):
        state = start_stream(model, len(some)).state
        parts.append(row_log_probabilities(model.decoder, state, some))
    found = torch.cat(parts)
    return torch.cat([found[0], found[1:, window - stride :].flatten()])[: len(tokens)]
