"""Parameters of the blocks of a Transformer and of the whole."""

import torch

from seqloom.config import ModelConfig
from seqloom.fields import Symbols
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.model import build_sequence_model

__all__ = ["transformer_sizes_lesson"]

CARE = "the text counts p biases in the output layer; a bias for each word makes it d_V"


@lesson("transformer-sizes", "Chapter 7: (7.32) and the count of parameters", chapter="transformer")
def transformer_sizes_lesson(
    *, width: int = 512, inner: int = 2_048, heads: int = 8, layers: int = 6, words: int = 37_000
) -> LessonResult:
    """Parameters of an encoder block, a decoder block and the whole Transformer."""
    block = {
        "kind": "transformer", "width": width, "inner": inner, "heads": heads,
        "layers": layers, "norm": "after",
    }  # fmt: skip
    tables = {"embedding": width, "share_vocabulary": False, "tie_output": False}
    config = ModelConfig.model_validate({**tables, "encoder": block, "decoder": block})
    with torch.device("meta"):
        model = build_sequence_model(config, source=Symbols(words), target=Symbols(words))
    parts = {
        "encoder block": model.encoder.get_submodule("blocks.0"),
        "decoder block": model.decoder.get_submodule("blocks.0"),
        "output layer": model.decoder.get_submodule("output"),
    }
    encoder, decoder, output = (
        sum(each.numel() for each in part.parameters()) for part in parts.values()
    )
    whole = layers * (encoder + decoder) + output
    return LessonResult(
        (
            ComparedNumber("encoder block", 3_150_336, encoder),
            ComparedNumber("decoder block", 4_199_936, decoder),
            ComparedNumber("six encoder blocks, in millions", 18.9, layers * encoder / 1e6, 0.05),
            ComparedNumber("six decoder blocks, in millions", 25.2, layers * decoder / 1e6, 0.05),
            ComparedNumber("output layer", words * width + width, output, care=CARE),
            ComparedNumber("whole, in millions", 63.0, whole / 1e6, 0.1),
            ComparedNumber("whole", None, whole),
        ),
        "Without the tables of token vectors; no biases in attention.",
    )
