"""Export models as ONNX graphs, with a runner that needs neither torch nor Seqloom."""

from seqloom.export.onnx.runtime import OnnxRuntime
from seqloom.export.onnx.writing import export_onnx

__all__ = ["OnnxRuntime", "export_onnx"]
