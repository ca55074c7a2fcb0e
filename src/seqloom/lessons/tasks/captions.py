"""Image captions: one vector as the initial state, or attention over a grid."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.lessons.draws import draw_module
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.attention import Attention, GeneralScore
from seqloom.nn.units import Gru

__all__ = ["captions_lesson"]

SIDE, WIDTH, STEPS = 12, 16, 6
WORDS = ("<start>", "<end>", "a", "bar", "square", "at", "the", "left", "right")


class Captioner(nn.Module):
    """Convolutions to a grid of 3 × 3 vectors, a GRU, and word logits; with or without
    attention.
    """

    def __init__(self, *, attends: bool) -> None:
        super().__init__()
        self.attends = attends
        self.look = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, WIDTH, 3, stride=2, padding=1), nn.ReLU(),
        )  # fmt: skip
        self.first = nn.Linear(WIDTH * 9, WIDTH)
        self.vectors = nn.Embedding(len(WORDS), WIDTH)
        self.unit = Gru(WIDTH, WIDTH)
        self.attention = Attention(GeneralScore(WIDTH, WIDTH))
        self.output = nn.Linear(2 * WIDTH, len(WORDS))
        if not attends:  # what the first state holds must last to the end
            nn.init.constant_(self.unit.project.bias[WIDTH : 2 * WIDTH], 3.0)

    def forward(self, pictures: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of each next word, and the attention of each step."""
        grid = self.look(pictures[:, None])
        cells = grid.flatten(2).transpose(1, 2)
        first = self.first(grid.flatten(1)).tanh()
        begin = torch.zeros_like(first) if self.attends else first
        states, _ = self.unit(self.vectors(words), (begin,))
        seen = torch.ones(cells.shape[:2], dtype=torch.bool)
        rows = torch.arange(len(cells))
        context, weights = self.attention(states, self.attention.prepare(cells, seen), rows)
        beside = context if self.attends else torch.zeros_like(context)
        return self.output(torch.cat([states, beside], dim=-1)), weights


@lesson(
    "captions", "Chapter 7: Figure 7.1 (d), captioning",
    "Attention Models: captions (Vinyals et al.)",
    "Attention Models: captions with attention (Xu et al.)", chapter="tasks", trains=True,
)  # fmt: skip
def captions_lesson(*, updates: int = 300) -> LessonResult:
    """A convolutional net starts the decoder, or its grid is attended to, word by word."""
    rows, right = [("decoder", "captions right", "example")], {}
    for attends in (False, True):
        net = draw_module(lambda a=attends: Captioner(attends=a), seed=2)  # type: ignore[misc]
        descent = torch.optim.Adam(net.parameters(), lr=0.01)
        for update in range(updates):
            pictures, captions = _draw(32, seed=update)
            scores, _ = net(pictures, captions[:, :-1])
            descent.zero_grad()
            functional.cross_entropy(scores.flatten(0, 1), captions[:, 1:].flatten()).backward()
            descent.step()
        pictures, captions = _draw(100, seed=10_000)
        written, weights = _write(net, pictures)
        right[attends] = float((written == captions[:, 1:]).all(dim=1).double().mean())
        example = " ".join(WORDS[each] for each in written[0].tolist())
        rows.append(("attention" if attends else "first state", f"{right[attends]:.0%}", example))
    side = captions[:, -2] == WORDS.index("right")
    columns = weights[:, 1].reshape(-1, 3, 3).sum(dim=1)  # while it wrote bar or square
    lit = pictures.reshape(-1, SIDE, 3, SIDE // 3).sum(dim=(1, 3))
    on = (columns * (lit > 0)).sum(dim=1).mean()
    return LessonResult(
        (
            ComparedNumber("words of a caption, until <end>", STEPS, written.shape[1],
                           by_hand=True),
            ComparedNumber("right, code as first state", 1.0, right[False], 0.05, by_hand=True),
            ComparedNumber("right, attention", 1.0, right[True], 0.05, by_hand=True),
            ComparedNumber("share of pictures with the object at the right", None,
                           float(side.double().mean())),
            ComparedNumber("weight on the object's columns while naming it", None,
                           float(on)),
        ),
        text_table(rows, right=(1,)),
    )  # fmt: skip


def _draw(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Pictures of a bar or a square at the left or the right, and their captions."""
    generator = torch.Generator().manual_seed(seed)
    shapes, sides = torch.randint(2, (2, count), generator=generator)
    heights = torch.randint(4, (count,), generator=generator)
    pictures, captions = torch.zeros(count, SIDE, SIDE, dtype=torch.float64), []
    for row, (shape, side, top) in enumerate(
        zip(shapes.tolist(), sides.tolist(), heights.tolist(), strict=True)
    ):
        left = 8 * side
        high, wide = (8, 1) if shape == 0 else (4, 4)
        pictures[row, top : top + high, left : left + wide] = 6.0
        named = ("a", ("bar", "square")[shape], "at", "the", ("left", "right")[side])
        captions.append([WORDS.index(word) for word in ("<start>", *named, "<end>")])
    return pictures, torch.tensor(captions)


@torch.no_grad()
def _write(net: Captioner, pictures: Tensor) -> tuple[Tensor, Tensor]:
    """Greedy words and the attention of their steps."""
    words = torch.full((len(pictures), 1), WORDS.index("<start>"))
    for _ in range(STEPS):
        scores, weights = net(pictures, words)
        words = torch.cat([words, scores[:, -1:].argmax(-1)], dim=1)
    return words[:, 1:], weights
