"""What mattered for each token of an output: gradients, integrated gradients, and erasure.

All four looks explain log p(y_t | x, y_1 … y_{t−1}), and all but attention speak of the token
vectors v that the model read. Gradient × input is v · ∂ log p / ∂v. Integrated gradients average
that gradient on the straight way from 0 to v, so that over all tokens they add up to log p with
the vectors minus log p without them. Erasure is the check: what log p loses when one vector is 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from seqloom.insight.attention import rounded, terminal_label, tick
from seqloom.insight.heads import cross_map
from seqloom.insight.passes import Pair, pair_of, pass_over
from seqloom.insight.picture import Drawing
from seqloom.insight.twins import twin
from seqloom.model import SequenceModel
from seqloom.model.encoders import ReversedEncoder
from seqloom.nn.embedding import TokenVectors
from seqloom.prediction import Model, Output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Mattered", "ScaledVectors", "explain", "mattered"]

CLOSE = 0.01  # of the whole, that integrated gradients may be short of it
FIRST, MOST = 16, 256  # points on the way from 0 to the vectors
ROWS = 64  # computed at once
METHODS = {
    "attention": "attention",
    "gradient": "gradient × input",
    "integrated": "integrated gradients",
    "erasure": "erasure",
}


@dataclass(frozen=True, eq=False)
class Mattered:
    """What each output token owes to each symbol of the source and of the output before it.

    Tables are (T, S + T): the source, then what the decoder read, of which step t sees the first t.
    """

    source: tuple[str, ...]
    inputs: tuple[str, ...]  # `<start>` and the output without its last token
    target: tuple[str, ...]
    log_probabilities: np.ndarray  # (T,)
    attention: np.ndarray | None  # (T, S + T), 0 for the prefix; None where the model has none
    gradient: np.ndarray
    integrated: np.ndarray
    erasure: np.ndarray
    without: np.ndarray  # (T,): log-probabilities when all vectors are 0
    points: int  # that integrated gradients were computed at

    @property
    def gap(self) -> np.ndarray:
        """How far integrated gradients are from adding up, for each output token."""
        gap: np.ndarray = self.integrated.sum(axis=1) - (self.log_probabilities - self.without)
        return gap

    def tables(self) -> dict[str, np.ndarray]:
        """The looks by their names."""
        return {name: found for name in METHODS if (found := getattr(self, name)) is not None}

    def agreement(self) -> dict[str, float]:
        """Spearman's rank correlation of the size of each look with that of erasure."""
        read = ~_unread(self)
        source = read & (np.arange(read.shape[1]) < len(self.source))
        return {
            name: _rank_correlation(*(np.abs(each[shown]) for each in (table, self.erasure)))
            for name, table in self.tables().items()
            if name != "erasure"
            for shown in (source if name == "attention" else read,)
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": list(self.source),
            "inputs": list(self.inputs),
            "target": list(self.target),
            "log_probabilities": rounded(self.log_probabilities),
            "without": rounded(self.without),
            **{name: rounded(table) for name, table in self.tables().items()},
            "gap": rounded(self.gap),
            "points": self.points,
            "agreement_with_erasure": self.agreement(),
        }

    def text(self, width: int = 80) -> str:
        """For each output token the symbols that each look holds for the weightiest."""
        names = (*self.source, *(f"({name})" for name in self.inputs))
        lines = []
        for row, token in enumerate(self.target):
            chance = np.exp(self.log_probabilities[row])
            lines.append(f"{terminal_label(token)}  p {chance:.3f}")
            for name, table in self.tables().items():
                order = np.argsort(-np.abs(table[row]), kind="stable")[:4]
                parts = [
                    f"{terminal_label(names[i])} {table[row, i]:+.2f}"
                    for i in order
                    if abs(table[row, i]) >= 0.005
                ]
                lines.append(f"  {METHODS[name]:<21}{'  '.join(parts)}"[:width])
        lines += ["", "rank correlation with erasure"]
        lines += [f"  {METHODS[name]:<21}{value:.2f}" for name, value in self.agreement().items()]
        off = np.abs(self.gap).max()
        lines.append(f"integrated gradients: {self.points} points, {off:.3f} nats off at most")
        return "\n".join([*lines, "in brackets: what the model had written before"])

    def drawing(self) -> Drawing:
        """A map for each look, side by side; blue speaks for the token, red against it."""
        labels = tuple(map(tick, (*self.source, *self.inputs, *self.target)))
        return Drawing(labels, partial(_fill, self), 110)


