"""Maps of sentences and words: encoder states in two dimensions, and nearest neighbours (S9).

A sentence is the encoder's state after reading it ("last"), or its mean state ("mean").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from seqloom.display import Displayed
from seqloom.errors import ConfigError, DataError
from seqloom.explanations.explained_output import language_model_text
from seqloom.explanations.plain_values import round_values
from seqloom.explanations.tracing import trace_decoder
from seqloom.model import Memory
from seqloom.model.encoders import mean_state
from seqloom.prediction import ContextVectors, Predictor, TextPredictor
from seqloom.prediction.batching import pad_batch
from seqloom.remedies import Remedy, Setting

__all__ = ["METHODS", "NEAREST", "StateMap", "project_states", "state_map", "vector_map"]

METHODS = ("pca", "tsne")
POOLINGS = ("last", "mean")
BATCH = 128
NEAREST = 3
ROUNDING = 1e-9  # of the largest axis; a smaller axis is degenerate


@dataclass(frozen=True, eq=False)
class StateMap(Displayed):
    """Sentences with their states (N, D) and coordinates in two dimensions (N, 2)."""

    texts: tuple[str, ...]
    labels: tuple[str | None, ...]  # the label of each, if given
    states: np.ndarray
    coordinates: np.ndarray
    method: str
    shares: tuple[float, ...] = ()  # explained variance ratio of each axis, if known

    def nearest_neighbors(self, count: int = NEAREST) -> list[list[tuple[int, float]]]:
        """The nearest neighbours of each sentence, with the distances of their states."""
        squares = np.square(self.states).sum(axis=1)
        distances = squares[:, None] + squares - 2 * self.states @ self.states.T
        np.fill_diagonal(distances, np.inf)
        count = min(count, len(self.texts) - 1)
        order = np.argsort(distances, axis=1, kind="stable")[:, :count]
        found = np.sqrt(np.maximum(np.take_along_axis(distances, order, axis=1), 0))
        return [
            [(int(i), float(d)) for i, d in zip(*row, strict=True)]
            for row in zip(order, found, strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        near = [[{"index": i, "distance": d} for i, d in row] for row in self.nearest_neighbors()]
        places, states = round_values(self.coordinates), round_values(self.states)
        return {
            "method": self.method,
            "shares": list(self.shares),
            "points": [
                {"text": text, "label": label, "place": place, "state": state, "nearest": nearest}
                for text, label, place, state, nearest in zip(
                    self.texts, self.labels, places, states, near, strict=True
                )
            ],
        }


def state_map(
    model: Predictor,
    rows: Sequence[tuple[str, str | None]],
    *,
    method: str = "pca",
    of: str = "last",
) -> StateMap:
    """Map texts, each with a label or None, by their states."""
    texts = tuple(text for text, _ in rows if text.strip())
    if len(texts) < 2:
        raise DataError(
            "a map of states needs at least two inputs that are not blank", remedy="give more"
        )
    if of not in POOLINGS:
        raise ConfigError(f"states of {of!r}", remedy=f"choose {' or '.join(POOLINGS)}")
    states = _encode_texts(model, texts, of)
    places, shares = project_states(states, method)
    labels = tuple(label for text, label in rows if text.strip())
    return StateMap(texts, labels, states, places, method, shares)


def vector_map(
    vectors: ContextVectors, words: Sequence[str] = (), *, method: str = "pca"
) -> StateMap:
    """Map words in their sentences, or named words, by the directions of their vectors; named words
    are labels (S1.5).
    """
    chosen = vectors.select(words)
    if len(chosen) < 2:
        raise DataError("a map needs at least two words", remedy="give more texts")
    rows = [vectors.words.rows[each.name] for each in chosen]
    states = vectors.words.directions[rows].astype(np.float64)
    places, shares = project_states(states, method)
    labels = tuple(each.word.casefold() if words else None for each in chosen)
    return StateMap(tuple(each.name for each in chosen), labels, states, places, method, shares)


def project_states(states: np.ndarray, method: str = "pca") -> tuple[np.ndarray, tuple[float, ...]]:
    """Project states to two dimensions; also return the explained variance ratio of each axis if
    known.

    Pearson 1901, On Lines and Planes of Closest Fit (PCA); van der Maaten and Hinton 2008,
    Visualizing Data using t-SNE.
    """
    if method == "tsne":
        return _tsne(states), ()
    if method != "pca":
        raise ConfigError(f"a map by {method!r}", remedy=f"choose {' or '.join(METHODS)}")
    centred = states - states.mean(axis=0)
    left, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    sizes = np.where(sizes > ROUNDING * (sizes.max() or 1.0), sizes, 0.0)
    places = (left * sizes * signs)[:, :2]
    total = np.square(sizes).sum() or 1.0
    shares = tuple((np.square(sizes) / total)[:2].tolist())
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1]))), shares


def _tsne(states: np.ndarray) -> np.ndarray:
    """t-SNE by scikit-learn, with a fixed initialization."""
    try:
        from sklearn.manifold import TSNE  # type: ignore[import-untyped]
    except ImportError:
        raise ConfigError(
            "a map by 'tsne' needs scikit-learn",
            remedy="pip install 'seqloom[look]', or choose pca",
        ) from None
    if len(states) < 4:
        raise DataError("t-SNE needs at least four texts", remedy="give more, or choose pca")
    found: np.ndarray = TSNE(
        perplexity=min(30.0, (len(states) - 1) / 3), init="pca", random_state=0
    ).fit_transform(states)
    return found.astype(np.float64)


@torch.no_grad()
def _encode_texts(model: Predictor, texts: Sequence[str], of: str) -> np.ndarray:
    writer = model.as_text_predictor()
    if writer is not None and writer.is_language_model:
        return np.stack([_language_model_state(writer, text, of) for text in texts])
    found = []
    for begin in range(0, len(texts), BATCH):
        some = [model.encode_cell(text) for text in texts[begin : begin + BATCH]]
        found.append(_sentence_states(model.network.encoder.encode(pad_batch(some)), of))
    return torch.cat(found).double().numpy()


def _language_model_state(model: TextPredictor, text: str, of: str) -> np.ndarray:
    """The last or the mean state of a language model for a text."""
    hidden = trace_decoder(model.network, language_model_text(model, text)).hidden.double().numpy()
    state: np.ndarray = hidden[-1] if of == "last" else hidden.mean(axis=0)
    return state


def _sentence_states(memory: Memory, of: str) -> torch.Tensor:
    """The state of each sentence: the top layer's last, or the mean over positions."""
    if of == "mean" and memory.states is not None and memory.mask is not None:
        return mean_state(memory.states, memory.mask)
    if of == "last" and memory.code is not None:
        return memory.code[0][:, -1]
    raise ConfigError(
        f"this model's encoder hands over no states of the kind {of!r} that could be mapped",
        remedy=Remedy(
            "try {}, or {}",
            Setting("of", "last" if of == "mean" else "mean"),
            Setting("show", "gradients"),
        ),
    )
