"""Alignments in Pharaoh format and as threads between words."""

import numpy as np

from seqloom.drawing import notebook
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, text_of
from seqloom.errors import ConfigError
from seqloom.explanations.alignment import Alignment, Alignments
from seqloom.explanations.attention_map import AttentionMap, Threads

__all__ = ["alignment_text", "alignments_text", "draw_alignment", "draw_alignments"]


@text_of.register
def alignment_text(alignment: Alignment, width: int = 80) -> str:
    """One line in Pharaoh format."""
    return alignment.pharaoh()


@drawing_of.register
def draw_alignment(alignment: Alignment) -> Drawing:
    """Threads from word to word, one for each link."""
    table = np.zeros((len(alignment.target), len(alignment.source) + 1))
    for s, t in alignment.links:
        table[t, s] = 1
    table[:, -1] = 1 - table.sum(axis=1)
    return drawing_of(Threads(AttentionMap((*alignment.source, "–"), alignment.target, table)))


@text_of.register
def alignments_text(found: Alignments, width: int = 80) -> str:
    """A line in Pharaoh format for each input, not truncated."""
    return "\n".join(one.pharaoh() for one in found.alignments)


@notebook.notebook_part.register
def alignments_html(found: Alignments) -> str:
    """A picture for each input."""
    return "\n".join(map(notebook.notebook_part, found.alignments))


@drawing_of.register
def draw_alignments(found: Alignments) -> Drawing:
    """The threads of a single input."""
    if len(found.alignments) != 1:
        raise ConfigError(
            f"a picture shows the words of one input, not of {len(found.alignments)}",
            remedy="give one, or write them as .json",
        )
    return draw_alignment(found.alignments[0])
