"""What every kind of column answers when a run is planned: rules, with the usual answer for each.

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

SPELT = 0.2  # share of a source's character pairs from which on a target is made of its letters


@dataclass(frozen=True)
class ColumnStatistics:
    """What one column looks like."""

    characters: float  # mean length of a row
    words: float  # mean number of words and marks in a row
    spaces: float  # mean number of white space characters in a row
    distinct_characters: int
    distinct_words: int
    sample_rows: int  # rows the distinct counts were made from
    has_capitals: bool = False
    target_overlap: float = 0.0  # mean share of a row's character pairs that its target has too
    source_overlap: float = 0.0  # of a target: the same share of the spelt source it is made of

    @property
    def has_closed_vocabulary(self) -> bool:
        """Whether the words are few and come back often, so that whole words can be learnt."""
        seen = self.words * self.sample_rows
        return self.distinct_words <= 2_000 and seen >= 20 * self.distinct_words

    @property
    def is_feature_list(self) -> bool:
        """Whether a row lists a few features that come back often (`V;PST;3SG`), rather than being
        a text that its target is made of."""
        few = self.distinct_words <= 4 * self.distinct_characters
        often = self.words * self.sample_rows >= 10 * self.distinct_words
        return few and often and self.target_overlap < SPELT and self.words <= 40

    @property
    def is_short(self) -> bool:
        """Whether a row is a word, a name or a date rather than a sentence."""
        return self.characters <= 40 and self.words <= 5.5

    @property
    def is_sentence(self) -> bool:
        """Whether a row is made of words that are longer than phones or codes."""
        return not self.is_short and self.characters >= 3.5 * self.words

    @property
    def is_symbol_sequence(self) -> bool:
        """Whether a row is already a list of symbols set apart by spaces (phones, say), rather
        than a few words that are spelt like those of the source (`had walked`)."""
        spelt = self.is_short and self.source_overlap >= SPELT
        return (
            self.has_closed_vocabulary
            and not spelt
            and self.words >= 2
            and self.spaces >= 0.95 * (self.words - 1)
        )


@dataclass(frozen=True)
class Facts:
    """What the automatic choices depend on."""

    rows: int
    source: ColumnStatistics
    target: ColumnStatistics
    stream: bool = False  # a plain text file
    columns: tuple[ColumnStatistics, ...] = ()  # of each source column, where there are several
    copied_below: int = 0  # target words that are rarer than this are copied from the source


GENERATION_PASSES, HEAD_PASSES = 40.0, 12.0  # at most; what is judged is learnt sooner

TOKEN_BUDGET = 9_000_000  # tokens in all passes, as far as there are not more in two
SMALL_DATA = 2_000_000  # words, below which much is left out at random

# A spelt word that occurs once is read as unknown words will be.
HEAD_VOCABULARIES: Overrides = {
    "word": {"size": 50_000},
    "symbol": {"size": 50_000, "min_count": 2, "spelling": 20},
}


@dataclass(frozen=True)
class Situation:
    """What a rule may look at: the data, both columns, the preset, and what is known so far."""

    facts: Facts
    source: "SourceOptions"
    target: "TargetOptions"
    preset: str
    stream: bool  # whether the target is one text from its first row to its last
    words: float = 1.0  # how much there is to learn from
    tokens: float = 1.0
    training: Mapping[str, Any] = field(default_factory=dict)  # options that are settled
    decoder: str = ""  # its kind


class ColumnOptions(PartOptions):
    """What a column of data holds, and how it is read."""

    is_text: ClassVar[bool] = False  # whether a cell is cut into tokens of a vocabulary
    has_several_texts: ClassVar[bool] = False  # whether a cell holds several

    @property
    def keeps_own_field(self) -> bool:
        """Whether the column stays a field of its own where both sides share a vocabulary."""
        return False

    def is_cut_like(self, other: "ColumnOptions") -> bool:
        """Whether both columns are read alike, and so can share a vocabulary."""
        return self == other

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """How cells are read, given the options that the user sets for the column."""
        return {}

    @property
    def is_cut_by_case(self) -> bool:
        """Whether the same text in capitals is cut otherwise, so that its parts are to be learnt
        too."""
        return False

    def recase(self, cell: str, change: Callable[[str], str]) -> str:
        """A cell of a source in another case, where it is a text."""
        return cell

    def recase_target(self, cell: str, change: Callable[[str], str]) -> str:
        """A cell of a target in another case, where it can be written so."""
        return cell

    def words_per_row(self, statistics: ColumnStatistics) -> float | None:
        """The mean number of words of a cell; None where it has none."""
        return None

    def items_per_row(self, statistics: ColumnStatistics) -> float:
        """Roughly how many items a cell becomes."""
        return 1.0


class SourceOptions(ColumnOptions):
    """What a kind of source chooses where nothing is said."""

    is_absent: ClassVar[bool] = False  # whether there is no such column
    has_positions: ClassVar[bool] = False  # whether each item of a cell can have a tag
    can_split: ClassVar[bool] = False  # whether a cell that is too long can be read in pieces

    @property
    def reads_letters(self) -> bool:
        """Whether the letters of each token are read beside it."""
        return False

    def check_reading(self, data: "DataConfig") -> None:
        """ConfigError where rows are read in a way that contradicts such a source."""
        return

    def check_overlong(self, overlong: str) -> None:
        """ConfigError where long cells are to be split and have no sentences."""
        if overlong == "split" and not self.can_split:
            raise ConfigError(
                f"a source of kind {self.kind} has no sentences to be split at",
                place=Setting("data.overlong", "split"),
                remedy="choose truncate or error",
            )

    def check_target(self, target: "TargetOptions") -> None:
        """ConfigError where nothing can be learnt of such a target from such a source."""
        return

    def usual_preset(self, *, stream: bool) -> str:
        """The preset that `auto` stands for."""
        return "lstm" if stream else "auto"

    def data_defaults(self, situation: Situation) -> Overrides:
        """How rows are read, in the section `data`."""
        return {}

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """What reads such a source, in the section `model`."""
        return {}

    def output_limits(self, room: int) -> Overrides:
        """How long an output may be that has `room` tokens at most in the data."""
        return {"max_extra": room, "length": room}

    def reader_defaults(self, situation: Situation) -> Overrides:
        """How a source is read of which something is said: what suits the target, if it is text."""
        return {}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """The section `training`, from what is usual for so many tokens."""
        return usual


class TargetOptions(ColumnOptions):
    """What a kind of target chooses where nothing is said."""

    source_unit: ClassVar[str] = ""  # the unit that its source must be cut into
    reads_any_case: ClassVar[bool] = True  # whether a source may be learnt in another case too
    is_aligned: ClassVar[bool] = False  # whether each item of the source has one of it
    head: ClassVar[str] = ""  # the kind of head that gives it; empty for that of its own name

    @classmethod
    def complete(cls, overrides: Mapping[str, Any]) -> Overrides:
        """The user's options with what follows from them for the columns: several columns as
        source are a kind of their own."""
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
        """ConfigError where other options contradict such a target."""
        return

    def source_vocabulary(self, unit: str, *, kept: bool) -> Overrides:
        """The vocabulary of a text of which this is said; `kept` is whether it has this unit."""
        return dict(HEAD_VOCABULARIES.get(unit, {})) if kept else {}

    def text_data_defaults(self) -> Overrides:
        """How rows are read whose source is one text, in the section `data`."""
        return {}

    def decoder_defaults(self, situation: Situation) -> Overrides:
        """What gives such a target, in the section `model`: its head."""
        return {"decoder": {"kind": self.head or self.kind}, "tie_output": False}

    def search_defaults(self, situation: Situation) -> Overrides:
        """How outputs are searched for, where they are."""
        return {}

    def head_defaults(self, situation: Situation) -> Overrides:
        """How a text is read of which this is said: from both ends, and where there is little to
        learn from, with much of it left out at random."""
        small = situation.words < SMALL_DATA
        head = {"kind": self.head or self.kind, "pool": "max", "dropout": 0.5 if small else 0.3}
        dropout, forget = (0.3, 0.2) if small else (0.2, 0.1)
        return self._reader(situation, head, dropout=dropout, forget=forget)

    def masking_defaults(self, encoder: "EncoderOptions") -> Overrides:
        """Which tokens are left out for such an encoder, where some are."""
        return {}

    def stream_defaults(self, situation: Situation) -> Overrides:
        """What suits a stream of text."""
        return {}

    def passes(self, situation: Situation) -> float:
        """How many passes so many tokens repay."""
        most = HEAD_PASSES if situation.source.is_text else GENERATION_PASSES
        return min(most, max(2.0, TOKEN_BUDGET / situation.tokens))

    def usual_rate(self, preset: str, *, stream: bool) -> float:
        """AdamW's highest learning rate: recurrent layers take larger steps."""
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
        """The model that reads a text for a head."""
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
    """The section `data` for sources of so many items at most, and as many tags."""
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

# Up to how many target words which width learns most in the same time, and with which dropout.
TRANSFORMER_SIZES = ((200_000, 128, 0.1), (1_000_000, 128, 0.2), (20_000_000, 256, 0.2))
RECURRENT_SIZES = ((200_000, 128, 0.1), (2_000_000, 192, 0.3), (20_000_000, 256, 0.2))


def preset_model(preset: str, words: float) -> Overrides:
    """Sizes that grow with the number of target words, and dropout to suit."""
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
    """Two layers that read from both ends, and one wide layer that writes, with attention."""
    stack = {"kind": "recurrent", "unit": {"kind": unit}, "dropout": dropout}
    return {
        "embedding": width,
        "encoder": {**stack, "width": width, "layers": 2},
        "decoder": {**stack, "width": 2 * width, "layers": 1, "attention": {"kind": "global"}},
    }
