"""Base classes of column options: the rules by which a run is planned, with their defaults.

A kind of source derives its options from `SourceOptions`, a kind of target from `TargetOptions`,
and registers them; a kind that can be either does both. The rules depend on `Facts`, a few
statistics of the data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from seqloom.config.sections import Choice, Overrides, PartOptions
from seqloom.errors import ConfigError
from seqloom.registry import Family
from seqloom.remedies import Setting

if TYPE_CHECKING:
    from seqloom.config.architecture.encoders import EncoderOptions
    from seqloom.config.schema import Config, DataConfig

__all__ = [
    "COLUMNS",
    "GENERATION_PASSES",
    "PRESETS",
    "RECURRENT",
    "SOURCES",
    "TARGETS",
    "TOKEN_BUDGET",
    "TRANSFORMERS",
    "ColumnConfig",
    "ColumnOptions",
    "ColumnStatistics",
    "Facts",
    "Situation",
    "SourceConfig",
    "SourceOptions",
    "TargetConfig",
    "TargetOptions",
    "longest",
    "preset_model",
    "recurrent_model",
]

LETTERS_OF_WORDS = 3.5  # fewest mean characters of words, spaces included; phones have fewer
SPELT = 0.2  # share of source bigrams above which a target is made of the source's letters


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of one column."""

    characters: float  # mean length of a row
    words: float  # mean number of words and marks in a row
    spaces: float  # mean number of white space characters in a row
    distinct_characters: int
    distinct_words: int
    sample_rows: int  # rows in which distinct items were counted
    has_capitals: bool = False
    target_overlap: float = 0.0  # mean share of a row's character bigrams that its target has too
    source_overlap: float = 0.0  # of a target: its share of bigrams taken from a spelt source

    @property
    def has_closed_vocabulary(self) -> bool:
        """Whether the words are few and frequent enough to learn whole words."""
        seen = self.words * self.sample_rows
        return self.distinct_words <= 2_000 and seen >= 20 * self.distinct_words

    @property
    def is_feature_list(self) -> bool:
        """Whether a row lists a few recurring features (`V;PST;3SG`) rather than a text from which
        the target is made.
        """
        few = self.distinct_words <= 4 * self.distinct_characters
        often = self.words * self.sample_rows >= 10 * self.distinct_words
        return few and often and self.target_overlap < SPELT and self.words <= 40

    @property
    def is_short(self) -> bool:
        """Whether a row is a word, a name or a date rather than a sentence."""
        return self.characters <= 40 and self.words <= 5.5

    @property
    def is_sentence(self) -> bool:
        """Whether a row is made of words longer than phones or codes."""
        return not self.is_short and self.characters >= LETTERS_OF_WORDS * self.words

    @property
    def is_symbol_sequence(self) -> bool:
        """Whether a row is a list of space-separated symbols (phones, say), rather than a few words
        spelt like the source's (`had walked`).
        """
        spelt = self.is_short and self.source_overlap >= SPELT
        return (
            self.has_closed_vocabulary
            and not spelt
            and self.words >= 2
            and self.spaces >= 0.95 * (self.words - 1)
        )

    @property
    def is_sound_sequence(self) -> bool:
        """Whether a row is a list of symbols as short as those of sounds, rather than of words."""
        return self.is_symbol_sequence and self.characters < LETTERS_OF_WORDS * self.words


@dataclass(frozen=True)
class Facts:
    """Constants of the automatic choices."""

    rows: int
    source: ColumnStatistics
    target: ColumnStatistics
    stream: bool = False  # a plain text file
    columns: tuple[ColumnStatistics, ...] = ()  # of each source column, if there are several
    copied_below: int = 0  # rarer target words are copied from the source


GENERATION_PASSES, HEAD_PASSES = 40.0, 12.0  # upper bound; heads learn sooner

TOKEN_BUDGET = 9_000_000  # tokens in all epochs, unless two epochs have more
SMALL_DATA = 2_000_000  # words, below which dropout is high

# A spelt word that occurs once is read as unknown words will be.
HEAD_VOCABULARIES: Overrides = {
    "word": {"size": 50_000},
    "symbol": {"size": 50_000, "min_count": 2, "spelling": 20},
}


@dataclass(frozen=True)
class Situation:
    """The input of a rule: the data, both columns, the preset, and the options decided so far."""

    facts: Facts
    source: "SourceOptions"
    target: "TargetOptions"
    preset: str
    stream: bool  # whether the target is one stream of text
    words: float = 1.0  # size of the training data
    tokens: float = 1.0
    training: Mapping[str, Any] = field(default_factory=dict)  # options decided so far
    decoder: str = ""  # its kind


