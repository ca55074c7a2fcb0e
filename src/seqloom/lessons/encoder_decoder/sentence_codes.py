"""Codes of sentences as points: paraphrases lie close together."""

import numpy as np

from seqloom.explanations.states import StateMap, project_states, state_map
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import trained

__all__ = ["sentence_codes_lesson"]

WHO = (("Ann", "Bob"), ("Bob", "Ann"), ("Eve", "Tom"), ("Tom", "Eve"))
VERBS = {"sees": ("seen", "voit"), "hears": ("heard", "entend")}
OPTIONS = {
    "source": {"unit": "word"},
    "target": {"unit": "word"},
    "model": {
        "encoder": {"dropout": 0.0, "direction": "forward"},
        "decoder": {"dropout": 0.0, "attention": {"kind": "none"}},
    },
}


def paraphrases() -> list[tuple[str, str]]:
    """Each meaning in three paraphrases, with its translation."""
    found = []
    for one, other in WHO:
        for verb, (participle, french) in VERBS.items():
            said = (f"{one} {verb} {other}", f"{other} is {participle} by {one}",
                    f"it is {one} who {verb} {other}")  # fmt: skip
            found += [(text, f"{one} {french} {other}") for text in said]
    return found


@lesson(
    "sentence-codes", "Attention Models: hidden states cluster by meaning (Sutskever et al.)",
    chapter="encoder-decoder", trains=True,
)  # fmt: skip
def sentence_codes_lesson(*, updates: int = 200) -> LessonResult:
    """The codes of an encoder put sentences of one meaning together, and turned ones apart."""
    rows = paraphrases()
    training = {"updates": updates, "label_smoothing": 0.0}
    with trained(rows, {**OPTIONS, "training": training}) as model:
        codes = state_map(model, rows)
    bags = _bags(rows)
    together = [_same_meaning(each) for each in (bags, codes)]
    shown = [("sentence", "nearest by words", "nearest by code")]
    near = [[codes.texts[row[0][0]] for row in each.nearest_neighbors(1)] for each in (bags, codes)]
    shown += [(text, *pair) for text, *pair in zip(codes.texts, *near, strict=True)][:3]
    return LessonResult(
        (
            ComparedNumber("sentences", None, len(rows)),
            ComparedNumber("nearest to one of its meaning, by code", None, together[1]),
            ComparedNumber("the same by the mean of one-hot words", None, together[0]),
            ComparedNumber("do codes cluster by meaning, three in four at least", "yes",
                           "yes" if together[1] >= 0.75 * len(rows) else "no"),
        ),
        text_table(shown),
        codes,
    )  # fmt: skip


def _bags(rows: list[tuple[str, str]]) -> StateMap:
    """The mean one-hot vector of each sentence, which ignores word order."""
    words = sorted({word for text, _ in rows for word in text.split()})
    states = np.array([[text.split().count(word) / len(text.split()) for word in words]
                       for text, _ in rows])  # fmt: skip
    places, shares = project_states(states)
    texts, labels = zip(*rows, strict=True)
    return StateMap(texts, labels, states, places, "pca", shares)


def _same_meaning(found: StateMap) -> int:
    """The number of sentences whose nearest neighbour has the same meaning."""
    near = found.nearest_neighbors(1)
    return sum(found.labels[place] == found.labels[row[0][0]] for place, row in enumerate(near))
