"""Finished models for other runtimes, checked for equal output."""

from seqloom.export.agreement import Agreement, CTranslate2Model, compare
from seqloom.export.ctranslate2 import export_ctranslate2, token_names

__all__ = ["Agreement", "CTranslate2Model", "compare", "export_ctranslate2", "token_names"]
