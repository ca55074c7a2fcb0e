"""A word determined by a much earlier one."""

import random

import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.lessons.draws import draw_module
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman, Lstm, Unit

__all__ = ["distant_word_lesson"]

NAMES = {"Slava": "Ukrainian", "Marie": "French", "Aiko": "Japanese", "Sven": "Swedish"}
BETWEEN = (
    *("grew", "up", "in", "a", "small", "town", "and", "moved"),
    *("far", "away", "so", "the", "mother", "tongue", "is"),
)


class TongueNet(nn.Module):
    """One-hot words, a unit, and logits of the languages at the end."""

    def __init__(self, words: int, unit: Unit) -> None:
        super().__init__()
        self.unit = unit
        self.words = words
        self.output = nn.Linear(unit.width, len(NAMES))

    def forward(self, vectors: Tensor) -> Tensor:
        states, _ = self.unit(vectors, self.unit.zero_state(vectors))
        scores: Tensor = self.output(states[:, -1])
        return scores


@lesson("distant-word", "Chapter 7: Slava and the mother tongue", chapter="training", trains=True)
def distant_word_lesson(*, updates: int = 150, width: int = 24) -> LessonResult:
    """The name at the beginning decides the last word; what lies between does not."""
    words = (*NAMES, *dict.fromkeys(BETWEEN))
    rows, right, first = [("unit", "right", "position that the answer depends on most")], {}, {}
    for name, make in (("Elman", Elman), ("LSTM", Lstm)):
        net = draw_module(
            lambda make=make: TongueNet(len(words), make(len(words), width))  # type: ignore[misc]
        )
        descent = torch.optim.Adam(net.parameters(), lr=0.01)
        for update in range(updates):
            texts, targets = _texts(words, seed=update)
            descent.zero_grad()
            functional.cross_entropy(net(texts), targets).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            descent.step()
        texts, targets = _texts(words, seed=-1)
        with torch.no_grad():
            right[name] = float((net(texts).argmax(1) == targets).double().mean())
            effects = _effects(net, texts, targets)
        first[name] = effects.index(max(effects))
        place = "the name" if first[name] == 0 else f"word {first[name] + 1}"
        rows.append((name, f"{right[name]:.0%}", place))
    distance = len(BETWEEN)
    return LessonResult(
        (
            ComparedNumber("steps from the name to the answer", None, distance),
            ComparedNumber("right with an LSTM", 1.0, right["LSTM"], 0.02, by_hand=True),
            ComparedNumber("position of the decisive word", 0, first["LSTM"], by_hand=True),
        ),
        text_table(rows, right=(1,)),
    )


def _effects(net: TongueNet, texts: Tensor, targets: Tensor) -> list[float]:
    """The decrease of the answer's log-probability when a position is blanked."""
    rows = torch.arange(len(targets))
    whole = net(texts).log_softmax(-1)[rows, targets]
    falls = []
    for place in range(texts.shape[1]):
        blank = texts.clone()
        blank[:, place] = 0.0
        falls.append(float((whole - net(blank).log_softmax(-1)[rows, targets]).mean()))
    return falls


def _texts(words: tuple[str, ...], seed: int) -> tuple[Tensor, Tensor]:
    """Thirty-two texts with the words in between in random order, as one-hot vectors."""
    chosen = random.Random(seed)
    names = [chosen.randrange(len(NAMES)) for _ in range(32)]
    rows = [[name, *(words.index(word) for word in chosen.sample(BETWEEN, len(BETWEEN)))]
            for name in names]  # fmt: skip
    return torch.eye(len(words), dtype=torch.float64)[torch.tensor(rows)], torch.tensor(names)
