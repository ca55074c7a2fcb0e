"""Export models to other runtimes, verified for equal output, and import models."""

from seqloom.export.agreement import Agreement
from seqloom.export.ctranslate2 import export_ctranslate2, token_names
from seqloom.export.ctranslate2_runtime import CTranslate2Model, compare
from seqloom.export.huggingface import (
    HuggingFaceModel,
    ImportedModel,
    export_huggingface,
    read_checkpoint,
)
from seqloom.export.onnx import export_onnx
from seqloom.export.runtime import Runtime

__all__ = [
    "Agreement",
    "CTranslate2Model",
    "HuggingFaceModel",
    "ImportedModel",
    "Runtime",
    "compare",
    "export_ctranslate2",
    "export_huggingface",
    "export_onnx",
    "read_checkpoint",
    "token_names",
]
