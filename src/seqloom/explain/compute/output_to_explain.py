"""A predictor's output for an input as what is explained, by the kind of predictor.

The functions here are the only ones of explain/ that ask which predictor they have.
"""

from functools import singledispatch

import numpy as np
import torch

from seqloom.errors import ConfigError, DataError
from seqloom.explain.compute.explained_output import (
    Cell,
    ExplainedBlanks,
    ExplainedForecast,
    ExplainedLabels,
    ExplainedNumber,
    ExplainedOutput,
    ExplainedText,
)
from seqloom.explain.compute.media import group_features
from seqloom.explain.compute.tracing import trace_decoder
from seqloom.fields import BLANK, END, NoField, NumberField, Values
from seqloom.prediction import (
    Forecaster,
    HeadPredictor,
    MaskFiller,
    Output,
    Predictor,
    TextPredictor,
)
from seqloom.prediction.search_setup import search_from_config

__all__ = ["language_model_state", "output_to_explain", "read_cell", "text_to_explain"]


@singledispatch
def output_to_explain(
    model: Predictor, cell: Cell, output: Output | str | None = None
) -> ExplainedOutput:
    """An input, which may be encoded already, with the model's output for it or with this one."""
    raise TypeError(f"{type(model).__name__} is no predictor that can be explained")


@output_to_explain.register
def _label_to_explain(
    model: HeadPredictor, cell: Cell, output: Output | str | None = None
) -> ExplainedOutput:
    _refuse_output(model, output)
    values = read_cell(model, cell)
    names, units = tuple(model.source.tokens(values)), group_features(model, values)
    if isinstance(model.target, NumberField):
        text = model.predict_rows([values])[0].text
        scale = float(model.target.mean[0]), float(model.target.spread[0])
        return ExplainedNumber(names, (text,), values, units, *scale)
    text = model.predict_rows([values])[0].text if output is None else _output_text(output)
    ids = _label_ids(model, text, len(values) - model.source.closing)
    return ExplainedLabels(names, tuple(model.target.tokens(ids)), values, units, ids)


@output_to_explain.register
def _forecast_to_explain(
    model: Forecaster, cell: Cell, output: Output | str | None = None
) -> ExplainedForecast:
    _refuse_output(model, output)
    values = np.asarray(model.last_window(cell) if isinstance(cell, str) else cell, np.float32)
    columns = len(model.target.names)
    ahead = model.target.unscale(model.forecast_windows(values[None])[0, ..., 0])
    names = tuple(str(number - len(values)) for number in range(len(values)))
    past = model.target.unscale(values[:, :columns])
    units = group_features(model, values)
    return ExplainedForecast(names, model.target.names, values, units, past, ahead, model.target)


@output_to_explain.register
def _blanks_to_explain(
    model: MaskFiller, cell: Cell, output: Output | str | None = None
) -> ExplainedBlanks:
    _refuse_output(model, output)
    values = read_cell(model, cell)
    if not (values == BLANK).any():
        raise DataError(
            f"no gap is among the first {model.config.data.max_source:,} tokens, which are all "
            "that is read (data.max_source); give a shorter text"
        )
    (found,) = model.predict_rows([values])
    names = tuple(model.text_with_blanks.tokens(values)), tuple(model.target.tokens(found.ids))
    return ExplainedBlanks(*names, values, None, found.ids, model.target.fillable)


@output_to_explain.register
def text_to_explain(
    model: TextPredictor, cell: Cell, output: Output | str | None = None
) -> ExplainedText:
    """An input with the text that the model writes for it, or with this one.

    A language model is explained while it reads the input itself.
    """
    if model.is_language_model:
        return _language_model_text(model, str(cell), output)
    values = read_cell(model, cell)
    if output is None:
        (output,) = model.predict_rows([values], search=search_from_config(model.config.search, 1))
    if isinstance(output, str):
        ids = [*model.target.encode(output).tolist(), END]
    else:
        ids = list(output.ids)
    names = tuple(model.source.tokens(values)), tuple(model.target.tokens(ids))
    return ExplainedText(*names, values, group_features(model, values), tuple(ids))


def _language_model_text(
    model: TextPredictor, cell: str, output: Output | str | None
) -> ExplainedText:
    if output is not None:
        raise ConfigError("a language model is seen while it reads the input: leave --output out")
    if not cell.strip():
        raise DataError("there is nothing to look at in a blank input; give a text")
    ids = [*model.target.encode(cell).tolist(), *([] if model.is_stream else [END])]
    (values,) = NoField(model.source.config).rows([""])  # type: ignore[arg-type]
    return ExplainedText((), tuple(model.target.tokens(ids)), values, None, tuple(ids))


def _refuse_output(model: HeadPredictor, output: Output | str | None) -> None:
    if output is not None and not hasattr(model.target, "labels"):
        raise ConfigError(
            f"--output names a label or tags, and this model gives {model.target.describe()}: "
            "leave it out"
        )


def read_cell(model: Predictor, cell: Cell) -> Values:
    """The input as the network reads it, truncated as in use; DataError where it is unreadable."""
    if not isinstance(cell, str):
        return model.input_reader.truncate(0, cell).values
    return _read_text(model, cell)


@singledispatch
def _read_text(model: Predictor, cell: str) -> Values:
    if not cell.strip():
        raise DataError("there is nothing to look at in a blank input; give a text")
    reader = model.input_reader
    wrong = reader.field.fault(cell)
    if wrong is not None:
        raise DataError(wrong)
    return reader.truncate(0, reader.field.rows([cell])[0]).values


@_read_text.register
def _read_series(model: Forecaster, cell: str) -> Values:
    return model.last_window(cell)


@singledispatch
def language_model_state(model: Predictor, text: str, of: str) -> np.ndarray | None:
    """The last or the mean state of a language model after a text; None for any other model."""
    return None


@language_model_state.register
@torch.no_grad()
def _language_model_state(model: TextPredictor, text: str, of: str) -> np.ndarray | None:
    if not model.is_language_model:
        return None
    hidden = trace_decoder(model.network, text_to_explain(model, text)).hidden.double().numpy()
    last: np.ndarray = hidden[-1] if of == "last" else hidden.mean(axis=0)
    return last


def _label_ids(model: HeadPredictor, text: str, items: int) -> tuple[int, ...]:
    wrong = model.target.fault(text)
    if wrong is not None:
        raise DataError(f"--output: {wrong}")
    ids = tuple(model.target.rows([text])[0].tolist())
    if model.target.config.kind == "tags" and len(ids) != items:
        raise DataError(f"--output has {len(ids)} tags for {items} tokens; give each one tag")
    return ids


def _output_text(output: Output | str) -> str:
    return output if isinstance(output, str) else output.text
