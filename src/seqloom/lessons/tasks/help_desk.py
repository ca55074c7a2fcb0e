"""A dialogue of several turns: each reply depends on all preceding turns."""

from typing import cast

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import trained
from seqloom.prediction import Conversation, TextPredictor

__all__ = ["help_desk_lesson"]

TURNS = (
    "what is the error that you are running please",
    "i am seeing an error related to vpn",
    "what is the error message that you are getting when connecting to vpn using network connect ?",
    "connection refused or something like that",
    "may i know the version of network connect you connect ?",
    "i am not sure i know that",
    "is the network connect prompting for any user certificate",
)
OTHER = (("hello", "what is the error that you are running please"),
         ("hello", "i am not sure i know that", "please call again once you know"))  # fmt: skip


@lesson(
    "help-desk", "Attention Models: human machine conversation (Vinyals and Le)", chapter="tasks",
    trains=True,
)  # fmt: skip
def help_desk_lesson(*, updates: int = 150) -> LessonResult:
    """Human text in, machine reply out: four turns of the machine, three of the human."""
    rows = [(list(TURNS[:n]), TURNS[n]) for n in range(2, len(TURNS), 2)]
    rows += [(list(said[:-1]), said[-1]) for said in OTHER]
    options = {
        "source": {"kind": "turns", "unit": "word"},
        "target": {"unit": "word"},
        "model": {"encoder": {"dropout": 0.0}, "decoder": {"dropout": 0.0}},
        "training": {"updates": updates, "label_smoothing": 0.0},
    }
    with trained(rows, options) as model:
        talk = Conversation(cast(TextPredictor, model), turns=[TURNS[0]])
        replies = [list(talk.reply(said))[-1] for said in TURNS[1::2]]
        (alone,) = model.predict([["hello", TURNS[5]]])
    spoken = [TURNS[0], *(turn for pair in zip(TURNS[1::2], replies, strict=True) for turn in pair)]
    names = ("Machine", "Human")
    shown = [(f"{names[number % 2]}:", turn) for number, turn in enumerate(spoken)]
    return LessonResult(
        (
            ComparedNumber("turns of machine and human", (4, 3),
                           (len(spoken[::2]), len(spoken[1::2]))),
            ComparedNumber("replies as in the text, word by word", 3,
                           sum(one == other for one, other in zip(replies, TURNS[2::2],
                                                                  strict=True))),
            ComparedNumber("words of each", (17, 11, 9),
                           tuple(len(reply.split()) for reply in replies)),
            ComparedNumber("is the same turn answered otherwise after “hello”", "yes",
                           "yes" if alone.text != replies[2] else "no", by_hand=True),
        ),
        text_table(shown),
    )  # fmt: skip