def mattered(model: Model, text: str, output: Output | str | None = None) -> Mattered:
    """All four looks at one input, with the model's own output or a given one."""
    return explain(model.network, pair_of(model, text, output))


def explain(network: SequenceModel, pair: Pair) -> Mattered:
    """The same for a pair that is tokens already."""
    vectors = ScaledVectors(network, pair)
    whole = torch.ones(vectors.length, dtype=torch.float64)
    plain, without = vectors.scores(torch.stack([whole, 0 * whole]))
    points, integrated = _integrated(vectors, (plain - without).numpy())
    kept = 1 - whole.diag()
    left = torch.cat([vectors.scores(rows) for rows in kept.split(ROWS)])  # (S + T, T)
    attention = cross_map(pass_over(network, pair))
    looked = None
    if attention is not None:
        looked = np.pad(attention.weights, ((0, 0), (0, len(pair.target))))
    return Mattered(
        pair.source,
        pair.inputs,
        pair.target,
        plain.numpy(),
        looked,
        vectors.gradients(np.ones(1), np.ones(1)),
        integrated,
        (plain - left).T.numpy(),
        without.numpy(),
        points,
    )


def _integrated(vectors: "ScaledVectors", whole: np.ndarray) -> tuple[int, np.ndarray]:
    """Gauss's rule with twice the points until the parts add up to the whole.

    Layer norms turn within a hair's breadth of 0, so the way is walked as u⁴, slowly at first.
    """
    points = FIRST
    while True:
        places, shares = np.polynomial.legendre.leggauss(points)
        along = (places + 1) / 2
        found = vectors.gradients(along**4, 2 * shares * along**3)
        off = np.abs(found.sum(axis=1) - whole).max()
        if off <= CLOSE * max(1e-6, np.abs(whole).max()) or points >= MOST:
            return points, found
        points *= 2


class _Read(NamedTuple):
    """Vectors as a model read them, scaled, and as they were; and their places in a table."""

    scaled: Float[Tensor, "N t E"]
    vectors: Float[Tensor, "N t E"]
    columns: Int[Tensor, "t"]


