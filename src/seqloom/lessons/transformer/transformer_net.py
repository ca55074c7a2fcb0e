"""The stacks of a Transformer, from its own connections."""

from seqloom.config import ModelConfig
from seqloom.explain import architecture_graph
from seqloom.fields import Symbols
from seqloom.lessons.draws import draw_module
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.model import build_sequence_model

__all__ = ["transformer_net_lesson"]

PARTS = {
    "self-attention of the encoder": ("encoder.", "self-attention"),
    "self-attention of the decoder": ("decoder.", "self-attention"),
    "cross-attention": ("decoder.", "cross-attention"),
    "feed-forward networks": ("", "feed-forward"),
}


@lesson("transformer-net", "Chapter 7: Figure 7.16", "EE 628: Transformer", chapter="transformer")
def transformer_net_lesson(*, layers: int = 6) -> LessonResult:
    """Six blocks a side; the encoder's output z* enters each block of the decoder."""
    block = {"kind": "transformer", "width": 8, "inner": 16, "heads": 2, "layers": layers}
    tables = {"embedding": 8, "share_vocabulary": False, "tie_output": False}
    config = ModelConfig.model_validate({**tables, "encoder": block, "decoder": block})
    model = draw_module(lambda: build_sequence_model(config, source=Symbols(9), target=Symbols(9)))
    net = architecture_graph(model)
    names = [node.name for node in net.nodes]
    counts = [sum(name.startswith(side) and name.endswith(part) for name in names)
              for side, part in PARTS.values()]  # fmt: skip
    code = [edge for edge in net.edges if edge.begin == "encoder.states"]
    expected = (6, 6, 6, 12)
    numbers = [ComparedNumber(name, wanted, found, by_hand=True)
               for name, wanted, found in zip(PARTS, expected, counts, strict=True)]  # fmt: skip
    numbers.append(ComparedNumber("blocks that z* enters", 6, len(code)))
    numbers.append(
        ComparedNumber(
            "output fed back to the input",
            1,
            sum(edge.kind == "feedback" for edge in net.edges),
            by_hand=True,
        )
    )
    shown = f"{len(net.nodes)} parts, {len(net.edges)} connections"
    return LessonResult(tuple(numbers), shown, net)
