"""A network that generates a sequence from a class, unrolled step by step."""

import torch
from torch import Tensor

from seqloom.lessons.draws import draw_module, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.tasks.class_to_sequence import ClassToSequence
from seqloom.lessons.text_table import text_table

__all__ = ["class_net_lesson"]

WORDS, START = 22, 20


@lesson(
    "class-net", "ML:IX: from vector output to sequence output",
    "ML:IX: recurrent output generation, folded and unfolded", chapter="tasks",
)  # fmt: skip
@torch.no_grad()
def class_net_lesson(*, width: int = 20, steps: int = 3) -> LessonResult:
    """Activation spreads from t = 0 to 1 to 2: y^h(0) = σ(W^i x), then W^h on (y^h, y) before."""
    net = draw_module(lambda: ClassToSequence(WORDS, width))
    x, words = torch.eye(WORDS, dtype=torch.float64)[10], torch.eye(WORDS, dtype=torch.float64)
    hidden = net.first(x).sigmoid()
    joint = torch.cat([net.unit.recur, net.unit.project.weight], dim=1)  # W^h
    rows = [("t", "‖y^h(t)‖", "reads", "word written")]
    rows.append(("0", f"{float(hidden.norm()):.4f}", "x by W^i", ""))
    word, read, outputs = START, [], []
    for t in range(1, steps + 1):
        read.append(words[word])
        hidden = (joint @ torch.cat([hidden, words[word]])).sigmoid()
        outputs.append(net.output(hidden))
        before = "<start>" if t == 1 else f"y({t - 1})"
        word = int(outputs[-1].argmax())
        rows.append(
            (str(t), f"{float(hidden.norm()):.4f}", f"y^h({t - 1}), {before}", f"{word + 1}")
        )
    return LessonResult(
        (
            ComparedNumber("W^h, m × (m + k)", (width, width + WORDS), tuple(joint.shape),
                           by_hand=True),
            ComparedNumber("step by step against the unfolded net", 0,
                           largest_difference(torch.stack(outputs), net(x, torch.stack(read))),
                           by_hand=True),
            ComparedNumber("does the class reach the last output", "yes",
                           "yes" if _reaches(net, words, read) else "no"),
        ),
        text_table(rows, right=(0, 1, 3)),
    )  # fmt: skip


def _reaches(net: ClassToSequence, words: Tensor, read: list[Tensor]) -> bool:
    """Whether the class affects the last word, given the same preceding words."""
    outputs = [net(words[each], torch.stack(read))[-1] for each in (10, 6)]
    return largest_difference(*outputs) > 0
