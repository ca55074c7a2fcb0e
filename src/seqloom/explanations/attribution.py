"""Attribution of outputs to parts of the input.

All methods explain one quantity per row: log p(y_t | x, y_1 … y_{t−1}) of a token, log p of a
label, a number, or a forecast. All but attention attribute it to the model's inputs: the embeddings
v of symbols, or numbers minus their baseline.

- Gradient × input is v · ∂ log p / ∂v (Shrikumar et al. 2016, Not Just a Black Box).
- Integrated gradients average that gradient on the straight line from 0 to v, so that over all
  parts they add up to the quantity with them minus that without them (Sundararajan et al. 2017,
  Axiomatic Attribution for Deep Networks).
- Erasure is the check: what the quantity loses when one part is 0 (Li et al. 2016, Understanding
  Neural Networks through Representation Erasure).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from seqloom.explanations.attention import attribute_by_attention, cross_map
from seqloom.explanations.explained_output import ExplainedOutput
from seqloom.explanations.instrumented_copy import instrument
from seqloom.explanations.media import AttributionView
from seqloom.explanations.parts import makes_token_vectors, reading_order
from seqloom.explanations.plain_values import round_values
from seqloom.explanations.tracing import Trace, trace_output
from seqloom.model import Network, Source
from seqloom.prediction import Predictor

__all__ = [
    "METHODS",
    "Attribution",
    "ScaledVectors",
    "attribute",
    "attribution_view",
    "compute_attribution",
    "future_mask",
]

TOLERANCE = 0.01  # the largest relative convergence delta of integrated gradients
FIRST_POINTS, MOST_POINTS = 16, 256  # quadrature points on the path from 0 to the inputs
ROWS = 64  # per forward pass
METHODS = {
    "attention": "attention",
    "gradient": "gradient × input",
    "integrated": "integrated gradients",
    "erasure": "erasure",
}


@dataclass(frozen=True, eq=False)
class Attribution:
    """The attribution of each output to each part of the source and of the preceding output.

    Tables are (T, S + T): the source, then the decoder's inputs, of which step t sees the first t;
    (T, S) without a decoder.
    """

    source: tuple[str, ...]
    inputs: tuple[str, ...]  # `<start>` and the output without its last token; or empty
    target: tuple[str, ...]
    scores: np.ndarray  # (T,): log p of each, or the number itself
    attention: np.ndarray | None  # 0 where nothing attends; None without attention
    gradient: np.ndarray
    integrated: np.ndarray
    erasure: np.ndarray
    baseline_scores: np.ndarray  # (T,): the scores with all inputs at 0
    points: int  # of the quadrature for integrated gradients
    quantity: str = "log p"

    @property
    def convergence_delta(self) -> np.ndarray:
        """The convergence error of integrated gradients, for each output."""
        gap: np.ndarray = self.integrated.sum(axis=1) - (self.scores - self.baseline_scores)
        return gap

    @property
    def is_log_probability(self) -> bool:
        """Whether the explained quantities are log-probabilities."""
        return self.quantity == "log p"

    def tables(self) -> dict[str, np.ndarray]:
        """The tables by method."""
        return {name: found for name in METHODS if (found := getattr(self, name)) is not None}

    def agreement(self) -> dict[str, float]:
        """Spearman's rank correlation of the magnitudes of each method's values with erasure's."""
        read = ~future_mask(self)
        looked = read & np.any(self.attention, axis=0) if self.attention is not None else read
        return {
            name: _rank_correlation(*(np.abs(each[shown]) for each in (table, self.erasure)))
            for name, table in self.tables().items()
            if name != "erasure"
            for shown in (looked if name == "attention" else read,)
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": list(self.source),
            "inputs": list(self.inputs),
            "target": list(self.target),
            "quantity": self.quantity,
            "explained": round_values(self.scores),
            "without": round_values(self.baseline_scores),
            **{name: round_values(table) for name, table in self.tables().items()},
            "gap": round_values(self.convergence_delta),
            "points": self.points,
            "agreement_with_erasure": self.agreement(),
        }


