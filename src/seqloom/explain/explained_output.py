"""One input and what a model says of it: by name, and as its network reads and writes them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from seqloom.errors import ConfigError, DataError
from seqloom.explain.feature_groups import FeatureGroups, group_features
from seqloom.fields import (
    BLANK,
    EMPTY,
    END,
    SPECIAL_SYMBOLS,
    START,
    NoField,
    NumberField,
    SeriesField,
    TextField,
    Values,
)
from seqloom.model import HeadModel, Memory, Network, SequenceModel, Source
from seqloom.prediction import (
    Forecaster,
    MaskFiller,
    Output,
    Predictor,
    TextPredictor,
)
from seqloom.prediction.inputs import pad_batch
from seqloom.prediction.search_setup import search_from_config

__all__ = [
    "Cell",
    "ExplainedBlanks",
    "ExplainedForecast",
    "ExplainedLabels",
    "ExplainedNumber",
    "ExplainedOutput",
    "ExplainedText",
    "output_to_explain",
    "read_cell",
    "text_source",
    "text_to_explain",
]


Cell = str | Values
"""An input as it is given, or as the model's field encodes it."""


@dataclass(frozen=True, eq=False)
class ExplainedOutput:
    """An input, and each thing that a model says of it; what explains them is a subclass's."""

    quantity: ClassVar[str]  # that is explained

    source: tuple[str, ...]  # the items that are read; none where there is no source
    target: tuple[str, ...]
    values: Values  # of the source, as the network reads it
    feature_groups: FeatureGroups | None = None  # of a source of numbers; symbols are a unit each

    @property
    def inputs(self) -> tuple[str, ...]:
        """What was read beside the source, one item before each that is said; or nothing."""
        return ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The parts of the source that can matter."""
        return self.source if self.feature_groups is None else self.feature_groups.names

    def source_batch(self, rows: int = 1) -> Source:
        """The input, so many times."""
        return pad_batch([self.values] * rows)

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """How large each thing that is said is, for each row of a memory."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ExplainedText(ExplainedOutput):
    """An input and an output that is written, `<end>` included where it was."""

    quantity: ClassVar[str] = "log p"

    target_ids: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the decoder read at each step: `<start>`, then all but the last it wrote."""
        return (SPECIAL_SYMBOLS[START], *self.target[:-1])

    def decoder_input_ids(self, rows: int = 1) -> Tensor:
        """What the decoder reads, so many times."""
        return torch.tensor([(START, *self.target_ids[:-1])] * rows)

    def target_tensor(self) -> Tensor:
        """What the decoder writes."""
        return torch.tensor(self.target_ids)

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each token after those before it."""
        decoder, rows = _require_decoder(network).decoder, memory.sentences
        features, _ = decoder.read(self.decoder_input_ids(rows), decoder.start(memory))
        logs: Tensor = decoder.write(features.hidden).log_softmax(-1)  # (N, T, V)
        return logs.gather(2, self.target_tensor().expand(rows, -1)[:, :, None]).squeeze(2)


@dataclass(frozen=True, eq=False)
class ExplainedLabels(ExplainedOutput):
    """An input and its label, or one for each of its items."""

    quantity: ClassVar[str] = "log p"

    target_ids: tuple[int, ...] = ()

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each label; ids begin after that of padding."""
        logs = _require_head(network).head(memory)[:, : len(self.target_ids)].log_softmax(-1)
        ids = torch.tensor(self.target_ids) - 1
        return logs.gather(2, ids.expand(len(logs), -1)[:, :, None]).squeeze(2)


@dataclass(frozen=True, eq=False)
class ExplainedBlanks(ExplainedOutput):
    """A text with gaps, and a token for each of them."""

    quantity: ClassVar[str] = "log p"

    target_ids: tuple[int, ...] = ()
    fillable: NDArray[np.bool_] | None = None  # which ids can stand in a gap; all if not said

    @property
    def blank_positions(self) -> NDArray[np.int64]:
        """The positions of the gaps."""
        return np.flatnonzero(self.values == BLANK)

    def target_row(self) -> NDArray[np.int32]:
        """The tokens at their positions, and nothing at any other."""
        row = np.full(len(self.values), EMPTY, np.int32)
        row[self.blank_positions] = self.target_ids
        return row

    def log_probabilities(self, scores: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows V"]:
        """The log-probability of each token that can stand in a gap."""
        if self.fillable is not None:
            scores = scores.masked_fill(~torch.from_numpy(self.fillable), -torch.inf)
        return scores.log_softmax(-1)

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each token in its gap."""
        head = _require_head(network).filling_head
        hidden = head.read(memory)[:, torch.from_numpy(self.blank_positions)]
        logs = self.log_probabilities(head.write(hidden))  # (N, T, V)
        ids = torch.tensor(self.target_ids)
        return logs.gather(2, ids.expand(len(logs), -1)[:, :, None]).squeeze(2)


