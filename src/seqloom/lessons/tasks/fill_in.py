"""A missing word depends on what follows it."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.lessons.draws import draw_module
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.recurrent import RecurrentStack, StackOptions
from seqloom.nn.units import Gru

__all__ = ["fill_in_lesson"]

SENTENCES = {
    "I am __": "happy",
    "I am __ very hungry .": "not",
    "I am __ very hungry , I could eat half a pig .": "very",
}
"""The sentences of the text, and a word that fits each."""


class BlankNet(nn.Module):
    """The states of the text before a blank, and of the text after it, to a word."""

    def __init__(self, words: int, width: int, *, both: bool) -> None:
        super().__init__()
        self.both = both
        self.vectors = nn.Embedding(words, width)
        self.before = RecurrentStack(width, width, Gru, StackOptions())
        self.after = RecurrentStack(width, width, Gru, StackOptions(direction="backward"))
        self.output = nn.Linear(2 * width, words)

    def forward(self, text: Tensor, blank: int) -> Tensor:
        vectors = self.vectors(text)[None]
        left = self.before(vectors[:, :blank], None)[0][0, -1]
        rest = vectors[:, blank + 1 :]
        right = torch.zeros_like(left)
        if self.both and rest.shape[1]:
            right = self.after(rest, None)[0][0, 0]
        scores: Tensor = self.output(torch.cat([left, right]))
        return scores


@lesson("fill-in", "EE 628: fill in the blanks", chapter="tasks")
def fill_in_lesson(*, width: int = 12, passes: int = 40) -> LessonResult:
    """The words after a blank decide what fits; only a net that reads both sides sees them."""
    words = sorted({word for text in SENTENCES for word in text.split()} | {*SENTENCES.values()})
    chances = {both: _learn(words, width, passes, both=both) for both in (False, True)}
    rows: list[tuple[str, ...]] = [("sentence", "one-way", "two-way")]
    guesses: dict[bool, list[str]] = {False: [], True: []}
    for number, text in enumerate(SENTENCES):
        cells = []
        for both, found in chances.items():
            best = int(found[number].argmax())
            guesses[both].append(words[best])
            cells.append(f"{words[best]} {float(found[number][best]):.2f}")
        rows.append((text, *cells))
    spread = float((chances[False][0] - chances[False][2]).abs().max())
    return LessonResult(
        (
            ComparedNumber("two-way, by sentence", tuple(SENTENCES.values()), tuple(guesses[True]),
                           by_hand=True),
            ComparedNumber("one-way, difference of the three", 0, spread, by_hand=True),
        ),
        text_table(rows),
    )  # fmt: skip


def _learn(words: list[str], width: int, passes: int, *, both: bool) -> list[Tensor]:
    """The probability of every word in each blank, after some passes over the sentences."""
    net = draw_module(lambda: BlankNet(len(words), width, both=both))
    texts = [text.split() for text in SENTENCES]
    rows = [torch.tensor([words.index(word) for word in text]) for text in texts]
    targets = torch.tensor([words.index(word) for word in SENTENCES.values()])
    blanks = [text.index("__") for text in texts]
    descent = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(passes):
        scores = [net(row, blank) for row, blank in zip(rows, blanks, strict=True)]
        descent.zero_grad()
        functional.cross_entropy(torch.stack(scores), targets).backward()
        descent.step()
    with torch.no_grad():
        return [net(row, blank).softmax(0) for row, blank in zip(rows, blanks, strict=True)]
