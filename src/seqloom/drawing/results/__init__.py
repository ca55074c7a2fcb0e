"""Text, pictures and tables of metric results.

Importing a module here registers it with `text_of`, `drawing_of` and `fragment_of`.
"""

from seqloom.drawing.results import class_table, confusion, forecast_errors, reliability
from seqloom.drawing.results.scores import score_table

__all__ = ["class_table", "confusion", "forecast_errors", "reliability", "score_table"]
