"""The pseudocode of each decoder as a loop, compared to the library's search."""

import math

import torch

from seqloom.fields import END, SPECIAL_SYMBOLS, START
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.small_models import recurrent_model
from seqloom.lessons.text_table import text_table
from seqloom.model import SequenceModel, Source
from seqloom.search import Greedy, Limits, run_to_end

__all__ = ["decoder_loops_lesson"]

LISTINGS = {
    "a": "delayed: state only",
    "b": "self-referencing: output fed back",
    "c": "with H at every step",
    "e": "with attention",
}
SOURCE = Source(torch.tensor([[4, 6, 8, 5, END]]), torch.tensor([5]))


@lesson(
    "decoder-loops", "Attention Models: pseudocode of the delayed decoder",
    "Attention Models: pseudocode of the self-referencing decoder",
    "Attention Models: pseudocode with H at every step",
    "Attention Models: pseudocode of decoding with attention", chapter="encoder-decoder",
)  # fmt: skip
@torch.no_grad()
def decoder_loops_lesson(*, longest: int = 8) -> LessonResult:
    """Four decoders as loops, a word a turn until <eos>, find what the library's search finds."""
    rows, numbers = [("listing", "words", "log-probability")], []
    for form, name in LISTINGS.items():
        model = recurrent_model(form)
        words, score = _loop(model, longest)
        memory = model.encoder.encode(SOURCE)
        limits = Limits(torch.tensor([longest]))
        ((best, *_),) = run_to_end(Greedy(), model.decoder, model.decoder.start(memory), limits)
        rows.append((name, " ".join(map(str, words)), f"{score:.4f}"))
        numbers.append(ComparedNumber(f"words, {name}", words, tuple(best.tokens), by_hand=True))
    return LessonResult(tuple(numbers), text_table(rows, right=(2,)))


def _loop(model: SequenceModel, longest: int) -> tuple[tuple[int, ...], float]:
    """do { y(t) = step(h(t−1), y(t−1)); t = t + 1 } until y = <eos>; <sos> is never generated."""
    state = model.decoder.start(model.encoder.encode(SOURCE))
    word, score = START, 0.0
    words: list[int] = []
    while word != END and len(words) < longest:
        features, state = model.decoder.read(torch.tensor([[word]]), state)
        chances = model.decoder.write(features.hidden[0, -1]).log_softmax(-1)
        chances[[each for each in range(len(SPECIAL_SYMBOLS)) if each != END]] = -math.inf
        word = int(chances.argmax())
        score += float(chances[word])
        words.append(word)
    return tuple(each for each in words if each != END), score