class ColumnOptions(PartOptions):
    """Options of a column: what it holds and how it is read."""

    is_text: ClassVar[bool] = False  # whether a cell is tokenized with a vocabulary
    has_several_texts: ClassVar[bool] = False  # whether a cell holds several

    @property
    def keeps_own_field(self) -> bool:
        """Whether the column keeps a field of its own if both sides share a vocabulary."""
        return False

    def is_cut_like(self, other: "ColumnOptions") -> bool:
        """Whether both columns are tokenized alike, and so can share a vocabulary."""
        return self == other

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """Defaults for reading cells, given the user's options of the column."""
        return {}

    @property
    def is_cut_by_case(self) -> bool:
        """Whether a text in capitals is tokenized differently, so that recased copies are needed in
        training.
        """
        return False

    def recase(self, cell: str, change: Callable[[str], str]) -> str:
        """Recase a source cell, if it is text."""
        return cell

    def recase_target(self, cell: str, change: Callable[[str], str]) -> str:
        """Recase a target cell, if the model can write it."""
        return cell

    def words_per_row(self, statistics: ColumnStatistics) -> float | None:
        """The mean number of words of a cell; None if it has no words."""
        return None

    def items_per_row(self, statistics: ColumnStatistics) -> float:
        """The approximate number of items of a cell."""
        return 1.0


class SourceOptions(ColumnOptions):
    """Defaults that a kind of source determines."""

    is_absent: ClassVar[bool] = False  # whether there is no source column
    has_positions: ClassVar[bool] = False  # whether each item of a cell can have a tag
    can_split: ClassVar[bool] = False  # whether long cells can be read in pieces

    @property
    def reads_letters(self) -> bool:
        """Whether the characters of each token are read beside it."""
        return False

    def check_reading(self, data: "DataConfig") -> None:
        """ConfigError if options of reading contradict such a source."""
        return

    def check_overlong(self, overlong: str) -> None:
        """ConfigError if long cells are to be split and have no sentences."""
        if overlong == "split" and not self.can_split:
            raise ConfigError(
                f"a source of kind {self.kind} has no sentences to be split at",
                place=Setting("data.overlong", "split"),
                remedy="choose truncate or error",
            )

    def check_target(self, target: "TargetOptions") -> None:
        """ConfigError if such a target cannot be learnt from such a source."""
        return

    def usual_preset(self, situation: Situation) -> str:
        """The preset that `auto` stands for."""
        return "lstm" if situation.stream else "auto"

    def data_defaults(self, situation: Situation) -> Overrides:
        """How rows are read, in the section `data`."""
        return {}

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """The encoder, in the section `model`."""
        return {}

    def output_limits(self, room: int) -> Overrides:
        """Limits of output length, given the longest target `room` in the data."""
        return {"max_extra": room, "length": room}

    def reader_defaults(self, situation: Situation) -> Overrides:
        """The target's defaults for reading the source, if that is text."""
        return {}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """The section `training`, from the usual values for so many tokens."""
        return usual


