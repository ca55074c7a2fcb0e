"""The base of all predictors: a network with its fields, from raw inputs to outputs (S7.4)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from seqloom.config import Config
from seqloom.data import MemoryInput, input_cells, row_cell
from seqloom.deferred import Deferred
from seqloom.errors import ConfigError, DataError
from seqloom.fields import Field, Readable, Values
from seqloom.prediction.inputs import (
    GROUP_SIZE,
    EncodedInput,
    InputGroup,
    InputReader,
    check_cells,
)
from seqloom.prediction.output import Output, ScoredOutput
from seqloom.prediction.request import NO_OPTIONS, OutputOptions, PredictionRequest

if TYPE_CHECKING:
    from seqloom.model import Network
    from seqloom.prediction.context_vectors import ContextVectors
    from seqloom.prediction.forecaster import Forecaster
    from seqloom.prediction.text_predictor import TextPredictor
    from seqloom.search import Search

__all__ = ["GroupPredictor", "Predictor", "ensemble"]

Inputs = Iterable[MemoryInput] | Path | Any
"""Inputs in memory, the path of a file of them, or a table of another library."""
GroupPredictor = Callable[[InputGroup], Iterable[Output]]


@dataclass(frozen=True)
class Predictor(ABC):
    """What `seqloom.load` gives: call it with one input, or `predict` many."""

    config: Config
    source: Field
    target: Field
    weights: "Network | Deferred[Network]"  # the network, or what reads it when it is needed
    training_rows: Path | None = None  # the encoded rows that it learnt from, for baselines
    notes: tuple[str, ...] = ()  # steps that could not be used, and what is used in their place

    @property
    def network(self) -> "Network":
        """The network with its weights, which are read now if they have not been."""
        return self.weights.value if isinstance(self.weights, Deferred) else self.weights

    @property
    def input_field(self) -> Readable:
        """What encodes raw inputs."""
        return self.source

    @property
    def input_reader(self) -> InputReader:
        """How raw inputs are read."""
        return self.reader_for(NO_OPTIONS)

    def reader_for(self, options: OutputOptions) -> InputReader:
        """How raw inputs are read where options say what becomes of long ones; ConfigError where
        they are to be split and have no sentences."""
        overlong = options.overlong or self.config.data.overlong
        self.config.source.check_overlong(overlong)
        keeps = self.target.is_aligned
        return InputReader(self.input_field, self.config.data.max_source, overlong, keeps)

    @property
    def is_stream(self) -> bool:
        """Whether it has learnt from a stream of text, in which no text ends."""
        return False

    @property
    def is_language_model(self) -> bool:
        """Whether there is no source, so that inputs are beginnings of outputs."""
        return False

    def __call__(self, given: MemoryInput) -> Output:
        """The output for one input, with its attention where there is any."""
        return self.predict([given], attention=True)[0]

    def predict(
        self,
        inputs: Inputs,
        *,
        search: "Search | None" = None,
        n_best: int = 1,
        attention: bool = False,
        options: OutputOptions = NO_OPTIONS,
    ) -> list[Output]:
        """An output for each input, in order: texts, tuples of columns, objects with the columns'
        names, a table of Arrow, pandas or polars, or the path of a file."""
        if attention:
            options = replace(options, attention=True)
        return list(self.stream(inputs, search=search, n_best=n_best, options=options))

    def stream(
        self,
        inputs: Inputs,
        *,
        search: "Search | None" = None,
        n_best: int = 1,
        options: OutputOptions = NO_OPTIONS,
        group: int = GROUP_SIZE,
    ) -> Iterator[Output]:
        """The same, with `group` inputs in memory at a time.

        Where an input cannot be read, the outputs of those before it come first, then the error.
        """
        cells = input_cells(inputs, self.config.data)
        return self.stream_cells(cells, search=search, n_best=n_best, options=options, group=group)

    def stream_cells(
        self,
        cells: Iterable[str],
        *,
        search: "Search | None" = None,
        n_best: int = 1,
        options: OutputOptions = NO_OPTIONS,
        group: int = GROUP_SIZE,
    ) -> Iterator[Output]:
        """The same for cells of the source column, as readers of files give them."""
        predict = self.group_predictor(PredictionRequest(search, n_best, options))
        for each in self.reader_for(options).groups(cells, group):
            yield from predict(each)
            if each.fault is not None:
                raise each.fault

    @abstractmethod
    def group_predictor(self, request: PredictionRequest) -> GroupPredictor:
        """What gives the outputs of a group of inputs; ConfigError where the model cannot do what
        is asked for."""

    @abstractmethod
    def predict_group(self, group: InputGroup, options: OutputOptions) -> Iterable[Output]:
        """An output for each input of a group."""

    @abstractmethod
    def predict_rows(self, rows: Sequence[Values]) -> list[Output]:
        """An output for each input that is already encoded."""

    def score(self, pairs: Sequence[tuple[MemoryInput, str]]) -> list[ScoredOutput]:
        """The log-probability of each given output, token by token (S7.4)."""
        cells = []
        for number, (given, target) in enumerate(pairs, 1):
            try:
                cells.append((row_cell(given, self.config.data), target))
            except DataError as error:
                raise error.at(f"pair {number}") from None
        return self.score_cells(cells)

    def score_cells(self, pairs: Sequence[tuple[str, str]]) -> list[ScoredOutput]:
        """The same for cells of the source column."""
        check_cells("target", [target for _, target in pairs], self.target)
        return self.score_held_out(pairs)

    def score_held_out(self, pairs: Sequence[tuple[str, str]]) -> list[ScoredOutput]:
        """The same for rows that are judged; labels that training did not have have probability
        0."""
        check_cells("source", [source for source, _ in pairs], self.source)
        reader = self.input_reader
        rows = self.source.rows([source for source, _ in pairs])
        encoded: list[EncodedInput] = []
        for number, (row, (source, _)) in enumerate(zip(rows, pairs, strict=True)):
            try:
                encoded += reader.read(number, row, source)
            except DataError as error:
                raise error.at(f"pair {number + 1}") from None
        return self.score_encoded(encoded, [target for _, target in pairs])

    def can_score(self, pair: tuple[str, str]) -> bool:
        """Whether the target of a held-out row can be scored."""
        return True

    @abstractmethod
    def score_encoded(
        self, encoded: Sequence[EncodedInput], outputs: Sequence[str]
    ) -> list[ScoredOutput]:
        """The same for inputs that are already encoded."""

    def score_lines(self, pairs: Sequence[tuple[str, str]]) -> list[ScoredOutput]:
        """The same for consecutive rows of a file; a stream of text is read on from row to row."""
        return self.score_held_out(pairs)

    def scoring_positions(self, outputs: Sequence[str]) -> int:
        """Positions that are read to score these outputs, beside those of their inputs."""
        return 0

    def vectors(self, inputs: Inputs, *, layer: int | None = None) -> "ContextVectors":
        """A vector for each token of each input from a layer of the encoder, or of a language
        model: the last, unless another is named; layer 0 is what the first one reads (S1.5)."""
        return self.vectors_of_cells(list(input_cells(inputs, self.config.data)), layer=layer)

    def vectors_of_cells(
        self, cells: Sequence[str], *, layer: int | None = None
    ) -> "ContextVectors":
        """The same for cells of the source column."""
        from seqloom.prediction.context_vectors import context_vectors

        reader = self.input_reader
        if not self.network.encoder.has_source:
            limits = self.config.data
            reader = InputReader(self.target, limits.max_target, limits.overlong)
        return context_vectors(self.network, reader, cells, layer)

    def encode_cell(self, cell: str | Values) -> Values:
        """One input as the network reads it, truncated; DataError where it cannot be read."""
        reader = self.input_reader
        if not isinstance(cell, str):
            return self._read_whole(reader, cell)
        if not cell.strip():
            raise DataError("there is nothing to look at in a blank input", remedy="give a text")
        wrong = reader.field.fault(cell)
        if wrong is not None:
            raise wrong
        return self._read_whole(reader, reader.field.rows([cell])[0])

    def _read_whole(self, reader: InputReader, row: Values) -> Values:
        """A row that is looked at as a whole; DataError where use would split it."""
        if reader.is_too_long(row) and reader.overlong == "split":
            raise DataError(
                f"the input is longer than {reader.max_items:,} {reader.field.length_unit}, so it "
                "is read in pieces",
                remedy="look at one piece at a time",
            )
        (read,) = reader.read(0, row)
        return read.values

    def item_names(self, cell: str | Values, values: Values) -> tuple[str, ...]:
        """What the items of an input are called: as they were written, where the input is a text
        and the model does not know them."""
        reader = self.input_reader
        if not isinstance(cell, str):
            return tuple(reader.field.tokens(values))
        return tuple(reader.read_tokens(EncodedInput(0, values, truncated=True, cell=cell)).names)

    @abstractmethod
    def ensemble_with(self, others: Sequence[Self]) -> Self:
        """A predictor that averages the probabilities of this one and the others, all of which have
        the same fields; it reads and searches as this one does."""

    @abstractmethod
    def warm_up(self) -> None:
        """Compute once with a made-up input, so that no later call pays for what is lazy."""

    def describe_search(self) -> dict[str, Any] | None:
        """The search that is used unless another is asked for; None where nothing is searched."""
        return None

    def describe_engine(self) -> str:
        """What runs the model: the compiled core, or torch and why."""
        return "torch, the network itself (the compiled engine has no form for this kind of target)"

    def picture_grid(self) -> tuple[int, int] | None:
        """Rows and columns that can be attended to in a picture; None where none are read."""
        return None

    def as_text_predictor(self) -> "TextPredictor | None":
        """This predictor, if it writes text by searching; else None."""
        return None

    def as_forecaster(self) -> "Forecaster | None":
        """This predictor, if it forecasts a series; else None."""
        return None


def ensemble(models: Sequence[Predictor]) -> Predictor:
    """A predictor that averages the probabilities of these; it reads and searches as the first.

    All must have been trained with the same source and target vocabulary.
    """
    if not models:
        raise ConfigError("an ensemble needs at least one model")
    first, *others = models
    for number, other in enumerate(others, start=2):
        for side in ("source", "target"):
            if getattr(first, side).fingerprint != getattr(other, side).fingerprint:
                raise ConfigError(
                    f"model {number} has another {side} vocabulary than the first",
                    remedy="train them with the same fields to use them together",
                )
    return first.ensemble_with(others) if others else first