def attribution_view(model: Predictor, said: ExplainedOutput) -> AttributionView:
    """Every attribution method for one output, with the input for display."""
    passed = trace_output(model.network, said)
    attention = cross_map(passed)
    return said.attribution_view(
        compute_attribution(model.network, said, passed),
        None if attention is None else attention.weights,
    )


def compute_attribution(
    network: Network, said: ExplainedOutput, passed: Trace | None = None
) -> Attribution:
    """Every attribution method for one output; traces it if no trace is given."""
    passed = trace_output(network, said) if passed is None else passed
    vectors = ScaledVectors(network, said)
    whole = torch.ones(vectors.length, dtype=torch.float64)
    plain, without = vectors.scores(torch.stack([whole, 0 * whole]))
    points, integrated = _integrate_gradients(vectors, (plain - without).numpy())
    return Attribution(
        said.feature_names,
        said.inputs,
        said.target,
        plain.numpy(),
        attribute_by_attention(network, passed),
        _gradient_times_input(vectors),
        integrated,
        _erase(vectors, plain),
        without.numpy(),
        points,
        said.quantity,
    )


def attribute(network: Network, said: ExplainedOutput, method: str) -> Float[np.ndarray, "T L"]:
    """One method of `METHODS` other than attention, for one output."""
    vectors = ScaledVectors(network, said)
    if method == "gradient":
        return _gradient_times_input(vectors)
    whole = torch.ones(vectors.length, dtype=torch.float64)
    plain, without = vectors.scores(torch.stack([whole, 0 * whole]))
    if method == "erasure":
        return _erase(vectors, plain)
    return _integrate_gradients(vectors, (plain - without).numpy())[1]


def _gradient_times_input(vectors: "ScaledVectors") -> np.ndarray:
    return vectors.gradients(np.ones(1), np.ones(1))


def _erase(vectors: "ScaledVectors", plain: Float[Tensor, "T"]) -> np.ndarray:
    """The decrease of each output when one part is 0."""
    kept = 1 - torch.ones(vectors.length, dtype=torch.float64).diag()
    left = torch.cat([vectors.scores(rows) for rows in kept.split(ROWS)])  # (S + T, T)
    lost: np.ndarray = (plain - left).T.numpy()
    return lost


def _integrate_gradients(vectors: "ScaledVectors", whole: np.ndarray) -> tuple[int, np.ndarray]:
    """Gauss quadrature, with doubled points until the parts add up to the total.

    The path is parametrized as u⁴, since layer norms vary most near 0.
    """
    points = FIRST_POINTS
    while True:
        places, shares = np.polynomial.legendre.leggauss(points)
        along = (places + 1) / 2
        found = vectors.gradients(along**4, 2 * shares * along**3)
        off = np.abs(found.sum(axis=1) - whole).max()
        if off <= TOLERANCE * max(1e-6, np.abs(whole).max()) or points >= MOST_POINTS:
            return points, found
        points *= 2


