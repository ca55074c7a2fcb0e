"""Finished models for other runtimes, checked for equal output."""

from seqloom.export.agreement import Agreement, Exported, compare
from seqloom.export.ctranslate2 import export_ctranslate2, token_names

__all__ = ["Agreement", "Exported", "compare", "export_ctranslate2", "token_names"]
