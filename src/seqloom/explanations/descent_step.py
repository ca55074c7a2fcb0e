"""One step of incremental gradient descent on one example: forward, residuals, gradient, update
(S3.3, S6.6).
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from seqloom.display import Displayed
from seqloom.explanations.explained_output import ExplainedText
from seqloom.model import build
from seqloom.prediction import TextPredictor

__all__ = ["DescentStep", "MatrixUpdate", "Residual", "descent_step"]


@dataclass(frozen=True)
class Residual:
    """A step of the forward pass: the prediction y(t) and the target c(t)."""

    read: str
    wanted: str
    probability: float  # of the target
    residual: float  # y − c at the target
    other: str  # the most probable other symbol
    other_residual: float


@dataclass(frozen=True)
class MatrixUpdate:
    """A weight matrix, and its entry with the largest gradient before and after the update."""

    name: str
    shape: tuple[int, ...]
    norm: float  # of the gradient
    entry: tuple[int, ...]  # counted from 1
    before: float
    gradient: float
    after: float


@dataclass(frozen=True)
class DescentStep(Displayed):
    """An update W ← W − η ∂C/∂W for one example, from newly initialized weights."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    residuals: tuple[Residual, ...]
    rate: float
    loss: float  # Σ −log y(t) at c(t)
    matrices: tuple[MatrixUpdate, ...]
    loss_after: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def descent_step(model: TextPredictor, said: ExplainedText, *, seed: int = 1) -> DescentStep:
    """The first update on this example, with the run's learning rate."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        network = build(
            model.config.model, source=model.source.items, target=model.target.items
        ).double()
        network.eval()
        logs = _log_probabilities(network, said)
        wanted = said.target_tensor()
        loss = -logs.gather(1, wanted[:, None]).sum()
        loss.backward()
        rate = model.config.training.rate
        changed = [
            _update(name, weights, rate)
            for name, weights in network.named_parameters()
            if weights.grad is not None
        ]
        after = -_log_probabilities(network, said).gather(1, wanted[:, None]).sum().detach()
    residuals = tuple(_residual(model, said, t, logs[t].detach().exp()) for t in range(len(wanted)))
    return DescentStep(
        said.source, said.target, residuals, rate, loss.item(), tuple(changed), float(after)
    )


def _log_probabilities(network: Any, said: ExplainedText) -> Tensor:
    source = said.source_batch()
    values = source.values.double() if source.values.is_floating_point() else source.values
    memory = network.encoder.encode(source._replace(values=values))
    hidden = said.decoder_features(network, memory)[0]
    found: Tensor = network.decoder.write(hidden).log_softmax(-1)
    return found


def _residual(model: TextPredictor, said: ExplainedText, t: int, chances: Tensor) -> Residual:
    wanted = said.target_ids[t]
    others = chances.clone()
    others[wanted] = -1
    other = int(others.argmax())
    chance = float(chances[wanted])
    name = model.target.tokens([other])[0]
    return Residual(said.inputs[t], said.target[t], chance, chance - 1, name, float(others[other]))


@torch.no_grad()
def _update(name: str, weights: Tensor, rate: float) -> MatrixUpdate:
    """Update weights in place by gradient descent."""
    gradient = weights.grad if weights.grad is not None else torch.zeros_like(weights)
    flat = int(gradient.abs().argmax())
    entry = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), weights.shape))
    before, slope = float(weights[entry]), float(gradient[entry])
    weights -= rate * gradient
    place = tuple(i + 1 for i in entry)
    norm = float(gradient.norm())
    return MatrixUpdate(
        name, tuple(weights.shape), norm, place, before, slope, float(weights[entry])
    )
