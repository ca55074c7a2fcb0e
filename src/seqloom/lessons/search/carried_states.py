"""Beam search with attention: states carried with their hypotheses, or recomputed."""

import torch

from seqloom.fields import END, SPECIAL_SYMBOLS, START
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.small_models import recurrent_model
from seqloom.lessons.text_table import text_table
from seqloom.model import Memory, SequenceModel, Source
from seqloom.search import PLAIN, Beam, Limits, run_to_end

__all__ = ["carried_states_lesson"]

SOURCE = Source(torch.tensor([[4, 6, 8, 5, END]]), torch.tensor([5]))
Path = tuple[tuple[int, ...], float]


@lesson(
    "carried-states", "Attention Models: beam search with attention, first listing",
    "Attention Models: beam search with attention, context kept", chapter="search",
)  # fmt: skip
@torch.no_grad()
def carried_states_lesson(*, beam: int = 3, steps: int = 4) -> LessonResult:
    """Recomputing every path from its first word and carrying its state give the same beam."""
    model = recurrent_model("e")
    memory = model.encoder.encode(SOURCE)
    paths, read = _recompute(model, memory, beam, steps)
    limits = Limits(torch.tensor([steps]))
    search = Beam(beam, PLAIN, first=False)
    (found,) = run_to_end(search, model.decoder, model.decoder.start(memory), limits)
    rows = [("path", "log-probability, computed again", "carried")]
    for (words, score), each in zip(paths, found, strict=False):
        rows.append((" ".join(map(str, words)), f"{score:.6f}", f"{each.score:.6f}"))
    carried = 1 + (steps - 1) * beam
    return LessonResult(
        (
            ComparedNumber("best path", paths[0][0][:-1], tuple(found[0].tokens), by_hand=True),
            ComparedNumber("its log-probability", paths[0][1], found[0].score, 1e-9, by_hand=True),
            ComparedNumber("decoder steps, computed again", None, read),
            ComparedNumber("decoder steps, carried", None, carried),
            ComparedNumber("is carrying cheaper", "yes", "yes" if carried < read else "no"),
        ),
        text_table(rows, right=(1, 2)),
    )  # fmt: skip


def _recompute(
    model: SequenceModel, memory: Memory, beam: int, steps: int
) -> tuple[list[Path], int]:
    """The final beam, with the number of decoder steps it took to compute."""
    paths: list[Path] = [((), 0.0)]
    read = 0
    for step in range(1, steps + 1):
        forks: list[Path] = []
        for words, score in paths:
            if words[-1:] == (END,):
                forks.append((words, score))
                continue
            inputs = torch.tensor([[START, *words]])
            features, _ = model.decoder.read(inputs, model.decoder.start(memory))
            read += inputs.shape[1]
            logs = model.decoder.write(features.hidden[0, -1]).log_softmax(-1).tolist()
            allowed = range(len(SPECIAL_SYMBOLS), len(logs)) if step < steps else ()
            forks += [((*words, word), score + logs[word]) for word in (END, *allowed)]
        paths = sorted(forks, key=lambda each: -each[1])[:beam]
    return paths, read
