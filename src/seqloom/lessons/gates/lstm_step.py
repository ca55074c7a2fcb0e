"""An LSTM step by hand, its sizes, and the bounds of its memory cell."""

import torch

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.units import Lstm

__all__ = ["lstm_step_lesson"]

CARE = "true of what is added, i ⊙ c̃; a forget gate that closes takes away more"


@lesson(
    "lstm-step", "Chapter 7: Figure 7.8 (a), LSTM", "NLP 7: LSTM, one wire at a time",
    "EE 628: LSTM slides", chapter="gates",
)  # fmt: skip
@torch.no_grad()
def lstm_step_lesson(*, inputs: int = 3, width: int = 4, cell: float = 5.0) -> LessonResult:
    """Three gates and a candidate: what is added to the memory is below 1, what is lost is not."""
    unit = draw_module(lambda: Lstm(inputs, width))
    x = draw_values(1, 1, inputs)
    before = (draw_values(1, width, seed=2), torch.full((1, width), cell, dtype=torch.float64))
    _, (hidden, memory) = unit(x, before)
    gates = unit.gates(x[0], before)
    matrices = unit.recurrent_matrices()
    added = (memory[:, 0] - gates["forget"] * before[1]).abs()
    names = (*unit.gate_names, "candidate")
    bias = unit.get_parameter("project.bias").unflatten(0, (len(names), width))
    bias[names.index("output")] = -1e3  # closed, it keeps the cell private
    _, (private, kept) = unit(x, before)
    bias[names.index("forget")] = -1e3  # closed, it cuts
    _, (_, cut) = unit(x, before)
    out = gates["output"] * memory[:, 0].tanh()
    return LessonResult(
        (
            ComparedNumber("square matrices W_hh", 4, len(matrices)),
            ComparedNumber("gates", 3, len(gates)),
            ComparedNumber("h against o ⊙ tanh(c)", 0, largest_difference(hidden[:, 0], out),
                           by_hand=True),
            ComparedNumber("is |c_t − f ⊙ c_(t−1)| at most 1", "yes",
                           "yes" if float(added.max()) <= 1 else "no"),
            ComparedNumber("h with the output gate closed", 0, float(private.abs().max()),
                           by_hand=True),
            ComparedNumber("change of c by that", 0, largest_difference(kept, memory),
                           by_hand=True),
            ComparedNumber("largest move of the memory", 1,
                           float((cut[:, 0] - before[1]).abs().max()), care=CARE),
        ),
    )  # fmt: skip
