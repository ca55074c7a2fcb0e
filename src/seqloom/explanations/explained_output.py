"""One input and a model's output for it: their names, and their tensors for the network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from seqloom.errors import DataError
from seqloom.explanations.attention_map import AttentionMap
from seqloom.explanations.gradients import CostFunction, mean_cross_entropy
from seqloom.explanations.media import (
    AttributionView,
    FeatureGroups,
    MediaAttention,
    SeriesAttributionView,
)
from seqloom.explanations.parts import Pooling, output_part
from seqloom.fields import BLANK, EMPTY, END, SPECIAL_SYMBOLS, START, SeriesField, Values
from seqloom.model import Head, Memory, Network, Source
from seqloom.prediction import TextPredictor
from seqloom.prediction.batching import pad_batch

if TYPE_CHECKING:
    from seqloom.explanations.attribution import Attribution

__all__ = [
    "Cell",
    "ExplainedBlanks",
    "ExplainedForecast",
    "ExplainedLabels",
    "ExplainedNumber",
    "ExplainedOutput",
    "ExplainedText",
    "language_model_text",
    "language_model_tokens",
]

Cell = str | Values
"""An input as it is given, or as the model's field encodes it."""

AttentionMaps = Mapping[str, Sequence[AttentionMap]]
"""The mean attention of each layer, the last layer last, by kind: cross, encoder or decoder."""


@dataclass(frozen=True, eq=False)
class ExplainedOutput:
    """An input and each output of a model for it."""

    quantity: ClassVar[str]  # the explained quantity
    cost_description: ClassVar[str]

    source: tuple[str, ...]  # the input items; empty without a source
    target: tuple[str, ...]
    values: Values  # the encoded source
    feature_groups: FeatureGroups | None = None  # for numbers; each symbol is a part by itself

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs besides the source, one before each output; empty if there are none."""
        return ()

    @property
    def decoder_inputs(self) -> tuple[str, ...]:
        """The inputs of the decoder at each step, as labelled in a network graph."""
        return self.inputs

    @property
    def decoder_outputs(self) -> tuple[str, ...]:
        """The outputs of the decoder at each step."""
        return self.target

    @property
    def positions(self) -> list[int]:
        """The source position of each output, if outputs belong to positions."""
        return list(range(len(self.target)))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the source's parts."""
        return self.source if self.feature_groups is None else self.feature_groups.names

    @property
    def cost(self) -> CostFunction:
        """The cost for gradients: the mean number, in units of its standard deviation."""
        return partial(_number_cost, len(self.target))

    def source_batch(self, rows: int = 1) -> Source:
        """Repeat the input `rows` times."""
        return pad_batch([self.values] * rows)

    def target_row(self) -> NDArray[np.int32] | None:
        """The output ids for the cost; None for numbers."""
        return None

    def replay(self, network: Network, memory: Memory) -> None:
        """Recompute this output from the encoder's memory."""
        output_part(network)(memory)

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The explained quantity of each output, for each row of a memory."""
        raise NotImplementedError

    def output_labels(self, steps: int) -> tuple[str, ...]:
        """Labels of the decoder's outputs at each step."""
        return _step_labels(steps)

    def input_labels(self, steps: int, memory: tuple[str, ...]) -> tuple[str, ...]:
        """Labels of the decoder's inputs at each step; it may read the memory first."""
        return _step_labels(steps)

    def attention_over_inputs(self, maps: AttentionMaps, pooling: Pooling) -> np.ndarray | None:
        """The encoder's attention from the positions that the head reads; None without
        attention.
        """
        if not maps["encoder"]:
            return None
        weights = self._pool_attention(maps["encoder"][-1].weights, pooling)
        fits = weights is not None and weights.shape[1] == len(self.feature_names)
        return weights if fits else None

    def attention_over_source(self, weights: Float[np.ndarray, "T S"]) -> MediaAttention:
        """Attention weights over a picture, recording or video."""
        if self.feature_groups is None:
            raise TypeError("symbols are no medium; select a map of the attention")
        return self.feature_groups.attention(self.values, self.target, weights)

    def attribution_view(self, found: "Attribution", weights: np.ndarray | None) -> AttributionView:
        """An attribution with its input, and attention weights if there are any."""
        if self.feature_groups is None:
            return AttributionView(found)
        return self.feature_groups.attribution_view(found, self.values, weights)

    def _pool_attention(self, weights: np.ndarray, pooling: Pooling) -> np.ndarray | None:
        match pooling:
            case "each" | "around":
                return weights[self.positions]
            case "last":
                return weights[-1:]
            case "mean":
                return np.asarray(weights.mean(axis=0)[None])
            case _:
                return None


