"""The initial state of a decoder, and its stopping rules."""

import torch

from seqloom.config import ModelConfig
from seqloom.fields import END, START, Symbols
from seqloom.lessons.draws import draw_module, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.model import SequenceModel, Source, build_sequence_model
from seqloom.search import Greedy, Limits, run_to_end

__all__ = ["decoder_start_lesson"]

SOURCES = [Source(torch.tensor([[first, 7, 8, END]]), torch.tensor([4])) for first in (4, 6)]


@lesson("decoder-start", "NLP 7: decoder design questions", chapter="encoder-decoder")
@torch.no_grad()
def decoder_start_lesson(*, longest: int = 5) -> LessonResult:
    """s_0 is h_n, NN(h_n) or zero; writing stops at <EOS> or at a greatest length."""
    rows, effects = [("first state", "effect of the source on the first word", "parameters")], {}
    for start in ("copy", "map", "zero"):
        model = _model(start)
        first = [_first(model, source) for source in SOURCES]
        effects[start] = largest_difference(*first)
        size = sum(each.numel() for each in model.parameters())
        rows.append((start, f"{effects[start]:.4f}", f"{size:,}"))
    model = _model("copy")
    lengths = []
    for end in (None, 1e3):  # a bias that leaves <EOS> unchanged, or makes it certain
        if end is not None:
            model.decoder.get_parameter("output.bias")[END] = end
        memory = model.encoder.encode(SOURCES[0])
        limits = Limits(torch.tensor([longest]))
        ((best, *_),) = run_to_end(Greedy(), model.decoder, model.decoder.start(memory), limits)
        lengths.append(len(best.tokens))
    shared = {id(each) for each in model.encoder.parameters()} & {
        id(each) for each in model.decoder.parameters()
    }
    return LessonResult(
        (
            ComparedNumber("does h_n reach the first word", "yes", "yes" if effects["copy"] else
                           "no"),
            ComparedNumber("does NN(h_n)", "yes", "yes" if effects["map"] else "no"),
            ComparedNumber("effect with a zero state", 0, effects["zero"], by_hand=True),
            ComparedNumber("words until the greatest length", longest, lengths[0], by_hand=True),
            ComparedNumber("words where <EOS> comes first", 0, lengths[1], by_hand=True),
            ComparedNumber("weights that the two nets share", 0, len(shared), by_hand=True),
        ),
        text_table(rows, right=(1, 2)),
    )  # fmt: skip


def _model(start: str) -> SequenceModel:
    side = {"kind": "recurrent", "unit": "gru", "width": 6, "layers": 1, "dropout": 0.0}
    tables = {
        "embedding": 5, "share_vocabulary": False, "tie_output": False,
        "encoder": {**side, "direction": "forward"},
        "decoder": {**side, "attention": "none", "first_state": start},
    }  # fmt: skip
    config = ModelConfig.model_validate(tables)
    return draw_module(lambda: build_sequence_model(config, source=Symbols(9), target=Symbols(9)))


def _first(model: SequenceModel, source: Source) -> torch.Tensor:
    state = model.decoder.start(model.encoder.encode(source))
    features, _ = model.decoder.read(torch.tensor([[START]]), state)
    return model.decoder.write(features.hidden[0, -1]).softmax(-1)