class ScaledVectors:
    """The token vectors of a pair, source then prefix, to be scaled and differentiated.

    A scale is a number for each vector, in as many rows as are to be computed.
    """

    def __init__(self, network: SequenceModel, pair: Pair) -> None:
        self.pair, self.twin = pair, twin(network)
        self.length = len(pair.source) + len(pair.target)
        self._scale = torch.ones(1, self.length)
        self._pending = torch.arange(0)
        self._reads: list[_Read] = []
        for module in self.twin.modules():
            if isinstance(module, TokenVectors) and isinstance(module, nn.Module):
                module.register_forward_hook(self._scaled)

    def scores(self, scale: Float[Tensor, "N L"]) -> Float[Tensor, "N T"]:
        """The log-probability of each written token when every vector is so scaled."""
        with torch.no_grad():
            return self._run(scale).double()

    def gradients(self, scales: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Σ share · v · ∂ log p / ∂v at v times each scale, as (T, S + T)."""
        total = torch.zeros(len(self.pair.target), self.length, dtype=torch.float64)
        rows = max(1, ROWS * 32 // max(32, self.length))
        for some in np.array_split(np.arange(len(scales)), -(-len(scales) // rows)):
            scale, share = torch.from_numpy(scales[some]), torch.from_numpy(shares[some])
            with torch.enable_grad():
                scores = self._run(scale[:, None].expand(-1, self.length))
                for row, score in enumerate(scores.sum(dim=0)):
                    self._add(score, share, total[row])
        found: np.ndarray = total.numpy()
        return found

    def _add(self, score: Tensor, share: Tensor, row: Tensor) -> None:
        """Share · v · gradient of one output token, v as it was before it was scaled."""
        scaled = [read.scaled for read in self._reads]
        found = torch.autograd.grad(score, scaled, retain_graph=True, materialize_grads=True)
        for gradient, read in zip(found, self._reads, strict=True):
            parts = (gradient * read.vectors).sum(dim=2).double()  # (N, t)
            row.index_add_(0, read.columns, share @ parts)

    def _run(self, scale: Float[Tensor, "N L"]) -> Float[Tensor, "N T"]:
        """One pass; what is read on the way is noted."""
        source, encoder = len(self.pair.source), self.twin.encoder
        self._scale, self._reads = scale, []
        self._pending = torch.arange(source)
        if isinstance(encoder, ReversedEncoder):
            self._pending[:-1] = self._pending[:-1].flip(0)
        memory = encoder.encode(self.pair.read(len(scale)))
        self._pending = torch.arange(source, self.length)
        features, _ = self.twin.decoder.read(
            self.pair.fed(len(scale)), self.twin.decoder.start(memory)
        )
        logs: Tensor = self.twin.decoder.write(features.hidden).log_softmax(-1)  # (N, T, V)
        return logs.gather(2, self.pair.written().expand(len(scale), -1)[:, :, None]).squeeze(2)

    def _scaled(self, _module: nn.Module, _inputs: Any, vectors: Tensor) -> Tensor:
        steps = vectors.shape[1]
        columns, self._pending = self._pending[:steps], self._pending[steps:]
        plain = vectors.detach()
        scaled = plain * self._scale[:, columns, None].to(plain)
        if torch.is_grad_enabled():
            scaled.requires_grad_()
        self._reads.append(_Read(scaled, plain, columns))
        return scaled


def _rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's; 0 where one of them does not vary."""
    mine, theirs = (_ranks(values) - (values.size + 1) / 2 for values in (one, other))
    size = np.linalg.norm(mine) * np.linalg.norm(theirs)
    return float(mine @ theirs / size) if size else 0.0


def _ranks(values: np.ndarray) -> NDArray[np.float64]:
    """The rank of each value, equal ones sharing theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return found


def _fill(found: Mattered, figure: "Figure", labels: Sequence[str]) -> None:
    """The looks in a row, a colour scale of its own for each."""
    sizes = len(found.source), len(found.inputs)
    columns, rows = labels[: sum(sizes)], labels[sum(sizes) :]
    tables = found.tables()
    cell = max(0.12, min(0.3, 5 / len(columns)))
    size = max(1.6, cell * len(columns)), max(0.8, cell * len(rows))
    down = math.ceil(len(tables) / 2)
    figure.set_size_inches(2 * (size[0] + 0.9), down * (size[1] + 1.2))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(down, 2, squeeze=False)
    letters = max(5.5, min(9.0, 36 * cell))
    for axes in grid.flat[len(tables) :]:
        axes.set_axis_off()
    for axes, (name, table) in zip(grid.flat, tables.items(), strict=False):
        most = np.abs(table).max() or 1.0
        shown = np.ma.masked_where(_unread(found), table)
        image = axes.imshow(shown, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
        axes.set_title(METHODS[name], fontsize=10)
        axes.set_xticks(range(len(columns)), columns, rotation=90)
        axes.set_yticks(range(len(rows)), rows)
        axes.axvline(sizes[0] - 0.5, color="0.4", linewidth=0.8)
        axes.tick_params(length=0, labelsize=letters)
        axes.spines[:].set_color("0.8")
        figure.colorbar(image, ax=axes, pad=0.02).ax.tick_params(labelsize=7)


def _unread(found: Mattered) -> np.ndarray:
    """Where a step cannot have looked: at what comes after it."""
    count = len(found.target)
    return np.hstack([np.zeros((count, len(found.source)), dtype=bool), ~np.tri(count, dtype=bool)])
