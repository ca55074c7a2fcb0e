"""Stacked layers: each reads the layer below at t and itself at t − 1."""

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.recurrent import RecurrentStack, StackOptions
from seqloom.nn.units import Elman

__all__ = ["stacked_lesson"]


@lesson(
    "stacked", "Chapter 7: Figure 7.7 (b), stacked", "EE 628: deep recurrent neural networks",
    chapter="units",
)  # fmt: skip
def stacked_lesson(*, layers: int = 3, width: int = 4, words: int = 5) -> LessonResult:
    """A layer reads the layer below at t and its own state at t − 1."""
    stack = draw_module(lambda: RecurrentStack(2, width, Elman, StackOptions(layers=layers)))
    inputs = draw_values(1, words, 2)
    outputs, states = stack(inputs, None)
    read = inputs
    for layer in range(layers):
        unit = stack.get_submodule(f"layers.{layer}.units.0")
        read, _ = unit(read, (read.new_zeros(1, width),))
    first = width * width + 2 * width + width
    above = 2 * width * width + width
    found = sum(each.numel() for each in stack.parameters())
    return LessonResult(
        (
            ComparedNumber(
                "top output against layer after layer", 0, largest_difference(outputs, read),
                by_hand=True,
            ),
            ComparedNumber("states, one for each layer", layers, states[0].shape[1]),
            ComparedNumber(
                "parameters", first + (layers - 1) * above, found, by_hand=True
            ),
        ),
        f"h^[l]_t = S(W_hh^[l] h^[l]_(t−1) + W_hx^[l] h^[l−1]_t + b^[l]), l = 1 … {layers}",
    )  # fmt: skip
