"""One input and what a model says of it: by name, and as its network reads and writes them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from seqloom.errors import ConfigError, DataError
from seqloom.explain.feature_groups import Units, units_of
from seqloom.fields import (
    EMPTY,
    END,
    GAP,
    SPECIAL_SYMBOLS,
    START,
    NoField,
    NumberField,
    SeriesField,
    TextField,
    Values,
)
from seqloom.model import HeadedModel, Memory, Network, SequenceModel, Source
from seqloom.prediction import Filler, Forecaster, Judge, Model, Output, Predictor
from seqloom.prediction.inputs import padded
from seqloom.prediction.search_setup import configured

__all__ = [
    "Cell",
    "Filled",
    "Foretold",
    "Labelled",
    "Measured",
    "Pair",
    "Said",
    "pair_of",
    "read_cell",
    "said_of",
    "text_field",
]


Cell = str | Values
"""An input as it is given, or as the model's field encodes it."""


@dataclass(frozen=True, eq=False)
class Said:
    """An input, and each thing that a model says of it; what explains them is a subclass's."""

    quantity: ClassVar[str]  # that is explained

    source: tuple[str, ...]  # the items that are read; none where there is no source
    target: tuple[str, ...]
    values: Values  # of the source, as the network reads it
    units: Units | None = None  # of a source of numbers; symbols are a unit each

    @property
    def inputs(self) -> tuple[str, ...]:
        """What was read beside the source, one item before each that is said; or nothing."""
        return ()

    @property
    def evidence(self) -> tuple[str, ...]:
        """The parts of the source that can matter."""
        return self.source if self.units is None else self.units.names

    def read(self, rows: int = 1) -> Source:
        """The input, so many times."""
        return padded([self.values] * rows)

    def explained(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """How large each thing that is said is, for each row of a memory."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Pair(Said):
    """An input and an output that is written, `<end>` included where it was."""

    quantity: ClassVar[str] = "log p"

    target_ids: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the decoder read at each step: `<start>`, then all but the last it wrote."""
        return (SPECIAL_SYMBOLS[START], *self.target[:-1])

    def fed(self, rows: int = 1) -> Tensor:
        """What the decoder reads, so many times."""
        return torch.tensor([(START, *self.target_ids[:-1])] * rows)

    def written(self) -> Tensor:
        """What the decoder writes."""
        return torch.tensor(self.target_ids)

    def explained(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each token after those before it."""
        decoder, rows = _writer(network).decoder, memory.sentences
        features, _ = decoder.read(self.fed(rows), decoder.start(memory))
        logs: Tensor = decoder.write(features.hidden).log_softmax(-1)  # (N, T, V)
        return logs.gather(2, self.written().expand(rows, -1)[:, :, None]).squeeze(2)


@dataclass(frozen=True, eq=False)
class Labelled(Said):
    """An input and its label, or one for each of its items."""

    quantity: ClassVar[str] = "log p"

    target_ids: tuple[int, ...] = ()

    def explained(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each label; ids begin after that of padding."""
        logs = _headed(network).head(memory)[:, : len(self.target_ids)].log_softmax(-1)
        ids = torch.tensor(self.target_ids) - 1
        return logs.gather(2, ids.expand(len(logs), -1)[:, :, None]).squeeze(2)


@dataclass(frozen=True, eq=False)
class Filled(Said):
    """A text with gaps, and a token for each of them."""

    quantity: ClassVar[str] = "log p"

    target_ids: tuple[int, ...] = ()
    fillable: NDArray[np.bool_] | None = None  # which ids can stand in a gap; all if not said

    @property
    def gaps(self) -> NDArray[np.int64]:
        """The positions of the gaps."""
        return np.flatnonzero(self.values == GAP)

    def placed(self) -> NDArray[np.int32]:
        """The tokens at their positions, and nothing at any other."""
        row = np.full(len(self.values), EMPTY, np.int32)
        row[self.gaps] = self.target_ids
        return row

    def likely(self, scores: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows V"]:
        """The log-probability of each token that can stand in a gap."""
        if self.fillable is not None:
            scores = scores.masked_fill(~torch.from_numpy(self.fillable), -torch.inf)
        return scores.log_softmax(-1)

    def explained(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each token in its gap."""
        head = _headed(network).filling
        hidden = head.read(memory)[:, torch.from_numpy(self.gaps)]
        logs = self.likely(head.write(hidden))  # (N, T, V)
        ids = torch.tensor(self.target_ids)
        return logs.gather(2, ids.expand(len(logs), -1)[:, :, None]).squeeze(2)


@dataclass(frozen=True, eq=False)
class Measured(Said):
    """An input and its number."""

    quantity: ClassVar[str] = "number"

    mean: float = 0.0
    spread: float = 1.0

    def explained(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The number in its own units."""
        return _headed(network).head(memory)[:, 0] * self.spread + self.mean


@dataclass(frozen=True, eq=False)
class Foretold(Said):
    """A past and the columns that are forecast from it, each as its mean over the steps ahead."""

    quantity: ClassVar[str] = "mean forecast"

    past: np.ndarray | None = None  # (S, C), in units of its own
    ahead: np.ndarray | None = None  # (T, C), in units of its own
    field: SeriesField | None = None  # of what is forecast

    def explained(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The mean of each column over the steps ahead, in its own units."""
        judged = _headed(network).head(memory)
        means: Tensor = judged.unflatten(2, (len(self.target), -1))[..., 0].mean(dim=1)
        if self.field is None:
            return means
        spread, mean = (means.new_tensor(each) for each in (self.field.spread, self.field.mean))
        return means * spread + mean


def said_of(model: Predictor, cell: Cell, output: Output | str | None = None) -> Said:
    """An input, which may be encoded already, with what the model says of it or with this."""
    if isinstance(model, Model):
        return pair_of(model, cell, output)
    if output is not None and not hasattr(model.target, "labels"):
        raise ConfigError(
            f"--output names a label or tags, and this model gives {model.target.describe()}: "
            "leave it out"
        )
    if isinstance(model, Forecaster):
        return _foretold(model, cell)
    if isinstance(model, Filler):
        return _filled(model, cell)
    values = read_cell(model, cell)
    names, units = tuple(model.source.tokens(values)), units_of(model, values)
    if isinstance(model.target, NumberField):
        text = model.predict_rows([values])[0].text
        scale = float(model.target.mean[0]), float(model.target.spread[0])
        return Measured(names, (text,), values, units, *scale)
    text = model.predict_rows([values])[0].text if output is None else _text(output)
    ids = _labels(model, text, len(values) - model.source.closing)
    return Labelled(names, tuple(model.target.tokens(ids)), values, units, ids)


def pair_of(model: Model, cell: Cell, output: Output | str | None = None) -> Pair:
    """An input with the output that the model gives for it, or with this one.

    A language model is seen while it reads the input itself.
    """
    if model.alone:
        return _alone(model, str(cell), output)
    values = read_cell(model, cell)
    if output is None:
        (output,) = model.predict_rows([values], search=configured(model.config.search, 1))
    if isinstance(output, str):
        ids = [*model.target.encode(output).tolist(), END]
    else:
        ids = list(output.ids)
    names = tuple(model.source.tokens(values)), tuple(model.target.tokens(ids))
    return Pair(*names, values, units_of(model, values), tuple(ids))


def text_field(model: Model) -> TextField:
    """The source column of a model that reads text; ConfigError for any other."""
    if not isinstance(model.source, TextField):
        raise ConfigError(
            f"words are aligned with words, and the source here is {model.source.describe()}: try "
            "--show gradients or steps"
        )
    return model.source


def _alone(model: Model, cell: str, output: Output | str | None) -> Pair:
    if output is not None:
        raise ConfigError("a language model is seen while it reads the input: leave --output out")
    if not cell.strip():
        raise DataError("there is nothing to look at in a blank input; give a text")
    ids = [*model.target.encode(cell).tolist(), *([] if model.endless else [END])]
    (values,) = NoField(model.source.config).rows([""])  # type: ignore[arg-type]
    return Pair((), tuple(model.target.tokens(ids)), values, None, tuple(ids))


def read_cell(model: Predictor, cell: Cell) -> Values:
    """The input as the network reads it, cut as in use; DataError where it cannot be read."""
    if not isinstance(cell, str):
        return model.inputs.encoded(0, cell).values
    if isinstance(model, Forecaster):
        return model.window(cell)
    if not cell.strip():
        raise DataError("there is nothing to look at in a blank input; give a text")
    reader = model.inputs
    wrong = reader.field.fault(cell)
    if wrong is not None:
        raise DataError(wrong)
    return reader.encoded(0, reader.field.rows([cell])[0]).values


def _labels(model: Judge, text: str, items: int) -> tuple[int, ...]:
    wrong = model.target.fault(text)
    if wrong is not None:
        raise DataError(f"--output: {wrong}")
    ids = tuple(model.target.rows([text])[0].tolist())
    if model.target.config.kind == "tags" and len(ids) != items:
        raise DataError(f"--output has {len(ids)} tags for {items} tokens; give each one tag")
    return ids


def _foretold(model: Forecaster, cell: Cell) -> Foretold:
    values = np.asarray(model.window(cell) if isinstance(cell, str) else cell, np.float32)
    columns = len(model.target.names)
    ahead = model.target.unscaled(model.windows(values[None])[0, ..., 0])
    names = tuple(str(number - len(values)) for number in range(len(values)))
    past = model.target.unscaled(values[:, :columns])
    units = units_of(model, values)
    return Foretold(names, model.target.names, values, units, past, ahead, model.target)


def _filled(model: Filler, cell: Cell) -> Filled:
    values = read_cell(model, cell)
    if not (values == GAP).any():
        raise DataError(
            f"no gap is among the first {model.config.data.max_source:,} tokens, which are all "
            "that is read (data.max_source); give a shorter text"
        )
    (output,) = model.predict_rows([values])
    names = tuple(model.marked.tokens(values)), tuple(model.target.tokens(output.ids))
    return Filled(*names, values, None, output.ids, model.target.fillable)


def _text(output: Output | str) -> str:
    return output if isinstance(output, str) else output.text


def _writer(network: Network) -> SequenceModel:
    if not isinstance(network, SequenceModel):
        raise TypeError("a head writes nothing")
    return network


def _headed(network: Network) -> HeadedModel:
    if not isinstance(network, HeadedModel):
        raise TypeError("a decoder judges nothing")
    return network