@dataclass(frozen=True, eq=False)
class ExplainedText(ExplainedOutput):
    """An input and an output text, with `<end>` if it was generated."""

    quantity: ClassVar[str] = "log p"
    cost_description: ClassVar[str] = "the mean of −log p over what is said"

    target_ids: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The decoder's input at each step: `<start>`, then all outputs but the last."""
        return (SPECIAL_SYMBOLS[START], *self.target[:-1])

    @property
    def cost(self) -> CostFunction:
        """The mean cross-entropy of the tokens."""
        return mean_cross_entropy

    def decoder_input_ids(self, rows: int = 1) -> Tensor:
        """The decoder's input ids, repeated `rows` times."""
        return torch.tensor([(START, *self.target_ids[:-1])] * rows)

    def target_tensor(self) -> Tensor:
        """The output ids as a tensor."""
        return torch.tensor(self.target_ids)

    def target_row(self) -> NDArray[np.int32]:
        """The output ids."""
        return np.array(self.target_ids, np.int32)

    def replay(self, network: Network, memory: Memory) -> None:
        """Run the decoder on its own output."""
        self.decoder_features(network, memory)

    def decoder_features(self, network: Network, memory: Memory) -> Float[Tensor, "N T D"]:
        """The features before the output layer at each step, for each row of a memory."""
        decoder = output_part(network)
        inputs = self.decoder_input_ids(memory.sentences)
        features: Tensor = decoder.read(inputs, decoder.start(memory, trace=True))[0].hidden
        return features

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each token given the preceding ones."""
        hidden = self.decoder_features(network, memory)
        return _gather(output_part(network).write(hidden).log_softmax(-1), self.target_ids)

    def output_labels(self, steps: int) -> tuple[str, ...]:
        """The output tokens."""
        return self.target

    def input_labels(self, steps: int, memory: tuple[str, ...]) -> tuple[str, ...]:
        """The input tokens, after the memory if the decoder reads that first."""
        return memory + self.inputs if steps > len(self.inputs) else self.inputs

    def attention_over_inputs(self, maps: AttentionMaps, pooling: Pooling) -> np.ndarray | None:
        """The decoder's attention to the source or, without one, to its own inputs."""
        source, own = len(self.feature_names), len(self.inputs)
        if maps["cross"]:
            across = maps["cross"][-1]
            fits = len(across.source) == source
            return np.pad(across.weights, ((0, 0), (0, own))) if fits else None
        return maps["decoder"][-1].weights if maps["decoder"] and not source else None


@dataclass(frozen=True, eq=False)
class ExplainedLabels(ExplainedOutput):
    """An input and its label, or a label for each item."""

    quantity: ClassVar[str] = "log p"
    cost_description: ClassVar[str] = "the mean of −log p over what is said"

    target_ids: tuple[int, ...] = ()
    fed_back: bool = False  # whether each label is conditioned on the previous one

    @property
    def inputs(self) -> tuple[str, ...]:
        """The input before each label: `<start>`, then the previous label; empty if labels are
        independent.
        """
        return (SPECIAL_SYMBOLS[START], *self.target[:-1]) if self.fed_back else ()

    @property
    def cost(self) -> CostFunction:
        """The mean cross-entropy of the labels."""
        return _label_cost

    def target_row(self) -> NDArray[np.int32]:
        """The labels."""
        return np.array(self.target_ids, np.int32)

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each label; label ids start after padding."""
        judged = self._judge(network, memory)
        logs = judged[:, : len(self.target_ids)].log_softmax(-1)
        return _gather(logs, [each - 1 for each in self.target_ids])

    def replay(self, network: Network, memory: Memory) -> None:
        """Run the head on these labels, each of which may read the previous one."""
        self._judge(network, memory)

    def _judge(self, network: Network, memory: Memory) -> Float[Tensor, "N T V"]:
        """The logits of all labels, for each row of a memory."""
        target = torch.tensor([self.target_ids] * memory.sentences)
        judged: Tensor = output_part(network).teacher_force(memory, target)
        return judged

    def output_labels(self, steps: int) -> tuple[str, ...]:
        """The labels."""
        return self.target

    def input_labels(self, steps: int, memory: tuple[str, ...]) -> tuple[str, ...]:
        """The input labels."""
        return self.inputs

    def attention_over_inputs(self, maps: AttentionMaps, pooling: Pooling) -> np.ndarray | None:
        """The encoder's attention from the position of each label; labels are not attended to."""
        weights = super().attention_over_inputs(maps, pooling)
        return None if weights is None else np.pad(weights, ((0, 0), (0, len(self.inputs))))


