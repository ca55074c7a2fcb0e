"""A decoder that attends to a bidirectional encoder, as a network graph."""

import torch

from seqloom.config import ModelConfig
from seqloom.explain import NetworkGraph
from seqloom.fields import END, START, Symbols
from seqloom.lessons.draws import draw_module, largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.sentence_nets import count_edges, count_units, sentence_net
from seqloom.model import SequenceModel, Source, build_sequence_model

__all__ = ["attention_net_lesson"]

SOURCE = ("we", "love", "deep", "learning", "<stop>")
TARGET = ("nous", "aimons", "l'", "apprentissage", "en", "profondeur", "<stop>")


@lesson("attention-net", "Chapter 7: Figure 7.10, (7.22)", chapter="attention")
@torch.no_grad()
def attention_net_lesson() -> LessonResult:
    """Two chains of encoder states, each of 5 places read by each of 7 decoder steps."""
    model = _model()
    net = sentence_net(model, SOURCE, TARGET)
    read = torch.tensor([[4, 5, 6, 7, END]])
    memory = model.encoder.encode(Source(read, torch.tensor([5])))
    state = model.decoder.start(memory, trace=True)
    features, _ = model.decoder.read(torch.tensor([[START]]), state)
    other, _ = model.decoder.read(torch.tensor([[8]]), state)
    weights = [each.attention[0, 0] for each in (features, other) if each.attention is not None]
    return LessonResult(
        (
            ComparedNumber("steps from state to state in the encoder, both ways", 8,
                           _steps(net, "encoder"), by_hand=True),
            ComparedNumber("decoder steps", 7, count_units(net, "decoder"), by_hand=True),
            ComparedNumber("weights, T_out × T_in", 35, count_edges(net, "attention"),
                           by_hand=True),
            ComparedNumber("change of the weights at t by the word read at t", 0,
                           largest_difference(*weights), by_hand=True),
        ),
        "5 words read in both directions, 7 written", net,
    )  # fmt: skip


def _steps(net: NetworkGraph, side: str) -> int:
    """The number of recurrent edges on a side."""
    inside = [edge for edge in net.edges if edge.begin.startswith(side) and edge.kind == "time"]
    return len(inside)


def _model() -> SequenceModel:
    side = {"kind": "recurrent", "unit": "gru", "width": 6, "layers": 1, "dropout": 0.0}
    tables = {
        "embedding": 5, "share_vocabulary": False, "tie_output": False,
        "encoder": {**side, "direction": "both"},
        "decoder": {**side, "attention": {"kind": "global", "query": "previous"}},
    }  # fmt: skip
    config = ModelConfig.model_validate(tables)
    return draw_module(lambda: build_sequence_model(config, source=Symbols(14), target=Symbols(14)))
