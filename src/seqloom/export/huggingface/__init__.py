"""Checkpoints of Hugging Face transformers: Marian's, and Pegasus' for pre-norm models."""

from seqloom.export.huggingface.checkpoint import ImportedModel, read_checkpoint
from seqloom.export.huggingface.runtime import HuggingFaceModel, HuggingFaceRuntime
from seqloom.export.huggingface.writing import export_huggingface

__all__ = [
    "HuggingFaceModel",
    "HuggingFaceRuntime",
    "ImportedModel",
    "export_huggingface",
    "read_checkpoint",
]