@dataclass(frozen=True, eq=False)
class ExplainedBlanks(ExplainedOutput):
    """A text with blanks, and a token for each of them."""

    quantity: ClassVar[str] = "log p"
    cost_description: ClassVar[str] = "the mean of −log p over what is said"

    target_ids: tuple[int, ...] = ()
    fillable: NDArray[np.bool_] | None = None  # ids that can fill a blank; None for all

    @property
    def blank_positions(self) -> NDArray[np.int64]:
        """The positions of the blanks."""
        return np.flatnonzero(self.values == BLANK)

    @property
    def positions(self) -> list[int]:
        """The positions of the blanks."""
        return [int(position) for position in self.blank_positions]

    @property
    def cost(self) -> CostFunction:
        """The mean cross-entropy of the tokens in their blanks."""
        return self._blank_cost

    def target_row(self) -> NDArray[np.int32]:
        """The tokens at their positions, and padding at all others."""
        row = np.full(len(self.values), EMPTY, np.int32)
        row[self.blank_positions] = self.target_ids
        return row

    def log_probabilities(self, scores: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows V"]:
        """Log-probabilities over the tokens that can fill a blank."""
        if self.fillable is not None:
            scores = scores.masked_fill(~torch.from_numpy(self.fillable), -torch.inf)
        return scores.log_softmax(-1)

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The log-probability of each token in its blank."""
        head = output_part(network)
        hidden = head.read(memory)[:, torch.from_numpy(self.blank_positions)]
        return _gather(self.log_probabilities(head.write(hidden)), self.target_ids)

    def _blank_cost(self, head: Head, memory: Memory, target: Tensor) -> Tensor:
        """Mean negative log-likelihood over the blanks of each input; ids are those of the
        vocabulary.
        """
        return _mean_surprisal(self.log_probabilities(head(memory)), target, target.ne(EMPTY))


@dataclass(frozen=True, eq=False)
class ExplainedNumber(ExplainedOutput):
    """An input and its number."""

    quantity: ClassVar[str] = "number"
    cost_description: ClassVar[str] = "the number, in units of its spread"

    mean: float = 0.0
    spread: float = 1.0

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The number in original units."""
        numbers: Tensor = output_part(network)(memory)[:, 0] * self.spread + self.mean
        return numbers


@dataclass(frozen=True, eq=False)
class ExplainedForecast(ExplainedOutput):
    """A past and the columns forecast from it, each explained by its mean over the steps ahead."""

    quantity: ClassVar[str] = "mean forecast"
    cost_description: ClassVar[str] = "the mean of the forecast, in units of its spread"

    past: np.ndarray | None = None  # (S, C), in original units
    forecast: np.ndarray | None = None  # (T, C), in original units
    field: SeriesField | None = None  # field of the forecast columns

    @property
    def decoder_inputs(self) -> tuple[str, ...]:
        """The last value, then each forecast but the last."""
        return ("last", *self.decoder_outputs[:-1])

    @property
    def decoder_outputs(self) -> tuple[str, ...]:
        """The steps ahead."""
        return self.target if self.forecast is None else _step_labels(len(self.forecast))

    def scores(self, network: Network, memory: Memory) -> Float[Tensor, "N T"]:
        """The mean of each column over the steps ahead, in original units."""
        judged = output_part(network)(memory)
        means: Tensor = judged.unflatten(2, (len(self.target), -1))[..., 0].mean(dim=1)
        if self.field is None:
            return means
        spread, mean = (means.new_tensor(each) for each in (self.field.spread, self.field.mean))
        return means * spread + mean

    def attribution_view(self, found: "Attribution", weights: np.ndarray | None) -> AttributionView:
        """An attribution over the steps of the past."""
        groups: Any = self.feature_groups
        mean = None if weights is None else weights.mean(axis=0)
        past, forecast = np.asarray(self.past), np.asarray(self.forecast)
        return SeriesAttributionView(found, past, forecast, groups.columns, mean)


def _gather(logs: Float[Tensor, "N T V"], ids: Sequence[int]) -> Float[Tensor, "N T"]:
    """Gather one id's value at each position, the same in all rows."""
    return logs.gather(2, torch.tensor(ids).expand(len(logs), -1)[:, :, None]).squeeze(2)


def _label_cost(head: Head, memory: Memory, target: Tensor) -> Tensor:
    """Mean negative log-likelihood over the labels of each input."""
    logs = head.teacher_force(memory, target)[:, : target.shape[1]].log_softmax(-1)
    return _mean_surprisal(logs, (target - 1).clamp(min=0), target.ne(EMPTY))


def _mean_surprisal(logs: Tensor, ids: Tensor, real: Tensor) -> Tensor:
    found = logs.gather(2, ids[:, :, None]).squeeze(2).masked_fill(~real, 0.0)
    cost: Tensor = -found.sum(dim=1) / real.sum(dim=1)
    return cost


def _number_cost(columns: int, head: Head, memory: Memory, _target: Tensor) -> Tensor:
    """The mean of the numbers predicted for each input, in units of their standard deviation."""
    cost: Tensor = head(memory).unflatten(2, (columns, -1))[..., 0].mean(dim=(1, 2))
    return cost


def _step_labels(steps: int) -> tuple[str, ...]:
    return tuple(f"+{number}" for number in range(1, steps + 1))


def language_model_text(model: TextPredictor, text: str) -> ExplainedText:
    """A text as the output of a language model, token by token."""
    if not text.strip():
        raise DataError("there is nothing to look at in a blank input", remedy="give a text")
    ids = [*model.target.encode(text).tolist(), *([] if model.is_stream else [END])]
    return language_model_tokens(model, ids)


def language_model_tokens(model: TextPredictor, ids: Sequence[int]) -> ExplainedText:
    """Tokens as the output of a language model."""
    (values,) = model.source.rows([""])
    return ExplainedText((), tuple(model.target.tokens(ids)), values, None, tuple(ids))
