"""Token-level distillation: the loss by its definition, and its gradient."""

import math

import numpy as np
import pytest
import torch

from seqloom.model import Source
from seqloom.training import Example, SoftTargets, likeliest_symbols, position_scores
from seqloom.training.loss import LossOptions, backward
from tests.model.models import VARIANTS, model_of

SHARE, TEMPERATURE, KEPT = 0.3, 2.0, 3


def reference(scores: np.ndarray, label: int, taught: list[tuple[int, float]]) -> float:
    """One position in float64, by hand: (1 − λ) CE(label) − λ τ² Σ q log p, p at temperature τ."""
    plain = scores - np.log(np.exp(scores).sum())
    warm = scores / TEMPERATURE - np.log(np.exp(scores / TEMPERATURE).sum())
    soft = -sum(chance * warm[symbol] for symbol, chance in taught)
    return float((1 - SHARE) * -plain[label] + SHARE * TEMPERATURE**2 * soft)


def test_the_loss_is_that_of_labels_and_of_teachers() -> None:
    """Positions past a row's end count nothing, whatever stands there; the gradient is that of the
    reference by differences."""
    torch.manual_seed(3)
    model = model_of(VARIANTS[0], source_size=9, target_size=7).double().eval()
    source = Source(torch.tensor([[4, 5, 3], [6, 3, 0]]), torch.tensor([3, 2]))
    target = torch.tensor([[4, 5, 3], [6, 3, 0]])
    symbols = torch.randint(4, 7, (2, 3, KEPT))
    chances = torch.rand(2, 3, KEPT, dtype=torch.float64)
    chances /= chances.sum(-1, keepdim=True)
    example = Example(source, target, soft=SoftTargets(symbols, chances, SHARE, TEMPERATURE))

    def total() -> float:
        scores = position_scores(model, Example(source, target)).numpy()
        real = [(row, at) for row in range(2) for at in range(3) if target[row, at]]
        return sum(
            reference(
                line,
                int(target[place]),
                list(zip(symbols[place].tolist(), chances[place].tolist(), strict=True)),
            )
            for place, line in zip(real, scores, strict=True)
        )

    sums = backward(model, example, LossOptions(0.0, 1.0))
    assert sums.loss == pytest.approx(total(), rel=1e-9)
    assert sums.tokens == 5
    parameter = next(each for each in model.parameters() if each.grad is not None)
    assert parameter.grad is not None
    place = int(parameter.grad.abs().flatten().argmax())
    before, small = float(parameter.detach().flatten()[place]), 1e-6
    sides = []
    with torch.no_grad():
        for value in (before + small, before - small):
            parameter.view(-1)[place] = value
            sides.append(total())
    slope = (sides[0] - sides[1]) / (2 * small)
    assert float(parameter.grad.flatten()[place]) == pytest.approx(slope, rel=1e-5)


def test_teachers_are_asked_together_and_the_unlikely_is_left_out() -> None:
    """The mean of both distributions; of four symbols the two likeliest, summing to 1."""
    one = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
    two = torch.tensor([[0.1, 0.5, 0.2, 0.2]]).log()
    symbols, chances = likeliest_symbols([one, two], temperature=1.0, most=2)
    assert symbols.tolist() == [[1, 0]]
    assert chances[0].tolist() == pytest.approx([0.4 / 0.65, 0.25 / 0.65])
    _, warm = likeliest_symbols([one], temperature=2.0, most=2)
    assert float(warm[0, 0] / warm[0, 1]) == pytest.approx(math.sqrt(0.4 / 0.3))
