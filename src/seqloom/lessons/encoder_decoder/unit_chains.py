"""How many units a chain has in each paradigm and each translation."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
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
    "unit-chains", "Chapter 7: units in Figures 7.1 (c) and 7.9 (a)",
    "Attention Models: I ate an apple", "NLP 7: tokens of the translation pair",
    chapter="encoder-decoder",
)  # fmt: skip
def unit_chains_lesson(*, source: str = SOURCE, target: str = TARGET) -> LessonResult:
    """Source and target have lengths of their own: 5 + 7 units, 4 → 5 words."""
    numbers = [
        ComparedNumber("units of encoder and decoder", (5, 7),
                       (len(source.split()), len(target.split())))
    ]  # fmt: skip
    rows = [("source", "target")]
    for before, after, sizes in PAIRS:
        rows.append((before, after))
        found = len(before.split()), len(after.split())
        numbers.append(ComparedNumber(f"words: {before}", sizes, found))
    return LessonResult(tuple(numbers), text_table([(source, target), *rows[1:]]))
