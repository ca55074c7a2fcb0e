"""Outputs as a table, for pandas, polars and whatever else reads Arrow."""

import math
from collections.abc import Iterable
from typing import Any

from seqloom.prediction.output import Output, finite_or_none

__all__ = ["outputs_table"]


def outputs_table(outputs: Iterable[Output]) -> Any:
    """A pyarrow.Table with a row for each output, in order.

    Its columns are `text`; `score`, the log-probability; `probability`, which is that of the whole
    output; `stopped`; `truncated`; and `alternatives`, the texts of the N best where those were
    asked for. `polars.from_arrow(table)` and `table.to_pandas()` go on from there.
    """
    import pyarrow  # type: ignore[import-untyped]

    given = list(outputs)
    columns = {
        "text": (pyarrow.string(), [each.text for each in given]),
        "score": (pyarrow.float64(), [finite_or_none(each.score) for each in given]),
        "probability": (pyarrow.float64(), [_probability(each.score) for each in given]),
        "stopped": (pyarrow.string(), [each.stopped for each in given]),
        "truncated": (pyarrow.bool_(), [each.truncated for each in given]),
    }
    if any(each.n_best for each in given):
        texts = [[other.text for other in each.n_best] for each in given]
        columns["alternatives"] = (pyarrow.list_(pyarrow.string()), texts)
    arrays = {name: pyarrow.array(values, kind) for name, (kind, values) in columns.items()}
    return pyarrow.table(arrays)


def _probability(score: float) -> float | None:
    return None if math.isnan(score) else math.exp(score)
