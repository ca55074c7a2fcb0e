"""How well a finished model does on a data set."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seqloom.data import DataLike, as_data
from seqloom.prediction import Predictor
from seqloom.search import Search
from seqloom.tasks import EvaluationResult, task_of

__all__ = ["evaluate"]


def evaluate(
    model: Predictor,
    data: DataLike,
    *,
    options: Mapping[str, Any] | None = None,
    search: Search | None = None,
    lowercase: bool = False,
) -> EvaluationResult:
    """The metrics that fit the target field, each with a 95 % bootstrap interval.

    ConfigError where a search or `lowercase` is asked of a model that writes nothing for its data.
    """
    task, reading = task_of(model.config), (options or {}).get("data", {})
    if isinstance(reading, Mapping) and (overlong := reading.get("overlong")) is not None:
        data_config = model.config.data.model_copy(update={"overlong": overlong})
        model = replace(model, config=model.config.model_copy(update={"data": data_config}))
    return task.evaluate(model, as_data(data), options=options, search=search, lowercase=lowercase)
