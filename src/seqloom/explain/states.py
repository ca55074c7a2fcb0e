"""Sentences as points: the encoder's states in two dimensions, and which lie near each other (S9).

A sentence is where the encoder stands after reading it ("last"), or its mean state ("mean").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rich.cells import cell_len

from seqloom.drawing.image_files import Drawing
from seqloom.errors import ConfigError, DataError
from seqloom.explain.attention_map import round_values, truncate_line, visible_label
from seqloom.explain.explained_output import read_cell, text_to_explain
from seqloom.explain.tracing import trace_decoder
from seqloom.model import Memory
from seqloom.model.encoders import mean_state
from seqloom.prediction import Predictor, TextPredictor
from seqloom.prediction.inputs import pad_batch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["METHODS", "StateMap", "project_states", "state_map"]

METHODS = ("pca", "tsne")
POOLINGS = ("last", "mean")
BATCH = 128
NEAREST = 3
ROUNDING = 1e-9  # share of the largest axis, below which an axis shows nothing
MOST_LABELS = 80  # points that are labelled one by one, where no labels are given
LONGEST = 36  # characters of a label in a picture
COLOURS = 10
POINTS = 8  # font size


@dataclass(frozen=True, eq=False)
class StateMap:
    """Sentences with their states (N, D) and their places in two dimensions (N, 2)."""

    texts: tuple[str, ...]
    labels: tuple[str | None, ...]  # what kind each is, where that was said
    states: np.ndarray
    coordinates: np.ndarray
    method: str
    shares: tuple[float, ...] = ()  # of the variance that each axis shows, where that is known

    def nearest_neighbors(self, count: int = NEAREST) -> list[list[tuple[int, float]]]:
        """For each sentence the nearest others and their distances, among the states themselves."""
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

    def text(self, width: int = 80) -> str:
        """Each sentence, and below it those that lie nearest."""
        lines = []
        for text, nearest in zip(self.texts, self.nearest_neighbors(), strict=True):
            lines.append(truncate_line(_one_line(text), width))
            lines += [
                f"  {distance:8.3f}  {truncate_line(_one_line(self.texts[other]), width - 12)}"
                for other, distance in nearest
            ]
        return "\n".join(lines)

    def drawing(self) -> Drawing:
        """Points with their sentences, in a colour for each label."""
        kinds = tuple(dict.fromkeys(label for label in self.labels if label is not None))
        sentences = tuple(_shorten(_one_line(text)) for text in self.texts)
        return Drawing((*sentences, *kinds), partial(_fill, self, kinds), 130)


def state_map(
    model: Predictor,
    rows: Sequence[tuple[str, str | None]],
    *,
    method: str = "pca",
    of: str = "last",
) -> StateMap:
    """Texts, each with a label or None, as points on a map."""
    texts = tuple(text for text, _ in rows if text.strip())
    if len(texts) < 2:
        raise DataError("a map of states needs at least two inputs that are not blank; give more")
    if of not in POOLINGS:
        raise ConfigError(f"states of {of!r}: choose {' or '.join(POOLINGS)}")
    states = _encode_texts(model, texts, of)
    places, shares = project_states(states, method)
    labels = tuple(label for text, label in rows if text.strip())
    return StateMap(texts, labels, states, places, method, shares)


def project_states(states: np.ndarray, method: str = "pca") -> tuple[np.ndarray, tuple[float, ...]]:
    """Places in two dimensions, and the share of variance that each axis shows, if it is known."""
    if method == "tsne":
        return _tsne(states), ()
    if method != "pca":
        raise ConfigError(f"a map by {method!r}: choose {' or '.join(METHODS)}")
    centred = states - states.mean(axis=0)
    left, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    sizes = np.where(sizes > ROUNDING * (sizes.max() or 1.0), sizes, 0.0)
    places = (left * sizes * signs)[:, :2]
    total = np.square(sizes).sum() or 1.0
    shares = tuple((np.square(sizes) / total)[:2].tolist())
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1]))), shares


def _tsne(states: np.ndarray) -> np.ndarray:
    """By scikit-learn, from the same first places each time."""
    try:
        from sklearn.manifold import TSNE  # type: ignore[import-untyped]
    except ImportError:
        raise ConfigError(
            "a map by 'tsne' needs scikit-learn: pip install 'seqloom[look]', or choose pca"
        ) from None
    if len(states) < 4:
        raise DataError("t-SNE needs at least four texts; give more, or choose pca")
    found: np.ndarray = TSNE(
        perplexity=min(30.0, (len(states) - 1) / 3), init="pca", random_state=0
    ).fit_transform(states)
    return found.astype(np.float64)


@torch.no_grad()
def _encode_texts(model: Predictor, texts: Sequence[str], of: str) -> np.ndarray:
    if isinstance(model, TextPredictor) and model.is_language_model:
        return np.stack([_language_model_state(model, text, of) for text in texts])
    found = []
    for begin in range(0, len(texts), BATCH):
        some = [read_cell(model, text) for text in texts[begin : begin + BATCH]]
        found.append(_sentence_states(model.network.encoder.encode(pad_batch(some)), of))
    return torch.cat(found).double().numpy()


def _language_model_state(model: TextPredictor, text: str, of: str) -> np.ndarray:
    """Where a language model stands after a text, or its mean state."""
    hidden = trace_decoder(model.network, text_to_explain(model, text)).hidden.double().numpy()
    last: np.ndarray = hidden[-1] if of == "last" else hidden.mean(axis=0)
    return last


def _sentence_states(memory: Memory, of: str) -> torch.Tensor:
    """The state of each sentence: the top layer's last, or the mean of those handed over."""
    if of == "mean" and memory.states is not None and memory.mask is not None:
        return mean_state(memory.states, memory.mask)
    if of == "last" and memory.code is not None:
        return memory.code[0][:, -1]
    raise ConfigError(
        f"this model's encoder hands over no states of the kind {of!r} that could be mapped: try "
        f"--of {'last' if of == 'mean' else 'mean'}, or --show gradients"
    )


