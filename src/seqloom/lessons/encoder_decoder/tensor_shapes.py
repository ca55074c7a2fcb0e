"""Input and output shapes of a stacked encoder and decoder."""

import torch
from torch import nn

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.nn.recurrent import RecurrentStack, StackOptions
from seqloom.nn.units import Lstm

__all__ = ["tensor_shapes_lesson"]


@lesson(
    "tensor-shapes", "EE 628: Seq2SeqEncoder listing", "EE 628: Seq2SeqDecoder listing",
    chapter="encoder-decoder",
)  # fmt: skip
def tensor_shapes_lesson(
    *, batch: int = 4, length: int = 7, words: int = 10, layers: int = 2, width: int = 16
) -> LessonResult:
    """Four texts of seven words through two LSTM layers of 16: (4, 7, 10) and two states."""
    tokens = torch.arange(batch * length).reshape(batch, length) % words
    embedding = nn.Embedding(words, 8)
    stack = RecurrentStack(8, width, Lstm, StackOptions(layers=layers))
    read, state = stack(embedding(tokens), None)
    logits = nn.Linear(width, words)(read)
    states = tuple(part.transpose(0, 1) for part in state)
    time_first = read.transpose(0, 1)
    return LessonResult(
        (
            ComparedNumber(
                "encoder's output, time first", (7, 4, 16), tuple(time_first.shape), by_hand=True
            ),
            ComparedNumber("decoder's output", (4, 7, 10), tuple(logits.shape)),
            ComparedNumber("parts of the state", 2, len(states)),
            ComparedNumber("hidden state", (2, 4, 16), tuple(states[0].shape)),
            ComparedNumber("memory cell", (2, 4, 16), tuple(states[1].shape)),
        ),
    )
