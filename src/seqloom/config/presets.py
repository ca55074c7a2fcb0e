"""The presets that `--model` takes, and the sizes that they choose."""

from seqloom.config.sections import Overrides

__all__ = ["PRESETS", "RECURRENT", "TRANSFORMERS", "preset_model", "recurrent_model"]

TRANSFORMERS = ("transformer", "fast")
RECURRENT = ("lstm", "gru", "elman")
PRESETS = ("auto", *TRANSFORMERS, *RECURRENT)


def preset_model(preset: str, words: float) -> Overrides:
    """Sizes that grow with the number of target words, and dropout to suit."""
    sizes = ((200_000, 128, 0.1), (2_000_000, 192, 0.3), (20_000_000, 256, 0.2))
    width, dropout = next(((w, d) for limit, w, d in sizes if words < limit), (512, 0.1))
    if preset in RECURRENT:
        return recurrent_model(preset, width, dropout)
    stack = {
        "kind": "transformer",
        "width": width,
        "inner": 4 * width,
        "heads": width // 64 if width >= 256 else 4,
        "layers": 3,
        "dropout": dropout,
    }
    encoder, decoder = stack, stack
    if preset == "fast":
        encoder, decoder = {**stack, "layers": 6}, {**stack, "layers": 1, "mixing": "ssru"}
    return {"embedding": width, "encoder": encoder, "decoder": decoder}


def recurrent_model(unit: str, width: int, dropout: float) -> Overrides:
    """Two layers that read from both ends, and one wide layer that writes, with attention."""
    stack = {"kind": "recurrent", "unit": {"kind": unit}, "dropout": dropout}
    return {
        "embedding": width,
        "encoder": {**stack, "width": width, "layers": 2},
        "decoder": {**stack, "width": 2 * width, "layers": 1, "attention": {"kind": "global"}},
    }
