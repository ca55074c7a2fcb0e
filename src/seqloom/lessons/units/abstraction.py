"""An RNN as a map from a prefix to a vector."""

from seqloom.lessons.draws import draw_module, draw_values, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman

__all__ = ["abstraction_lesson"]


@lesson(
    "abstraction", "NLP 7: RNN abstraction", "NLP 7: recursive definition of an RNN",
    "Chapter 7: Figure 7.3", chapter="units",
)  # fmt: skip
def abstraction_lesson(*, tokens: int = 4, width: int = 3) -> LessonResult:
    """RNN maps a prefix to one vector; RNN* gives the vector of every prefix."""
    unit = draw_module(lambda: Elman(2, width))
    inputs = draw_values(1, tokens, 2)
    every, _ = unit(inputs, unit.zero_state(inputs))
    prefixes = [unit(inputs[:, :n], unit.zero_state(inputs))[0] for n in range(1, tokens + 1)]
    state = unit.zero_state(inputs)
    for n in range(tokens):
        _, after = unit(inputs[:, n : n + 1], state)
        state = tuple(part[:, -1] for part in after)
    rows = [("n", "y_n = RNN(x_1:n)", "nested as")]
    nest = "s_0"
    for n, prefix in enumerate(prefixes, 1):
        nest = f"R({nest}, x_{n})"
        values = " ".join(f"{value:+.3f}" for value in prefix[0, -1].tolist())
        rows.append((str(n), values, nest))
    last = every[0, -1]
    care = "one slide writes y_2 = RNN(x_1, x_2, x_3); a prefix of three gives y_3"
    return LessonResult(
        (
            ComparedNumber("outputs of RNN* for 4 tokens", 4, every.shape[1]),
            ComparedNumber(
                "RNN(x_1:n) against the last of RNN*", 0,
                largest_difference(prefixes[-1][0, -1], last), by_hand=True,
            ),
            ComparedNumber(
                "s_i = R(s_{i−1}, x_i), step by step", 0,
                largest_difference(state[0][0], last), by_hand=True,
            ),
            ComparedNumber("index of RNN(x_1, x_2, x_3)", 2, prefixes[2].shape[1], care=care),
        ),
        text_table(rows),
    )  # fmt: skip
