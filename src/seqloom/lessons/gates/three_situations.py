"""What gates are for: an early symbol, noise, and a break."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.lessons.draws import draw_module
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Gru

__all__ = ["three_situations_lesson"]

SIGNALS, NOISE, BREAK, SYMBOLS, LENGTH = 3, 3, 4, 5, 12


class LastSignal(nn.Module):
    """One-hot symbols, a GRU, and logits of the signals at the end."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.unit = Gru(SYMBOLS, width)
        self.output = nn.Linear(width, SIGNALS + 1)  # the signals, and “none”

    def forward(self, vectors: Tensor) -> Tensor:
        states, _ = self.unit(vectors, self.unit.zero_state(vectors))
        scores: Tensor = self.output(states[:, -1])
        return scores


@lesson(
    "three-situations", "EE 628: an early symbol, noise to skip, a break to reset at",
    chapter="gates", trains=True,
)  # fmt: skip
def three_situations_lesson(*, updates: int = 150, width: int = 16) -> LessonResult:
    """Name the last signal since the last break: noise is skipped, a break forgets."""
    net = draw_module(lambda: LastSignal(width))
    descent = torch.optim.Adam(net.parameters(), lr=0.02)
    for update in range(updates):
        vectors, targets = _rows(64, seed=update)
        descent.zero_grad()
        functional.cross_entropy(net(vectors), targets).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        descent.step()
    vectors, targets = _rows(500, seed=10_000)
    with torch.no_grad():
        right = float((net(vectors).argmax(1) == targets).double().mean())
        kept = _kept(net.unit, vectors)
    names = {"a signal": vectors[..., :SIGNALS].sum(-1) > 0, "noise": vectors[..., NOISE] > 0,
             "a break": vectors[..., BREAK] > 0}  # fmt: skip
    shares = {name: float(kept[place].mean()) for name, place in names.items()}
    rows = [("step reads", "share of the old state that is kept")]
    rows += [(name, f"{share:.2f}") for name, share in shares.items()]
    return LessonResult(
        (
            ComparedNumber("right", 1.0, right, 0.05, by_hand=True),
            ComparedNumber("is more kept at noise than at a signal", "yes",
                           "yes" if shares["noise"] > shares["a signal"] else "no"),
            ComparedNumber("is more kept at noise than at a break", "yes",
                           "yes" if shares["noise"] > shares["a break"] else "no"),
        ),
        text_table(rows, right=(1,)),
    )  # fmt: skip


def _rows(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Sequences that are mostly noise, and the last signal after the last break as target."""
    generator = torch.Generator().manual_seed(seed)
    shares = torch.tensor([0.08] * SIGNALS + [0.68, 0.08])
    symbols = torch.multinomial(shares, count * LENGTH, replacement=True, generator=generator)
    symbols = symbols.reshape(count, LENGTH)
    targets = torch.full((count,), SIGNALS)
    for column in symbols.unbind(dim=1):
        targets = torch.where(column < SIGNALS, column, targets)
        targets = torch.where(column == BREAK, SIGNALS, targets)
    return functional.one_hot(symbols, SYMBOLS).double(), targets


def _kept(unit: Gru, vectors: Tensor) -> Tensor:
    """The mean of Z over the dimensions of the state, at each step (R, T)."""
    state, found = unit.zero_state(vectors), []
    for step in range(vectors.shape[1]):
        found.append(unit.gates(vectors[:, step], state)["update"].mean(dim=1))
        _, after = unit(vectors[:, step : step + 1], state)
        state = tuple(part[:, -1] for part in after)
    return torch.stack(found, dim=1)
