"""Generate a sentence from its first word: word indices, sizes, and gradient descent."""

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.datasets.cats import CATS_VOCABULARY, cats
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.units import Elman

__all__ = ["ClassToSequence", "class_to_sequence_lesson"]

PRINTED = {11: (15, 16, 6, 22), 7: (3, 8, 14, 20, 22), 13: (12, 19, 7, 3, 8, 22)}
LONGEST = 8


class ClassToSequence(torch.nn.Module):
    """h_0 = σ(W^i x), h_t = σ(W^h [h_{t−1}; y_{t−1}]), y_t = softmax(W^o h_t); no biases."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(words, width, bias=False)
        self.unit = Elman(words, width, activation="sigmoid", bias=False)
        self.output = torch.nn.Linear(width, words, bias=False)

    def forward(self, word: Tensor, read: Tensor) -> Tensor:
        hidden, _ = self.unit(read[None], (self.first(word[None]).sigmoid(),))
        logits: Tensor = self.output(hidden[0])
        return logits


@lesson(
    "class-to-sequence", "ML:IX: text generation, the table of word numbers",
    "ML:IX: class-to-sequence mapping with RNNs", "ML:IX: algorithm IGD_c2seq, steps 1 to 11",
    chapter="tasks",
)  # fmt: skip
def class_to_sequence_lesson(
    *, width: int = 20, rate: float = 1.0, passes: int = 100, seed: int = 1
) -> LessonResult:
    """I → love my cat: 22 words, 1,720 parameters, learnt to the letter by plain descent."""
    words = {word: number for number, word in enumerate(CATS_VOCABULARY, 1)}
    pairs = [(words[word], tuple(words[each] for each in [*text.split(), "<end>"]))
             for word, text in cats().train]  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = ClassToSequence(len(words), width)
    one_hot = torch.eye(len(words))
    descent = torch.optim.SGD(net.parameters(), lr=rate)
    losses = []
    for _ in range(passes):
        total = 0.0
        for word, target in pairs:
            read = torch.stack([one_hot[each - 1] for each in (words["<start>"], *target[:-1])])
            labels = torch.tensor(target) - 1
            loss = functional.cross_entropy(net(one_hot[word - 1], read), labels, reduction="sum")
            descent.zero_grad()
            loss.backward()
            descent.step()
            total += loss.item()
        losses.append(total)
    written = {word: _write(net, one_hot, word, words["<start>"], words["<end>"])
               for word, _ in pairs}  # fmt: skip
    rows = [("input", "written", "")]
    rows += [(CATS_VOCABULARY[word - 1], " ".join(CATS_VOCABULARY[each - 1] for each in output),
              " ".join(map(str, output))) for word, output in written.items()]  # fmt: skip
    size = sum(each.numel() for each in net.parameters())
    numbers = [ComparedNumber("words", 22, len(words)),
               ComparedNumber("parameters, m² + 66 m", 1_720, size, by_hand=True)]  # fmt: skip
    for word, output in written.items():
        numbers.append(ComparedNumber(f"written after {word}", PRINTED[word], output))
    shown = f"summed loss of a pass: {losses[0]:.2f} at first, {losses[-1]:.2f} after {passes}"
    return LessonResult(tuple(numbers), text_table(rows) + "\n" + shown)


@torch.no_grad()
def _write(
    net: ClassToSequence, one_hot: Tensor, word: int, start: int, end: int
) -> tuple[int, ...]:
    """What the net writes, fed with its own output."""
    output: list[int] = []
    while len(output) < LONGEST and output[-1:] != [end]:
        read = torch.stack([one_hot[each - 1] for each in (start, *output)])
        output.append(int(net(one_hot[word - 1], read)[-1].argmax()) + 1)
    return tuple(output)
