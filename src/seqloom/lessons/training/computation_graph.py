"""The computation graph of three steps, as recorded by autograd."""

from collections import Counter
from typing import Any

import torch

from seqloom.lessons.draws import draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table

__all__ = ["computation_graph_lesson"]


@lesson("computation-graph", "EE 628: Figure 10.7.2, the computational graph", chapter="training")
def computation_graph_lesson(*, steps: int = 3) -> LessonResult:
    """Every step uses the same W_hx, W_hh and W_oh; a gradient is the sum over its uses."""
    names = ("W_hx", "W_hh", "W_oh")
    weights = [draw_values(2, 2, seed=seed).requires_grad_() for seed in (1, 2, 3)]
    inputs, targets = draw_values(steps, 2, seed=4), draw_values(steps, 2, seed=5)

    def loss(*used: list[torch.Tensor]) -> torch.Tensor:
        """L = Σ ‖o_t − y_t‖², where each step may have a copy of the weights."""
        state, total = draw_values(2, seed=6), torch.zeros((), dtype=torch.float64)
        for t, (w_hx, w_hh, w_oh) in enumerate(zip(*used, strict=True)):
            state = w_hx @ inputs[t] + w_hh @ state
            total = total + (w_oh @ state - targets[t]).square().sum()
        return total

    shared = loss(*([each] * steps for each in weights))
    uses = _uses(shared.grad_fn)
    whole = torch.autograd.grad(shared, weights)
    copies = [[each.detach().clone().requires_grad_() for _ in range(steps)] for each in weights]
    apart = loss(*copies)
    parts = [torch.autograd.grad(apart, each, retain_graph=True) for each in copies]
    rows = [("parameter", "uses", *(f"‖∂L/∂W‖ at t={t + 1}" for t in range(steps)), "of the sum")]
    for name, weight, own, full in zip(names, weights, parts, whole, strict=True):
        sizes = [f"{float(each.norm()):.4f}" for each in (*own, full)]
        rows.append((name, str(uses[id(weight)]), *sizes))
    sums = [largest_difference(torch.stack(own).sum(0), full)
            for own, full in zip(parts, whole, strict=True)]  # fmt: skip
    return LessonResult(
        (
            ComparedNumber("uses of each parameter", (steps,) * 3,
                           tuple(uses[id(each)] for each in weights), by_hand=True),
            ComparedNumber("gradient against the sum over its uses", 0, max(sums), by_hand=True),
        ),
        text_table(rows, right=range(1, steps + 3)),
    )  # fmt: skip


def _uses(last: Any) -> Counter[int]:
    """The number of operators that read each parameter, by its identity."""
    seen, waiting, uses = set(), [last], Counter[int]()
    while waiting:
        node = waiting.pop()
        for following, _ in node.next_functions:
            if following is None:
                continue
            if hasattr(following, "variable"):
                uses[id(following.variable)] += 1
            elif following not in seen:
                seen.add(following)
                waiting.append(following)
    return uses
