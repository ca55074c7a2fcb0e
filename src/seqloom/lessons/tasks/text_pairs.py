"""The pairs printed in the texts, memorized exactly."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import learn

__all__ = ["text_pairs_lesson"]

PAIRS = (
    ("We enjoyed writing this book", "Nous avons aimé écrire ce livre"),
    ("we love deep learning", "nous aimons l' apprentissage en profondeur"),
    ("Hello world .", "Bonjour le monde ."),
    ("I ate an apple", "Ich habe einen apfel gegessen"),
    ("My name is Tom", "Ich heisse Tom"),
    ("I like attending deep learning lectures", "Ich besuche gerne Deep-Learning-Vorlesungen"),
    ("I have a problem", "How may I help you"),
)


@lesson(
    "text-pairs", "Chapter 7: Figure 7.1 (c), the translation", "EE 628: Hello world.",
    "NLP 7: the translation", "Attention Models: machine translation, I ate an apple",
    "Attention Models: dialog, I have a problem", chapter="tasks", trains=True,
)  # fmt: skip
def text_pairs_lesson(*, updates: int = 120, asked: str = "") -> LessonResult:
    """One encoder–decoder learns the pairs that the texts print: three languages and a dialog."""
    options = {
        "source": {"unit": "word"},
        "target": {"unit": "word"},
        "model": {"encoder": {"dropout": 0.0}, "decoder": {"dropout": 0.0}},
        "training": {"updates": updates, "label_smoothing": 0.0},
    }
    inputs = [source for source, _ in PAIRS] + ([asked] if asked else [])
    outputs = learn(PAIRS, inputs, options)
    rows = [(source, output) for source, output in zip(inputs, outputs, strict=True)]
    return LessonResult(
        tuple(ComparedNumber(source, target, output)
              for (source, target), output in zip(PAIRS, outputs, strict=False)),
        text_table(rows),
    )  # fmt: skip
