"""The base class of predictors: a network with its fields, from raw inputs to outputs (S7.4)."""

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
    """The result of `seqloom.load`: call it with one input, or `predict` many."""

    config: Config
    source: Field
    target: Field
    weights: (
        "Network | Deferred[Network]"  # the network, or a deferred one that is loaded when needed
    )
    training_rows: Path | None = None  # the encoded training rows, for baselines
    notes: tuple[str, ...] = ()  # unusable steps, and the step used instead

    @property
    def network(self) -> "Network":
        """The network with its weights, loaded at first use."""
        return self.weights.value if isinstance(self.weights, Deferred) else self.weights

    @property
    def input_field(self) -> Readable:
        """The field that encodes raw inputs."""
        return self.source

    @property
    def input_reader(self) -> InputReader:
        """The reader of raw inputs."""
        return self.reader_for(NO_OPTIONS)

    def reader_for(self, options: OutputOptions) -> InputReader:
        """The reader of raw inputs with these options; ConfigError if inputs are to be split and
        have no sentences.
        """
        overlong = options.overlong or self.config.data.overlong
        self.config.source.check_overlong(overlong)
        keeps = self.target.is_aligned
        return InputReader(self.input_field, self.config.data.max_source, overlong, keeps)

    @property
    def is_stream(self) -> bool:
        """Whether it was trained on a stream of text without ends."""
        return False

    @property
    def is_language_model(self) -> bool:
        """Whether there is no source, so that inputs are prompts."""
        return False

    def __call__(self, given: MemoryInput) -> Output:
        """The output for one input, with its attention if there is any."""
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
        """The outputs for inputs, in order: texts, tuples of columns, objects with the columns'
        names, a table of Arrow, pandas or polars, or the path of a file.
        """
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
        """Yield outputs, with `group` inputs in memory at a time.

        The error of an unreadable input is raised after the outputs of those before it.
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
        """As `stream`, for cells of the source column, as file readers give them."""
        predict = self.group_predictor(PredictionRequest(search, n_best, options))
        for each in self.reader_for(options).groups(cells, group):
            yield from predict(each)
            if each.fault is not None:
                raise each.fault

    @abstractmethod
    def group_predictor(self, request: PredictionRequest) -> GroupPredictor:
        """A function from a group of inputs to outputs; ConfigError if the model does not support
        the request.
        """

    @abstractmethod
    def predict_group(self, group: InputGroup, options: OutputOptions) -> Iterable[Output]:
        """An output for each input of a group."""

    @abstractmethod
    def predict_rows(self, rows: Sequence[Values]) -> list[Output]:
        """An output for each encoded input."""

    def score(self, pairs: Sequence[tuple[MemoryInput, str]]) -> list[ScoredOutput]:
        """Score given outputs: the log-probability of each, token by token (S7.4)."""
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
        """Score held-out rows; labels unseen in training have probability 0."""
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
        """Score encoded inputs."""

    def score_lines(self, pairs: Sequence[tuple[str, str]]) -> list[ScoredOutput]:
        """Score consecutive rows of a file; a stream of text continues from row to row."""
        return self.score_held_out(pairs)

    def scoring_positions(self, outputs: Sequence[str]) -> int:
        """Positions read to score these outputs, besides those of their inputs."""
        return 0

    def vectors(self, inputs: Inputs, *, layer: int | None = None) -> "ContextVectors":
        """Contextual vectors of the tokens of each input from a layer of the encoder or language
        model: by default the last; layer 0 is the input of the first (S1.5).
        """
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
        """Encode one input, truncated; DataError if it cannot be read."""
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
        """Read an input as a whole; DataError if it would be split."""
        if reader.is_too_long(row) and reader.overlong == "split":
            raise DataError(
                f"the input is longer than {reader.max_items:,} {reader.field.length_unit}, so it "
                "is read in pieces",
                remedy="look at one piece at a time",
            )
        (read,) = reader.read(0, row)
        return read.values

    def item_names(self, cell: str | Values, values: Values) -> tuple[str, ...]:
        """The names of an input's items; unknown tokens of a text as they were written."""
        reader = self.input_reader
        if not isinstance(cell, str):
            return tuple(reader.field.tokens(values))
        return tuple(reader.read_tokens(EncodedInput(0, values, truncated=True, cell=cell)).names)

    @abstractmethod
    def ensemble_with(self, others: Sequence[Self]) -> Self:
        """An ensemble of this predictor and others with the same fields; it reads and searches as
        this one.
        """

    @abstractmethod
    def warm_up(self) -> None:
        """Run a dummy input, so that the first call is not slow."""

    def describe_search(self) -> dict[str, Any] | None:
        """The default search; None if nothing is searched."""
        return None

    def describe_engine(self) -> str:
        """The engine: the compiled core, or torch with the reason."""
        return "torch, the network itself (the compiled engine has no form for this kind of target)"

    def picture_grid(self) -> tuple[int, int] | None:
        """The grid (rows, columns) of a picture's states; None for other sources."""
        return None

    def as_text_predictor(self) -> "TextPredictor | None":
        """This predictor, if it writes text; else None."""
        return None

    def as_forecaster(self) -> "Forecaster | None":
        """This predictor, if it forecasts a series; else None."""
        return None


def ensemble(models: Sequence[Predictor]) -> Predictor:
    """An ensemble of these predictors; it reads and searches as the first.

    All must have the same source and target vocabulary.
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