class _InputVectors(NamedTuple):
    """Input vectors of a model, scaled and unscaled, and the parts they belong to."""

    scaled: Float[Tensor, "N t E"]
    vectors: Float[Tensor, "#N t E"]
    columns: Int[Tensor, "t"] | Int[Tensor, "t E"]

    def parts(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The columns of a table, and v · gradient (N, c) of each."""
        products = gradient * self.vectors
        if self.columns.ndim == 1:
            return self.columns, products.sum(dim=2)
        return self.columns.flatten(), products.flatten(1)


class ScaledVectors:
    """The inputs of a model, source then prefix, scaled by part and differentiable.

    A scale is a number for each part, in as many rows as are evaluated.
    """

    def __init__(self, network: Network, said: ExplainedOutput) -> None:
        self.output, self.instrumented = said, instrument(network)
        self.length = len(said.feature_names) + len(said.inputs)
        self._scale = torch.ones(1, self.length)
        self._order = reading_order(network)
        self._pending = torch.arange(0)
        self._inside = 0  # nested modules: their vectors are not scaled again
        self._inputs: list[_InputVectors] = []
        for module in self.instrumented.modules():
            if makes_token_vectors(module):
                module.register_forward_pre_hook(self._enter)
                module.register_forward_hook(self._scale_output)

    def scores(self, scale: Float[Tensor, "N L"]) -> Float[Tensor, "N T"]:
        """The explained quantity of each output for scaled parts."""
        with torch.no_grad():
            return self._run(scale).double()

    def gradients(self, scales: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Σ share · v · ∂ log p / ∂v at v times each scale, as (T, S + T)."""
        total = torch.zeros(len(self.output.target), self.length, dtype=torch.float64)
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
        """Add share · v · gradient of one output, with unscaled v."""
        scaled = [read.scaled for read in self._inputs]
        found = torch.autograd.grad(score, scaled, retain_graph=True, materialize_grads=True)
        for gradient, read in zip(found, self._inputs, strict=True):
            columns, parts = read.parts(gradient)
            row.index_add_(0, columns, share @ parts.double())

    def _run(self, scale: Float[Tensor, "N L"]) -> Float[Tensor, "N T"]:
        """Run one forward pass that records the input vectors."""
        source, encoder = len(self.output.feature_names), self.instrumented.encoder
        self._scale, self._inputs = scale, []
        self._pending = self._order.arrange(torch.arange(source))
        memory = encoder.encode(self._source(len(scale)))
        self._pending = torch.arange(source, self.length)
        return self.output.scores(self.instrumented, memory)

    def _source(self, rows: int) -> Source:
        """Repeat the input `rows` times; numbers are scaled here, embeddings later."""
        units = self.output.feature_groups
        if units is None:
            return self.output.source_batch(rows)
        kind = next(self.instrumented.parameters()).dtype
        base = torch.from_numpy(units.baseline).to(kind)
        plain = torch.tensor(np.asarray(self.output.values), dtype=kind) - base  # (S, C)
        scaled = self._record(plain[None], torch.from_numpy(units.groups))
        return Source(scaled + base, torch.full((rows,), len(plain)))

    def _record(self, plain: Tensor, columns: Tensor) -> Tensor:
        """Scale vectors by their parts, as leaves of the gradient."""
        scale = self._scale[:, columns].to(plain)
        scaled = plain * (scale if columns.ndim == 2 else scale[..., None])
        if torch.is_grad_enabled():
            scaled.requires_grad_()
        self._inputs.append(_InputVectors(scaled, plain, columns))
        return scaled

    def _enter(self, _module: nn.Module, _inputs: Any) -> None:
        self._inside += 1

    def _scale_output(self, _module: nn.Module, _inputs: Any, vectors: Tensor) -> Tensor:
        self._inside -= 1
        if self._inside:
            return vectors
        steps = vectors.shape[1]
        columns, self._pending = self._pending[:steps], self._pending[steps:]
        return self._record(vectors.detach(), columns)


def _rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's rank correlation; 0 if one of them is constant."""
    mine, theirs = (_ranks(values) - (values.size + 1) / 2 for values in (one, other))
    size = np.linalg.norm(mine) * np.linalg.norm(theirs)
    return float(mine @ theirs / size) if size else 0.0


def _ranks(values: np.ndarray) -> NDArray[np.float64]:
    """The rank of each value; ties share theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return found


def future_mask(found: Attribution) -> np.ndarray:
    """A mask of the parts that a step cannot read because they come after it."""
    count = len(found.target)
    source = np.zeros((count, len(found.source)), dtype=bool)
    return np.hstack([source, ~np.tri(count, len(found.inputs), dtype=bool)])
