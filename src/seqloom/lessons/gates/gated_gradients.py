"""Gradients over many steps through Elman units and through gated units."""

import torch

from seqloom.lessons.draws import draw_module, draw_values
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman, Gru, Lstm, Unit

__all__ = ["gated_gradients_lesson"]

FORGET = slice(1, 2)  # the second of an LSTM's four gates


@lesson(
    "gated-gradients", "EE 628: an early symbol that decides",
    chapter="gates",
)  # fmt: skip
def gated_gradients_lesson(*, length: int = 50, width: int = 8, bias: float = 5.0) -> LessonResult:
    """Over 50 steps an Elman unit's gradient vanishes; gates that keep let it pass."""
    units: dict[str, Unit] = {
        "Elman": draw_module(lambda: Elman(2, width, weights="glorot")),
        "GRU": draw_module(lambda: Gru(2, width, weights="glorot")),
        "LSTM": draw_module(lambda: Lstm(2, width, weights="glorot")),
    }
    with torch.no_grad():
        units["GRU"].get_parameter("project.bias")[width : 2 * width] = bias
        units["LSTM"].get_parameter("project.bias").unflatten(0, (4, width))[FORGET] = bias
    shares = {name: _share(unit, length) for name, unit in units.items()}
    rows = [("unit", "share of the gradient at step 1")]
    rows += [(name, f"{share:.2g}") for name, share in shares.items()]
    return LessonResult(
        (
            ComparedNumber("does Elman's vanish (below 1e-6)", "yes",
                           "yes" if shares["Elman"] < 1e-6 else "no"),
            ComparedNumber("does the GRU's stay (above .1)", "yes",
                           "yes" if shares["GRU"] > 0.1 else "no"),
            ComparedNumber("does the LSTM's cell's stay (above .1)", "yes",
                           "yes" if shares["LSTM"] > 0.1 else "no"),
        ),
        text_table(rows, right=(1,)),
    )  # fmt: skip


def _share(unit: Unit, length: int) -> float:
    """‖∂C/∂s_1‖ / ‖∂C/∂s_T‖ of the last part of the state, for C the sum of the last state."""
    inputs = draw_values(1, length, 2)
    state = tuple(each.requires_grad_() for each in unit.zero_state(inputs))
    kept = []
    for t in range(length):
        _, after = unit(inputs[:, t : t + 1], state)
        state = tuple(each[:, -1] for each in after)
        kept.append(state[-1])
    first, last = torch.autograd.grad(state[-1].sum(), [kept[0], kept[-1]])
    return float(first.norm() / last.norm())
