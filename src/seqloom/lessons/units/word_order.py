"""Means of word vectors ignore word order; recurrent units do not."""

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.units import Elman

__all__ = ["word_order_lesson"]


@lesson("word-order", "NLP 7: motivation, substitutes of fixed size", chapter="units")
def word_order_lesson(*, words: int = 5, width: int = 3) -> LessonResult:
    """Turning a text round leaves the mean of its vectors as it is, and changes an RNN's output."""
    unit = draw_module(lambda: Elman(2, width))
    text = draw_values(1, words, 2)
    turned = text.flip(1)
    outputs = [unit(each, unit.zero_state(each))[0][0, -1] for each in (text, turned)]
    change = largest_difference(*outputs)
    return LessonResult(
        (
            ComparedNumber(
                "change of the mean (CBOW)", 0, largest_difference(text.mean(1), turned.mean(1)),
                by_hand=True,
            ),
            ComparedNumber("change of the concatenation", None, largest_difference(text, turned)),
            ComparedNumber("change of the RNN's output", None, change),
            ComparedNumber("does the RNN's output change", "yes", "yes" if change else "no"),
        ),
    )  # fmt: skip
