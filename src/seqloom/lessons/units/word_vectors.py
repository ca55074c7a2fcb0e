"""Word vectors from neighbours, and contextual vectors of a word."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.lessons.draws import draw_module
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.recurrent import RecurrentStack, StackOptions
from seqloom.nn.units import Gru

__all__ = ["word_vectors_lesson"]

GROUPS = ((("king", "queen"), ("rules", "reigns")), (("cat", "dog"), ("drinks", "sleeps")))
CORPUS = (
    *(f"the {who} {verb} there" for names, verbs in GROUPS for who in names for verb in verbs),
    *("the mean value", "the mean person"),
)


@lesson(
    "word-vectors", "Chapter 7: word2vec, bag of words and skip-gram",
    "Chapter 7: one vector or two for “mean”", chapter="units",
)  # fmt: skip
def word_vectors_lesson(*, passes: int = 60, width: int = 6) -> LessonResult:
    """Words with the same neighbours get like vectors; in context one word has several."""
    words = sorted({word for text in CORPUS for word in text.split()})
    rows, likes = [("task", "king and queen", "king and cat")], {}
    for task in ("bag of words", "skip-gram"):
        vectors = _learn(task, words, passes, width)
        king, queen, cat = (vectors[words.index(word)] for word in ("king", "queen", "cat"))
        same, other = (float(functional.cosine_similarity(king, each, dim=0))
                       for each in (queen, cat))  # fmt: skip
        likes[task] = same > other
        rows.append((task, f"{same:+.2f}", f"{other:+.2f}"))
    encoder = draw_module(
        lambda: RecurrentStack(width, width, Gru, StackOptions(direction="both")), seed=3
    )
    place = words.index("mean")
    found = [encoder(vectors[[words.index(word) for word in text.split()]][None], None)[0][0, 1]
             for text in ("the mean value", "the mean person")]  # fmt: skip
    static = [vectors[place], vectors[place]]
    cosines = [float(functional.cosine_similarity(pair[0], pair[1], dim=0).detach())
               for pair in (static, found)]  # fmt: skip
    return LessonResult(
        (
            ComparedNumber("bag of words: is king nearer to queen than to cat", "yes",
                           "yes" if likes["bag of words"] else "no", by_hand=True),
            ComparedNumber("skip-gram: the same", "yes", "yes" if likes["skip-gram"] else "no",
                           by_hand=True),
            ComparedNumber("mean value, mean person: cosine, one vector", 1, cosines[0], 1e-9,
                           by_hand=True),
            ComparedNumber("the same in context, two vectors", None, cosines[1]),
            ComparedNumber("do the two differ", "yes", "yes" if cosines[1] < 1 - 1e-6 else "no"),
        ),
        text_table(rows, right=(1, 2)),
    )  # fmt: skip


def _learn(task: str, words: list[str], passes: int, width: int) -> Tensor:
    """The hidden layer of a network that predicts the middle word, or its neighbours."""
    inner = draw_module(lambda: nn.Embedding(len(words), width))
    output = draw_module(lambda: nn.Linear(width, len(words)), seed=2)
    descent = torch.optim.Adam([*inner.parameters(), *output.parameters()], lr=0.05)
    known, wanted = [], []
    for text in CORPUS:
        places = [words.index(word) for word in text.split()]
        for place, middle in enumerate(places):
            near = places[max(0, place - 1) : place] + places[place + 1 : place + 2]
            if task == "skip-gram":
                known += [[middle]] * len(near)
                wanted += near
            else:
                known.append(near)
                wanted.append(middle)
    targets = torch.tensor(wanted)
    for _ in range(passes):
        descent.zero_grad()
        read = torch.stack([inner(torch.tensor(each)).mean(0) for each in known])
        functional.cross_entropy(output(read), targets).backward()
        descent.step()
    return inner.weight.detach()