@dataclass(frozen=True, eq=False)
class ExplainedNumber(ExplainedOutput):
    """An input and its number."""

    quantity: ClassVar[str] = "number"

    mean: float = 0.0
    spread: float = 1.0

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The number in its own units."""
        return _require_head(network).head(memory)[:, 0] * self.spread + self.mean


@dataclass(frozen=True, eq=False)
class ExplainedForecast(ExplainedOutput):
    """A past and the columns that are forecast from it, each as its mean over the steps ahead."""

    quantity: ClassVar[str] = "mean forecast"

    past: np.ndarray | None = None  # (S, C), in units of its own
    forecast: np.ndarray | None = None  # (T, C), in units of its own
    field: SeriesField | None = None  # of what is forecast

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The mean of each column over the steps ahead, in its own units."""
        judged = _require_head(network).head(memory)
        means: Tensor = judged.unflatten(2, (len(self.target), -1))[..., 0].mean(dim=1)
        if self.field is None:
            return means
        spread, mean = (means.new_tensor(each) for each in (self.field.spread, self.field.mean))
        return means * spread + mean


def output_to_explain(
    model: Predictor, cell: Cell, output: Output | str | None = None
) -> ExplainedOutput:
    """An input, which may be encoded already, with what the model says of it or with this."""
    if isinstance(model, TextPredictor):
        return text_to_explain(model, cell, output)
    if output is not None and not hasattr(model.target, "labels"):
        raise ConfigError(
            f"--output names a label or tags, and this model gives {model.target.describe()}: "
            "leave it out"
        )
    if isinstance(model, Forecaster):
        return _forecast_to_explain(model, cell)
    if isinstance(model, MaskFiller):
        return _blanks_to_explain(model, cell)
    values = read_cell(model, cell)
    names, units = tuple(model.source.tokens(values)), group_features(model, values)
    if isinstance(model.target, NumberField):
        text = model.predict_rows([values])[0].text
        scale = float(model.target.mean[0]), float(model.target.spread[0])
        return ExplainedNumber(names, (text,), values, units, *scale)
    text = model.predict_rows([values])[0].text if output is None else _output_text(output)
    ids = _label_ids(model, text, len(values) - model.source.closing)
    return ExplainedLabels(names, tuple(model.target.tokens(ids)), values, units, ids)


def text_to_explain(
    model: TextPredictor, cell: Cell, output: Output | str | None = None
) -> ExplainedText:
    """An input with the output that the model gives for it, or with this one.

    A language model is seen while it reads the input itself.
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


def text_source(model: TextPredictor) -> TextField:
    """The source column of a model that reads text; ConfigError for any other."""
    if not isinstance(model.source, TextField):
        raise ConfigError(
            f"words are aligned with words, and the source here is {model.source.describe()}: try "
            "--show gradients or steps"
        )
    return model.source


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


def read_cell(model: Predictor, cell: Cell) -> Values:
    """The input as the network reads it, cut as in use; DataError where it cannot be read."""
    if not isinstance(cell, str):
        return model.input_reader.truncate(0, cell).values
    if isinstance(model, Forecaster):
        return model.last_window(cell)
    if not cell.strip():
        raise DataError("there is nothing to look at in a blank input; give a text")
    reader = model.input_reader
    wrong = reader.field.fault(cell)
    if wrong is not None:
        raise DataError(wrong)
    return reader.truncate(0, reader.field.rows([cell])[0]).values


def _label_ids(model: Predictor, text: str, items: int) -> tuple[int, ...]:
    wrong = model.target.fault(text)
    if wrong is not None:
        raise DataError(f"--output: {wrong}")
    ids = tuple(model.target.rows([text])[0].tolist())
    if model.target.config.kind == "tags" and len(ids) != items:
        raise DataError(f"--output has {len(ids)} tags for {items} tokens; give each one tag")
    return ids


def _forecast_to_explain(model: Forecaster, cell: Cell) -> ExplainedForecast:
    values = np.asarray(model.last_window(cell) if isinstance(cell, str) else cell, np.float32)
    columns = len(model.target.names)
    ahead = model.target.unscale(model.forecast_windows(values[None])[0, ..., 0])
    names = tuple(str(number - len(values)) for number in range(len(values)))
    past = model.target.unscale(values[:, :columns])
    units = group_features(model, values)
    return ExplainedForecast(names, model.target.names, values, units, past, ahead, model.target)


def _blanks_to_explain(model: MaskFiller, cell: Cell) -> ExplainedBlanks:
    values = read_cell(model, cell)
    if not (values == BLANK).any():
        raise DataError(
            f"no gap is among the first {model.config.data.max_source:,} tokens, which are all "
            "that is read (data.max_source); give a shorter text"
        )
    (output,) = model.predict_rows([values])
    names = tuple(model.text_with_blanks.tokens(values)), tuple(model.target.tokens(output.ids))
    return ExplainedBlanks(*names, values, None, output.ids, model.target.fillable)


def _output_text(output: Output | str) -> str:
    return output if isinstance(output, str) else output.text


def _require_decoder(network: Network) -> SequenceModel:
    if not isinstance(network, SequenceModel):
        raise TypeError("a head writes nothing")
    return network


def _require_head(network: Network) -> HeadModel:
    if not isinstance(network, HeadModel):
        raise TypeError("a decoder judges nothing")
    return network
