"""Outputs read from the states: one at the end, one at each step, or fed back."""

import torch
from torch import Tensor, nn

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman

__all__ = ["output_fed_lesson", "read_outs_lesson"]


@lesson("read-outs", "NLP 7: RNN as an acceptor", "NLP 7: RNN as a transducer", chapter="units")
def read_outs_lesson(*, words: int = 4, width: int = 3) -> LessonResult:
    """An acceptor's loss is of the last output alone, a transducer's the sum over all."""
    unit = draw_module(lambda: Elman(2, width))
    output = draw_module(lambda: nn.Linear(width, 2), seed=2)
    inputs = draw_values(1, words, 2)
    states, _ = unit(inputs, unit.zero_state(inputs))
    states.retain_grad()
    costs = nn.functional.cross_entropy(
        output(states[0]), torch.zeros(words, dtype=torch.int64), reduction="none"
    )
    acceptor = torch.autograd.grad(costs[-1], states, retain_graph=True)[0][0]
    transducer = torch.autograd.grad(costs.sum(), states, retain_graph=True)[0][0]
    rows: list[tuple[str, ...]] = [("position", "acceptor ∂L/∂y", "transducer ∂L/∂y")]
    for place in range(words):
        sizes = (float(each[place].norm()) for each in (acceptor, transducer))
        rows.append((str(place + 1), *(f"{size:.4f}" for size in sizes)))
    return LessonResult(
        (
            ComparedNumber("outputs with a loss of their own, acceptor", 1, _with_loss(acceptor)),
            ComparedNumber("the same, transducer", words, _with_loss(transducer)),
            ComparedNumber("L against Σ L_i", 0,
                           largest_difference(costs.sum(), sum(costs, torch.zeros(()))),
                           by_hand=True),
        ),
        text_table(rows, right=(0, 1, 2)),
    )  # fmt: skip


def _with_loss(gradient: Tensor) -> int:
    return int(torch.count_nonzero(gradient.norm(dim=1)))


@lesson(
    "output-fed", "Chapter 7: (7.3), the output fed back", "Chapter 7: footnote 6, until <stop>",
    chapter="units",
)  # fmt: skip
@torch.no_grad()
def output_fed_lesson(*, words: int = 6, width: int = 8, longest: int = 12) -> LessonResult:
    """The input is x + T(ŷ before), T an argmax and an embedding; x = 0 after the first step."""
    unit = draw_module(lambda: Elman(width, width), seed=13)
    output = draw_module(lambda: nn.Linear(width, words), seed=4)
    table = draw_values(words, width, seed=5)
    rows, state = [("t", "x", "ŷ before", "ŷ")], unit.zero_state(table[None])
    read: list[Tensor] = []
    before: int | None = None
    while before != 0 and len(read) < longest:  # word 0 is <stop>
        x = table[1] if not read else torch.zeros(width, dtype=torch.float64)
        fed = x if before is None else x + table[before]
        states, after = unit(fed[None, None], state)
        state = tuple(part[:, -1] for part in after)
        word = int(output(states[0, 0]).argmax())
        rows.append((str(len(read) + 1), "x_1" if not read else "0",
                     "" if before is None else str(before), str(word)))  # fmt: skip
        read.append(fed)
        before = word
    at_once, _ = unit(torch.stack(read)[None], unit.zero_state(table[None]))
    zeros = torch.zeros_like(torch.stack(read))
    zeros[0] = read[0]
    unfed, _ = unit(zeros[None], unit.zero_state(table[None]))
    return LessonResult(
        (
            ComparedNumber("step by step against all inputs at once", 0,
                           largest_difference(output(at_once[0, -1]), output(states[0, 0])),
                           by_hand=True),
            ComparedNumber("last word written, <stop>", 0, word, by_hand=True),
            ComparedNumber("does the fed-back word change the second state", "yes",
                           "yes" if largest_difference(at_once[0, 1], unfed[0, 1]) else "no"),
        ),
        text_table(rows, right=(0, 2, 3)),
    )  # fmt: skip
