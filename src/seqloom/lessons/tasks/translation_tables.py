"""Tables of translations: names outside the vocabulary, and the end of long sentences."""

import random

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import learn, trained

__all__ = ["long_sentences_lesson", "phrase_pair", "unknown_names_lesson"]

FIRST = ("Ulrich", "Anna", "Peter")
SAID = (("{0} {1} , member of the board", "{0} {1} , membre du conseil"),
        ("phones are a problem , said {1}", "les téléphones sont un problème , dit {1}"),
        ("{0} {1} said so", "{0} {1} le dit"))  # fmt: skip
NAMES = (("Hackenberg", "Ulrich Hackenberg , member of the board",
          "Ulrich UNK , membre du conseil"),
         ("Rosenker", "phones are a problem , said Rosenker",
          "les téléphones sont un problème , dit UNK"))  # fmt: skip
WORDS = {"unit": "word", "min_count": 2}
NOUNS = {"house": "maison", "car": "voiture", "door": "porte", "table": "table", "street": "rue",
         "chair": "chaise"}  # fmt: skip
COLOURS = {"red": "rouge", "yellow": "jaune", "old": "ancienne", "new": "moderne"}
PHRASES = 4  # of a long sentence


@lesson(
    "unknown-names", "Attention Models: machine translation example, UNK for a name",
    chapter="tasks", trains=True,
)  # fmt: skip
def unknown_names_lesson(*, updates: int = 150) -> LessonResult:
    """A name that the vocabulary lacks is written UNK; attention tells which word stood there."""
    chosen = random.Random(1)
    pairs = []
    for _ in range(120):
        name = "".join(chosen.choices("bdegiklmnorstu", k=7)).capitalize()
        source, target = chosen.choice(SAID)
        first = chosen.choice(FIRST)
        pairs.append((source.format(first, name), target.format(first, name)))
    options = {"source": WORDS, "target": WORDS, "training": {"updates": updates},
               "model": {"share_vocabulary": False}, "search": {"copy_unknown": True}}  # fmt: skip
    with trained(pairs, options) as model:
        outputs = model.predict([source for _, source, _ in NAMES])
    plain = [" ".join("UNK" if token.copied else token.text for token in output.tokens[:-1])
             for output in outputs]  # fmt: skip
    rows = [("", "sentence")]
    for (_, source, _), text, output in zip(NAMES, plain, outputs, strict=True):
        rows += [("Source", source), ("Our model", text), ("with the name copied", output.text)]
    copied = tuple(token.text for output in outputs for token in output.tokens if token.copied)
    return LessonResult(
        (
            ComparedNumber("UNK in each of the two", (1, 1),
                           tuple(text.split().count("UNK") for text in plain)),
            ComparedNumber("sentences that are right but for the name", 2,
                           sum(text == truth for (_, _, truth), text in zip(NAMES, plain,
                                                                            strict=True)),
                           by_hand=True),
            ComparedNumber("names that attention brings back", ("Hackenberg", "Rosenker"), copied,
                           by_hand=True),
        ),
        text_table(rows),
    )  # fmt: skip


@lesson(
    "long-sentences", "Attention Models: translation examples (Bahdanau et al.), the table",
    chapter="tasks", trains=True,
)  # fmt: skip
def long_sentences_lesson(*, updates: int = 800, tested: int = 40) -> LessonResult:
    """A fixed code loses the tail of a long sentence, which attention keeps."""
    chosen = random.Random(1)
    pairs = [phrase_pair(chosen, chosen.randint(1, PHRASES)) for _ in range(3_000)]
    test = [phrase_pair(chosen, PHRASES) for _ in range(tested)]
    outputs = {}
    for name, kind in (("RNNenc", "none"), ("RNNsearch", "global")):
        options = {
            "source": {"unit": "word"}, "target": {"unit": "word"},
            "model": {"encoder": {"direction": "forward"},
                      "decoder": {"attention": {"kind": kind}}},
            "training": {"updates": updates},
        }  # fmt: skip
        outputs[name] = learn(pairs, [source for source, _ in test], options)
    shares = {name: _by_phrase(texts, test) for name, texts in outputs.items()}
    table = [("", "sentence"), ("Source", test[0][0]), ("Reference", test[0][1])]
    table += [(name, texts[0]) for name, texts in outputs.items()]
    rows = [("phrase right", *map(str, range(1, PHRASES + 1)))]
    rows += [(name, *(f"{share:.0%}" for share in each)) for name, each in shares.items()]
    fixed, search = shares["RNNenc"], shares["RNNsearch"]
    return LessonResult(
        (
            ComparedNumber("does the fixed code lose the tail", "yes",
                           "yes" if fixed[-1] < fixed[0] else "no"),
            ComparedNumber("does attention keep it", "yes",
                           "yes" if search[-1] - search[0] > fixed[-1] - fixed[0] else "no"),
            ComparedNumber("is the last phrase better with attention", "yes",
                           "yes" if search[-1] > fixed[-1] else "no"),
        ),
        text_table(table) + "\n\n" + text_table(rows, right=range(1, PHRASES + 1)),
    )  # fmt: skip


def phrase_pair(chosen: random.Random, phrases: int) -> tuple[str, str]:
    """A sentence of several adjective–noun phrases, whose order is reversed in French."""
    parts = [(chosen.choice([*COLOURS]), chosen.choice([*NOUNS])) for _ in range(phrases)]
    english = " and ".join(f"the {colour} {noun}" for colour, noun in parts)
    return english, " et ".join(f"la {NOUNS[noun]} {COLOURS[colour]}" for colour, noun in parts)


def _by_phrase(texts: list[str], test: list[tuple[str, str]]) -> list[float]:
    """The share of sentences whose first, second, ... phrase is correct."""
    found = [(text.split(" et "), target.split(" et "))
             for text, (_, target) in zip(texts, test, strict=True)]  # fmt: skip
    return [sum(wrote[n : n + 1] == wanted[n : n + 1] for wrote, wanted in found) / len(found)
            for n in range(PHRASES)]  # fmt: skip
