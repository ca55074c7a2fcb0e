"""Parameters of a language model over eight words, by unit."""

from seqloom.config import ModelConfig
from seqloom.fields import Symbols
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.model import build_sequence_model

__all__ = ["unit_sizes_lesson"]

AFFINE_MAPS = {"elman": 1, "lstm": 4, "gru": 3}


@lesson("unit-sizes", "Chapter 7: size of the toy network", chapter="units")
def unit_sizes_lesson(*, words: int = 8, width: int = 20) -> LessonResult:
    """Parameters of a language model over eight words: 748 with an Elman unit."""
    numbers = []
    for unit, maps in AFFINE_MAPS.items():
        decoder = {
            "kind": "recurrent", "unit": unit, "width": width, "layers": 1, "dropout": 0.0,
            "readout": "affine", "attention": "none", "first_state": "zero",
        }  # fmt: skip
        tables = {"one_hot": True, "tie_output": False, "share_vocabulary": False}
        config = ModelConfig.model_validate(
            {**tables, "encoder": {"kind": "none"}, "decoder": decoder}
        )
        model = build_sequence_model(config, source=Symbols(words), target=Symbols(words))
        found = sum(each.numel() for each in model.parameters())
        formula = maps * (width * width + width * words + width) + words * width + words
        by_hand = unit != "elman" or (words, width) != (8, 20)
        numbers.append(ComparedNumber(unit, formula if by_hand else 748, found, by_hand=by_hand))
    shown = "G(m² + mp + m) + qm + q, with G = 1 (Elman), 4 (LSTM), 3 (GRU)"
    return LessonResult(tuple(numbers), shown)
