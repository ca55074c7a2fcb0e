"""Two chains of states over one text, and stacked layers."""

import torch
from torch import Tensor

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.recurrent import RecurrentStack, StackOptions
from seqloom.nn.units import Elman

__all__ = ["bidirectional_lesson"]

CARE = (
    "the body computes h_r at t from h_f at t + 1, which joins the two chains; the drawing has h_r "
    "at t + 1"
)


@lesson(
    "bidirectional", "Chapter 7: Figure 7.7 (a), bidirectional", "EE 628: bidirectional model",
    "NLP 7: biRNN", chapter="units",
)  # fmt: skip
@torch.no_grad()
def bidirectional_lesson(*, words: int = 5, width: int = 3) -> LessonResult:
    """Two chains that do not interact: one knows what comes before, one what comes after."""
    stack = draw_module(lambda: RecurrentStack(2, width, Elman, StackOptions(direction="both")))
    text = draw_values(1, words, 2)
    changed = text.clone()
    changed[0, -1] += 1
    outputs, _ = stack(text, None)
    after, _ = stack(changed, None)
    forward, backward = (outputs - after)[0, :-1].abs().split(width, dim=1)
    turned = draw_module(
        lambda: RecurrentStack(2, width, Elman, StackOptions(direction="backward"))
    )
    turned.load_state_dict(
        {name: stack.state_dict()[name.replace("units.0", "units.1")] for name in
         turned.state_dict()}
    )  # fmt: skip
    alone, _ = turned(text, None)
    return LessonResult(
        (
            ComparedNumber("size of a joint output, 2h", 6, outputs.shape[2], by_hand=True),
            ComparedNumber(
                "what the last word changes in h_f before it", 0, float(forward.max()),
                by_hand=True,
            ),
            ComparedNumber(
                "positions before it where h_r changes", words - 1,
                int(torch.count_nonzero(backward.max(dim=1).values)), by_hand=True,
            ),
            ComparedNumber(
                "h_r of both against h_r alone", 0,
                largest_difference(outputs[..., width:], alone), by_hand=True,
            ),
            ComparedNumber(
                "size of h_r at 1, as printed", _norm_across_chains(stack, text),
                size_of(outputs[0, 0, width:]), care=CARE, by_hand=True,
            ),
        ),
    )  # fmt: skip


def size_of(vector: Tensor) -> float:
    """The Euclidean norm, rounded for display."""
    return round(float(vector.norm()), 6)


def _norm_across_chains(stack: RecurrentStack, text: Tensor) -> float:
    """‖h_r‖ at the first position where each h_r is computed from the other chain's next state."""
    forward, backward = (stack.get_submodule(f"layers.0.units.{each}") for each in (0, 1))
    width = backward.get_parameter("recur").shape[0]
    chain, _ = forward(text, (text.new_zeros(1, width),))
    found, _ = backward(text[:, :1], (chain[:, 1],))
    return size_of(found[0, 0])
