"""What a model has learnt and how it decided: data first, then a picture (SPEC S9)."""

from seqloom.insight.attention import AttentionMap, draw, render_text

__all__ = ["AttentionMap", "draw", "render_text"]