class TargetOptions(ColumnOptions):
    """Defaults that a kind of target determines."""

    source_unit: ClassVar[str] = ""  # the unit that its source must have
    reads_any_case: ClassVar[bool] = True  # whether recased copies of a source may be trained on
    is_aligned: ClassVar[bool] = False  # whether each source item has a target
    head: ClassVar[str] = ""  # the kind of head; empty if it has the name of the target's kind

    @classmethod
    def complete(cls, overrides: Mapping[str, Any]) -> Overrides:
        """The user's options completed with what they imply for the columns; several source columns
        are a kind of their own.
        """
        chosen = dict(overrides)
        data, source = chosen.get("data", {}), chosen.get("source", {})
        several = isinstance(data, Mapping) and "," in str(data.get("source", ""))
        if several and isinstance(source, Mapping):
            chosen["source"] = {"kind": "columns", **source}
        return chosen

    def check_source(self, source: SourceOptions) -> None:
        """ConfigError where such a target cannot be learnt from such a source."""
        return

    def check_config(self, config: "Config") -> None:
        """ConfigError if other options contradict such a target."""
        return

    def source_vocabulary(self, unit: str, *, kept: bool) -> Overrides:
        """The vocabulary of a text source for this target; `kept` is whether it keeps its unit."""
        return dict(HEAD_VOCABULARIES.get(unit, {})) if kept else {}

    def text_data_defaults(self) -> Overrides:
        """The section `data` for sources of one text."""
        return {}

    def decoder_defaults(self, situation: Situation) -> Overrides:
        """The head or decoder, in the section `model`."""
        return {"decoder": {"kind": self.head or self.kind}, "tie_output": False}

    def search_defaults(self, situation: Situation) -> Overrides:
        """The section `search`, if outputs are searched for."""
        return {}

    def head_defaults(self, situation: Situation) -> Overrides:
        """The encoder of a text for a head: bidirectional, with high dropout for small data."""
        small = situation.words < SMALL_DATA
        head = {"kind": self.head or self.kind, "pool": "max", "dropout": 0.5 if small else 0.3}
        dropout, forget = (0.3, 0.2) if small else (0.2, 0.1)
        return self._reader(situation, head, dropout=dropout, forget=forget)

    def masking_defaults(self, encoder: "EncoderOptions") -> Overrides:
        """Masking options for such an encoder, if tokens are masked."""
        return {}

    def stream_defaults(self, situation: Situation) -> Overrides:
        """Defaults for a stream of text."""
        return {}

    def passes(self, situation: Situation) -> float:
        """The number of epochs for so many tokens."""
        most = HEAD_PASSES if situation.source.is_text else GENERATION_PASSES
        return min(most, max(2.0, TOKEN_BUDGET / situation.tokens))

    def usual_rate(self, preset: str, *, stream: bool) -> float:
        """AdamW's peak learning rate, higher for recurrent layers."""
        return 4e-3 if preset in RECURRENT and not stream else 2e-3

    def _reader(
        self,
        situation: Situation,
        head: Overrides,
        *,
        dropout: float,
        forget: float,
        layers: int = 1,
    ) -> Overrides:
        """The encoder of a text for a head."""
        model: Overrides = {"decoder": head, "forget": forget}
        preset, words = situation.preset, situation.words
        if preset == "auto":
            stack = recurrent_model("lstm", 128 if words < SMALL_DATA else 256, dropout)
            reader = {**stack["encoder"], "layers": layers}
            return {"model": {**model, "embedding": stack["embedding"], "encoder": reader}}
        if situation.source.reads_letters and preset not in RECURRENT:
            width = preset_model(preset, words)["embedding"]
            model |= {"letters": width // 2, "embedding": width - width // 2}
        return {"model": model}


def longest(items: int, situation: Situation) -> Overrides:
    """The section `data` for sources and tags of at most so many items."""
    aligned = {"max_target": items} if situation.target.is_aligned else {}
    return {"max_source": items, **aligned}


SOURCES: Family[SourceOptions, Any] = Family(
    "kind of source",
    home="seqloom.fields",
    meaning="what the source holds",
    companions=("kind of column",),
)
TARGETS: Family[TargetOptions, Any] = Family(
    "kind of target",
    home="seqloom.fields",
    meaning="what the target holds",
    companions=("kind of column", "task"),
)
COLUMNS: Family[ColumnOptions, Any] = Family("kind of column", home="seqloom.fields")
"""The field of each kind of column; its options are those of the side that it is on."""

SourceConfig = Annotated[SourceOptions, Choice(SOURCES, default="text")]
"""Any kind of source that is registered."""

TargetConfig = Annotated[TargetOptions, Choice(TARGETS, default="text")]
"""Any kind of target that is registered."""

ColumnConfig = ColumnOptions

TRANSFORMERS = ("transformer", "fast", "tiny")
RECURRENT = ("lstm", "gru", "elman")
PRESETS = ("auto", *TRANSFORMERS, *RECURRENT)

# (target words, width, dropout): the best width for the time, up to so many words.
TRANSFORMER_SIZES = ((200_000, 128, 0.1), (1_000_000, 128, 0.2), (20_000_000, 256, 0.2))
RECURRENT_SIZES = ((200_000, 128, 0.1), (2_000_000, 192, 0.3), (20_000_000, 256, 0.2))


def preset_model(preset: str, words: float) -> Overrides:
    """Sizes that grow with the number of target words, with matching dropout."""
    sizes = RECURRENT_SIZES if preset in RECURRENT else TRANSFORMER_SIZES
    width, dropout = next(((w, d) for limit, w, d in sizes if words < limit), (512, 0.1))
    if preset in RECURRENT:
        return recurrent_model(preset, width, dropout)
    if preset == "tiny":
        width, dropout = width // 64 * 32, dropout / 2
    stack = {
        "kind": "transformer",
        "width": width,
        "inner": 4 * width,
        "heads": width // 64 if width >= 256 else 4,
        "layers": 3,
        "dropout": dropout,
    }
    encoder, decoder = stack, stack
    if preset == "fast":
        stack = {**stack, "inner": 2 * width}  # with more, the encoder takes most of the time
        encoder, decoder = {**stack, "layers": 4}, {**stack, "layers": 1, "mixing": "ssru"}
    if preset == "tiny":
        encoder, decoder = {**stack, "layers": 6}, {**stack, "layers": 1, "mixing": "ssru"}
    return {"embedding": width, "encoder": encoder, "decoder": decoder}


def recurrent_model(unit: str, width: int, dropout: float) -> Overrides:
    """A two-layer bidirectional encoder, and a wide one-layer decoder with attention."""
    stack = {"kind": "recurrent", "unit": {"kind": unit}, "dropout": dropout}
    return {
        "embedding": width,
        "encoder": {**stack, "width": width, "layers": 2},
        "decoder": {**stack, "width": 2 * width, "layers": 1, "attention": {"kind": "global"}},
    }
