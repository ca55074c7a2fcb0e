"""What every kind of column answers when a run is planned: rules, with the usual answer for each.

A kind of source derives its options from `SourceOptions`, a kind of target from `TargetOptions`,
and registers them; a kind that can be either does both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from seqloom.config.facts import ColumnStatistics, Facts
from seqloom.config.presets import RECURRENT, preset_model, recurrent_model
from seqloom.config.section import PartOptions
from seqloom.config.tables import Overrides
from seqloom.registry import Family

if TYPE_CHECKING:
    from seqloom.config.architecture.encoders import EncoderOptions
    from seqloom.config.schema import Config, DataConfig

__all__ = [
    "COLUMNS",
    "GENERATION_PASSES",
    "SOURCES",
    "TARGETS",
    "TOKEN_BUDGET",
    "ColumnOptions",
    "Situation",
    "SourceOptions",
    "TargetOptions",
    "longest",
]

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

    @property
    def reads_letters(self) -> bool:
        """Whether the letters of each token are read beside it."""
        return False

    def check_reading(self, data: "DataConfig") -> None:
        """ConfigError where rows are read in a way that contradicts such a source."""
        return

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
