"""The names of the presets that `--model` takes."""

__all__ = ["PRESETS", "RECURRENT", "TRANSFORMERS"]

TRANSFORMERS = ("transformer", "fast")
RECURRENT = ("lstm", "gru", "elman")
PRESETS = ("auto", *TRANSFORMERS, *RECURRENT)
