"""A text as one-hot vectors, and a network of 748 parameters that predicts its next words."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.lessons.draws import draw_module
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman

__all__ = ["LEXICON", "word_numbers_lesson"]

LEXICON = ("deep", "engineering", "learning", "machine", "mathematical", "of", "statistics", "the")
CARE = "the body swaps the two; the caption and the drawing have this"
READ = (
    "the mathematical engineering of engineering statistics",
    "the mathematical engineering of engineering statistics",
    "the mathematical engineering of deep learning",
)
"""What the network learns from: after “of”, engineering is twice as frequent as deep."""


@lesson(
    "word-numbers", "Chapter 7: the toy text as unit vectors", "Chapter 7: Figure 7.5",
    chapter="units",
)  # fmt: skip
def word_numbers_lesson(
    *, text: str = "the mathematical engineering of deep learning", passes: int = 60
) -> LessonResult:
    """A text as numbers of words, its targets, and four of five predicted."""
    words = text.split()
    numbers = tuple(LEXICON.index(word) + 1 for word in words)
    net = _learn(passes)
    guesses = [LEXICON[each] for each in net(_vectors(text))[:-1].argmax(dim=1).tolist()]
    targets = words[1:]
    right = [guess == target for guess, target in zip(guesses, targets, strict=True)]
    rows = [("t", "input", "vector", "target", "predicted", "")]
    for t, (word, number) in enumerate(zip(words, numbers, strict=True), 1):
        vector = "".join("1" if row == number else "·" for row in range(1, len(LEXICON) + 1))
        target, guess = (targets[t - 1], guesses[t - 1]) if t <= len(targets) else ("", "")
        mark = "" if guess == target else "wrong"
        rows.append((str(t), word, vector, target, guess, mark))
    wrong = right.index(False) if False in right else 0
    size = sum(each.numel() for each in net.parameters())
    return LessonResult(
        (
            ComparedNumber("parameters of the network", 748, size),
            ComparedNumber("numbers of the words", (8, 5, 2, 6, 1, 3), numbers),
            ComparedNumber("numbers of the targets", (5, 2, 6, 1, 3), numbers[1:]),
            ComparedNumber("predicted correctly, of 5", 4, sum(right)),
            ComparedNumber("step of the miss", 4, wrong + 1),
            ComparedNumber("target of the miss", "engineering", targets[wrong], care=CARE),
            ComparedNumber("prediction of the miss", "deep", guesses[wrong], care=CARE),
        ),
        text_table(rows),
    )


class NextWord(nn.Module):
    """One-hot inputs, an Elman state of 20, and word logits."""

    def __init__(self) -> None:
        super().__init__()
        self.unit = Elman(len(LEXICON), 20)
        self.output = nn.Linear(20, len(LEXICON))

    def forward(self, vectors: Tensor) -> Tensor:
        states, _ = self.unit(vectors[None], self.unit.zero_state(vectors[None]))
        scores: Tensor = self.output(states[0])
        return scores


def _vectors(text: str) -> Tensor:
    return torch.eye(len(LEXICON), dtype=torch.float64)[_places(text)]


def _places(text: str) -> Tensor:
    return torch.tensor([LEXICON.index(word) for word in text.split()])


def _learn(passes: int) -> NextWord:
    """Train the network for some passes over its text."""
    net = draw_module(NextWord)
    descent = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(passes):
        descent.zero_grad()
        losses = [functional.cross_entropy(net(_vectors(each)[:-1]), _places(each)[1:])
                  for each in READ]  # fmt: skip
        torch.stack(losses).mean().backward()
        descent.step()
    return net
