"""Backpropagation through time by hand, as a table over t, compared with autograd."""

from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman

__all__ = ["PRINTED_RECURSION", "ScalarNet", "backpropagation_lesson"]

PRINTED_RECURSION = (
    "(7.6) as printed puts every step's cost at the last step and (7.8) sums over t a second time; "
    "the cost of step t belongs to δ_t, and one sum is enough"
)


@dataclass(frozen=True)
class ScalarNet:
    """h_t = w h_{t−1} + x_t from h_0 = 0: states, adjoints and gradient written out."""

    w: float
    inputs: tuple[float, ...]

    def states(self) -> list[float]:
        """h_0, h_1, …, h_T."""
        states = [0.0]
        for x in self.inputs:
            states.append(self.w * states[-1] + x)
        return states

    def adjoints(self, direct: list[float]) -> list[float]:
        """δ_t = direct_t + w δ_{t+1}, for t = 1 … T."""
        adjoints: list[float] = []
        for own in reversed(direct):
            adjoints.append(own + self.w * (adjoints[-1] if adjoints else 0.0))
        return adjoints[::-1]

    def gradient(self, adjoints: list[float]) -> float:
        """Σ_t δ_t h_{t−1}."""
        return sum(each * h for each, h in zip(adjoints, self.states(), strict=False))

    def printed_gradient(self, direct: list[float]) -> float:
        """The same by the recursion as the text prints it."""
        last = len(direct)
        adjoints = [self.w ** (last - t) * sum(direct) for t in range(1, last + 1)]
        return sum(self.gradient(adjoints[:t]) for t in range(1, last + 1)) / last

    def hidden(self) -> tuple[Elman, Tensor]:
        """The same network as a unit, and its states in autograd's graph."""
        unit = Elman(1, 1, activation="identity", bias=False).double()
        with torch.no_grad():
            unit.recur.fill_(self.w)
            unit.project.weight.fill_(1.0)
        inputs = torch.tensor(self.inputs, dtype=torch.float64)[None, :, None]
        return unit, unit(inputs, unit.zero_state(inputs))[0]


@lesson(
    "backpropagation", "Chapter 7: Figure 7.6, the forward and the backward pass",
    chapter="training",
)  # fmt: skip
def backpropagation_lesson(
    *, w: float = 0.5, inputs: tuple[float, ...] = (1.0, 0.0, 0.0)
) -> LessonResult:
    """Backpropagation by hand as a table over t, beside autograd: dC/dw = 2/3."""
    net = ScalarNet(w, inputs)
    steps, states = len(inputs), net.states()
    adjoints = net.adjoints([1 / steps] * steps)
    unit, hidden = net.hidden()
    hidden.retain_grad()
    hidden.mean().backward()
    found = float(unit.recur.grad.item()) if unit.recur.grad is not None else 0.0
    rows: list[tuple[str, ...]] = [("t", "x", "h", "∂C/∂h alone", "δ by hand", "δ h before")]
    for t in range(1, steps + 1):
        values = (inputs[t - 1], states[t], 1 / steps, adjoints[t - 1])
        product = adjoints[t - 1] * states[t - 1]
        rows.append((str(t), *(f"{value:.4f}" for value in values), f"{product:.4f}"))
    literal = net.printed_gradient([1 / steps] * steps)
    return LessonResult(
        (
            ComparedNumber(
                "δ by hand", (7 / 12, 1 / 2, 1 / 3), tuple(adjoints), 1e-12, by_hand=True
            ),
            ComparedNumber("dC/dw by hand", 2 / 3, net.gradient(adjoints), 1e-12, by_hand=True),
            ComparedNumber("dC/dw by autograd", 2 / 3, found, 1e-12, by_hand=True),
            ComparedNumber(
                "dC/dw by the printed recursion",
                literal,
                found,
                care=PRINTED_RECURSION,
                by_hand=True,
            ),
        ),
        text_table(rows, right=range(6)),
    )
