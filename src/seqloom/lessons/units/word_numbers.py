"""A text as unit vectors, and how many of its next words are predicted."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table

__all__ = ["LEXICON", "word_numbers_lesson"]

LEXICON = ("deep", "engineering", "learning", "machine", "mathematical", "of", "statistics", "the")
CARE = "the body swaps the two; the caption and the drawing have this"


@lesson(
    "word-numbers", "Chapter 7: the toy text as unit vectors", "Chapter 7: Figure 7.5",
    chapter="units",
)  # fmt: skip
def word_numbers_lesson(
    *,
    text: str = "the mathematical engineering of deep learning",
    predicted: str = "mathematical engineering of engineering learning",
) -> LessonResult:
    """A text as numbers of words, its targets, and four of five predicted."""
    words, guesses = text.split(), predicted.split()
    numbers = tuple(LEXICON.index(word) + 1 for word in words)
    targets = words[1:]
    right = [guess == target for guess, target in zip(guesses, targets, strict=False)]
    rows = [("t", "input", "vector", "target", "predicted", "")]
    for t, (word, number) in enumerate(zip(words, numbers, strict=True), 1):
        vector = "".join("1" if row == number else "·" for row in range(1, len(LEXICON) + 1))
        target, guess = (targets[t - 1], guesses[t - 1]) if t <= len(targets) else ("", "")
        mark = "" if guess == target else "wrong"
        rows.append((str(t), word, vector, target, guess, mark))
    wrong = right.index(False) if False in right else 0
    return LessonResult(
        (
            ComparedNumber("numbers of the words", (8, 5, 2, 6, 1, 3), numbers),
            ComparedNumber("numbers of the targets", (5, 2, 6, 1, 3), numbers[1:]),
            ComparedNumber("predicted correctly, of 5", 4, sum(right)),
            ComparedNumber("target of the miss", "engineering", targets[wrong], care=CARE),
            ComparedNumber("prediction of the miss", "deep", guesses[wrong], care=CARE),
        ),
        text_table(rows),
    )
