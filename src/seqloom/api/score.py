"""The log-probability of the rows of a data set."""

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from seqloom.data import Data, Report
from seqloom.prediction import Predictor, ScoredOutput
from seqloom.tasks import task_of

__all__ = ["score_rows"]

GROUP = 2_048  # rows scored together
MIN_LOG_PROBABILITY = -700.0  # a mean of which there is a perplexity: exp(709) is the last in float


def score_rows(
    model: Predictor, data: Data, *, options: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """For each row its log-probability and that of each of its tokens, in a stream.

    Values are plain; those that JSON cannot have are None.
    """
    rows = task_of(model.config).data_rows(model, data, options, Report())
    size = None if model.is_stream else GROUP  # one text is one group
    while group := list(islice(rows, size)):
        pairs = [(row.source, row.target) for row in group]
        for row, scored in zip(group, model.score_lines(pairs), strict=True):
            plain = scored.as_dict()
            yield {
                "place": str(row.place),
                "source": row.source,
                "target": row.target,
                "score": plain["score"],
                "perplexity": _perplexity(scored),
                "tokens": plain["tokens"],
            }


def _perplexity(scored: ScoredOutput) -> float | None:
    """That of one row; None where it is beyond all numbers, or nearly so."""
    mean = scored.log_probability / len(scored.tokens)
    return math.exp(-mean) if mean >= MIN_LOG_PROBABILITY else None