def _one_line(text: str) -> str:
    """The text in one line, its control characters made visible."""
    return " ".join(map(visible_label, text.split()))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _fill(found: StateMap, kinds: Sequence[str], figure: "Figure", labels: Sequence[str]) -> None:
    sentences, shown = labels[: len(found.texts)], labels[len(found.texts) :]
    figure.set_size_inches(8, 6)
    axes = figure.add_subplot()
    numbers = {kind: number for number, kind in enumerate(kinds)}
    colours = [
        "#1f5fa8" if label is None else f"C{numbers[label] % COLOURS}" for label in found.labels
    ]
    axes.scatter(found.coordinates[:, 0], found.coordinates[:, 1], c=colours, s=18, zorder=3)
    for kind, number in numbers.items():
        axes.scatter([], [], color=f"C{number % COLOURS}", s=18, label=shown[kinds.index(kind)])
    if kinds:
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=6)
    names = [f"{100 * share:.0f} % of the variance" for share in found.shares] or ["", ""]
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[-1] if len(names) > 1 else "")
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(0.12)
    if len(sentences) <= MOST_LABELS:
        _annotate_points(axes, found.coordinates, sentences)


def _annotate_points(axes: "Axes", places: np.ndarray, sentences: Sequence[str]) -> None:
    """Each sentence beside its point, where no other stands; else it is left out."""
    axes.figure.canvas.draw()
    taken: list[tuple[float, float, float, float]] = []
    points = axes.transData.transform(places)
    dots = axes.figure.dpi / 72
    height = 1.25 * POINTS * dots
    for (x, y), place, sentence in zip(points, places, sentences, strict=True):
        width = 0.58 * POINTS * dots * cell_len(sentence)
        for left, low in (
            (7, -height / 2),
            (-7 - width, -height / 2),
            (-width / 2, 6),
            (-width / 2, -6 - height),
        ):
            box = (x + left, y + low, x + left + width, y + low + height)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                offset = (left / dots, (low + height / 2) / dots)
                axes.annotate(
                    sentence,
                    place,
                    offset,
                    textcoords="offset points",
                    fontsize=POINTS,
                    va="center",
                )
                break


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
