"""Surveys of data before training, which can be interrupted and continued."""

from seqloom.surveys.column_cells import column_cells
from seqloom.surveys.findings import survey_mark
from seqloom.surveys.survey import Distribution, Overlap, Survey, hold_out, overlap, survey

__all__ = [
    "Distribution",
    "Overlap",
    "Survey",
    "column_cells",
    "hold_out",
    "overlap",
    "survey",
    "survey_mark",
]
