"""The number of steps on each side of a translation."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.sentence_nets import count_units, sentence_net
from seqloom.lessons.small_models import recurrent_model
from seqloom.lessons.text_table import text_table

__all__ = ["unit_chains_lesson"]

SOURCE, TARGET = "We enjoyed writing this book", "nous avons aimé écrire ce livre <end>"
PAIRS = (
    ("I ate an apple", "Ich habe einen apfel gegessen", (4, 5)),
    ("My name is Tom", "Ich heisse Tom", (4, 3)),
    ("I like attending deep learning lectures", "Ich besuche gerne Deep-Learning-Vorlesungen",
     (6, 4)),
)  # fmt: skip


@lesson(
    "unit-chains", "Chapter 7: Figure 7.1 (c), two chains of units",
    "Attention Models: I ate an apple", "NLP 7: tokens of the translation pair",
    chapter="encoder-decoder",
)  # fmt: skip
def unit_chains_lesson(*, source: str = SOURCE, target: str = TARGET) -> LessonResult:
    """Source and target have lengths of their own: 5 + 7 units, 4 → 5 words."""
    numbers = [ComparedNumber("units of encoder and decoder", (5, 7), _steps(source, target))]
    for before, after, sizes in PAIRS:
        numbers.append(ComparedNumber(f"units: {before}", sizes, _steps(before, after)))
    rows = [(source, target), *((before, after) for before, after, _ in PAIRS)]
    return LessonResult(tuple(numbers), text_table(rows))


def _steps(source: str, target: str) -> tuple[int, int]:
    """The steps of encoder and decoder in the unrolled model."""
    net = sentence_net(recurrent_model("b", words=20), source.split(), target.split())
    return count_units(net, "encoder"), count_units(net, "decoder")
