"""Runtimes to which a model can be exported (docs/interchange.md)."""

from typing import Any, Literal

from seqloom.config.sections import PartOptions
from seqloom.registry import Family

__all__ = [
    "RUNTIMES",
    "CTranslate2RuntimeConfig",
    "HuggingFaceRuntimeConfig",
    "OnnxRuntimeConfig",
    "RuntimeOptions",
]


class RuntimeOptions(PartOptions):
    """Options of a runtime; the first line of a member's docstring is its help."""


RUNTIMES: Family[RuntimeOptions, Any] = Family(
    "runtime", home="seqloom.export", meaning="the runtime to export to"
)


@RUNTIMES.options("ctranslate2")
class CTranslate2RuntimeConfig(RuntimeOptions):
    """CTranslate2, for Transformers that turn text into text."""

    kind: Literal["ctranslate2"] = "ctranslate2"


@RUNTIMES.options("huggingface")
class HuggingFaceRuntimeConfig(RuntimeOptions):
    """Hugging Face transformers (Marian or Pegasus), for Transformers that turn text into text."""

    kind: Literal["huggingface"] = "huggingface"


@RUNTIMES.options("onnx")
class OnnxRuntimeConfig(RuntimeOptions):
    """ONNX graphs for onnxruntime, with a runner in plain Python, for every model."""

    kind: Literal["onnx"] = "onnx"
