"""Columns of text, and of several texts that are read as one."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from seqloom.config.columns.options import (
    GENERATION_PASSES,
    RECURRENT,
    SOURCES,
    TARGETS,
    TRANSFORMERS,
    ColumnOptions,
    ColumnStatistics,
    Situation,
    SourceOptions,
    TargetOptions,
)
from seqloom.config.sections import Count, Overrides, Positive, merge

__all__ = ["TextConfig", "TurnsConfig"]

WHOLE_WORDS = ("word", "symbol")  # units of which a word is one token
RECASED = 0.2  # of sentences, learnt once more in another case
LANES = 32  # stretches of a stream in a batch
LARGE = 50_000  # words or symbols that a stream's vocabulary may hold
SMALL, VALID_SHARE = 200_000, 0.02  # of more tokens than those, this share tells enough
WRITING_BUDGET = 18_000_000  # tokens in all passes over pairs, as far as there are not more in two
STREAM_BUDGETS = 17_500_000, 10_600_000  # characters, or words, in all passes over a stream


@SOURCES.options("text")
@TARGETS.options("text")
class TextConfig(SourceOptions, TargetOptions):
    """A column of text and the units it is cut into (S1.3)."""

    is_text: ClassVar[bool] = True
    has_positions: ClassVar[bool] = True
    can_split: ClassVar[bool] = True

    kind: Literal["text"] = "text"
    unit: Literal["character", "word", "symbol", "subword", "byte", "sentencepiece"] = Field(
        "subword",
        description="what a token is; a symbol is whatever stands between spaces; sentencepiece is "
        "for imported models, whose pieces were learnt elsewhere",
    )
    algorithm: Literal["unigram", "bpe"] = Field(
        "unigram", description="how subwords are learnt (sentencepiece)"
    )
    size: Positive = Field(8_000, description="largest vocabulary, special symbols included")
    min_count: Positive = Field(1, description="rarer characters or words become <unk>")
    normalize: Literal["none", "NFC", "NFKC"] = Field("NFC", description="Unicode normal form")
    lowercase: bool = Field(False, description="fold capitals to small letters")
    vocabulary: str = Field(
        "", description="file with a symbol a line, in that order (unit symbol or character)"
    )
    specials: Literal["all", "listed"] = Field(
        "all",
        description="special symbols that the model has rows for: all, or those that the "
        "vocabulary lists",
    )
    unknown: Literal["unk", "error"] = Field(
        "unk", description="what a symbol outside the vocabulary is: <unk>, or an error"
    )
    any_case: bool = Field(
        False,
        description="read an unknown word as a known one that differs in capitals alone, the "
        "commonest (source, units word and symbol)",
    )
    one_boundary: bool = Field(False, description="<start> and <end> are one symbol")
    spelling: Annotated[int, Field(ge=0, le=256)] = Field(
        0,
        description="letters of each symbol, with a mark at either end, that are read beside it; "
        "0 reads none (source, unit symbol)",
    )

    @property
    def keeps_own_field(self) -> bool:
        """Whether each side has a sentencepiece model of its own, over one vocabulary."""
        return self.unit == "sentencepiece"

    def is_cut_like(self, other: ColumnOptions) -> bool:
        """Whether both are cut alike, up to how words of a source are matched."""
        return bool(self == other.model_copy(update={"any_case": getattr(self, "any_case", False)}))

    @property
    def is_cut_by_case(self) -> bool:
        """Whether a text in capitals has other parts of words."""
        return self.unit == "subword"

    def recase(self, cell: str, change: Callable[[str], str]) -> str:
        """The text in another case."""
        return change(cell)

    def recase_target(self, cell: str, change: Callable[[str], str]) -> str:
        """The same where it is written in parts of words; whole words in capitals are unknown."""
        return change(cell) if self.unit in ("subword", "character", "byte") else cell

    @property
    def newest_turns(self) -> int:
        """Turns that are read of a cell that has several; 0 reads all."""
        return 0

    @property
    def reads_letters(self) -> bool:
        """Whether the letters of each token are read beside it."""
        return self.spelling > 0

    def default_unit(self, statistics: ColumnStatistics, situation: Situation) -> str:
        """Symbols that are set apart as they are, characters for short strings and for texts to be
        continued, words where they are few or are judged, otherwise subwords."""
        if situation.target.source_unit:
            return situation.target.source_unit
        if situation.stream:
            return "character"
        if statistics.is_symbol_sequence:
            return "word"
        if statistics.is_short:
            return "character"
        judged = not situation.target.is_text
        return "word" if statistics.has_closed_vocabulary or judged else "subword"

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """The unit of a token, and a vocabulary of a size to suit."""
        unit = self.default_unit(statistics, situation)
        if isinstance(own, Mapping) and own.get("vocabulary"):
            unit = "symbol"
        sizes = {"subword": {"size": _subwords(situation.facts.rows)}, "symbol": {"size": 50_000}}
        kept = not isinstance(own, Mapping) or own.get("unit", unit) == unit
        asked = situation.target.source_vocabulary(unit, kept=kept)
        return {"kind": self.kind, "unit": unit, **sizes.get(unit, {}), **asked}

    def words_per_row(self, statistics: ColumnStatistics) -> float:
        """The mean number of words of a cell."""
        return statistics.words

    def items_per_row(self, statistics: ColumnStatistics) -> float:
        """Roughly how many tokens a cell becomes."""
        match self.unit:
            case "character" | "byte":
                return statistics.characters + 1
            case "word":
                return statistics.words + 1
            case "symbol":
                return statistics.spaces + 2
            case "subword" | "sentencepiece":
                return 1.3 * statistics.words + 1

    def data_defaults(self, situation: Situation) -> Overrides:
        """Whatever the target asks of a text."""
        return situation.target.text_data_defaults()

    def output_limits(self, room: int) -> Overrides:
        """The length of a text limits that of an output, as the defaults have it."""
        return {}

    def reader_defaults(self, situation: Situation) -> Overrides:
        """What suits the head that reads a text, and what lets sentences be read in any case."""
        head, statistics = situation.target.head_defaults(situation), situation.facts.source
        sentences = statistics.has_capitals and statistics.is_sentence
        head = merge(head, self._copying_defaults(situation))
        if not sentences or not situation.target.reads_any_case:
            return head
        matched = {"source": {"any_case": True}} if self.unit in WHOLE_WORDS else {}
        recased = {"data": {"recased": RECASED}} if self.is_recasable else {}
        return merge(head, {**matched, **recased})

    def _copying_defaults(self, situation: Situation) -> Overrides:
        """Words that are rare and copied are unknown on both sides, so that copying is learnt."""
        rare, target = situation.facts.copied_below, situation.target
        whole = isinstance(target, TextConfig) and {self.unit, target.unit} <= {*WHOLE_WORDS}
        if not rare or not whole or self.has_several_texts:
            return {}
        return {"source": {"min_count": rare}, "target": {"min_count": rare}}

    def source_vocabulary(self, unit: str, *, kept: bool) -> Overrides:
        """Nothing but what a text chooses itself."""
        return {}

    def decoder_defaults(self, situation: Situation) -> Overrides:
        """The preset's own decoder writes a text."""
        return {}

    def head_defaults(self, situation: Situation) -> Overrides:
        """A text is written, not judged."""
        return {}

    def search_defaults(self, situation: Situation) -> Overrides:
        """Room for four times the usual length, where no source sets one."""
        room = 20 + round(4 * self.items_per_row(situation.facts.target))
        return situation.source.output_limits(room)

    def stream_defaults(self, situation: Situation) -> Overrides:
        """What suits a stream of so many tokens: its vocabulary, its model, lanes with chunks of as
        many characters or words as a sentence or two have, and how much is held out."""
        tokens, steps = situation.tokens, 100 if self.is_spelt else 35
        large = situation.preset in TRANSFORMERS
        training = {"truncate": steps, "batch_tokens": LANES * steps, "label_smoothing": 0.0}
        chosen: Overrides = {
            "model": {} if large else _stream_layers(tokens, spelt=self.is_spelt),
            "training": training,
        }
        if tokens >= SMALL:
            chosen["data"] = {"valid_share": VALID_SHARE}
        if self.unit in ("word", "symbol"):
            chosen["target"] = {"size": LARGE}
        return chosen

    def passes(self, situation: Situation) -> float:
        """How many passes so many tokens repay: in a stream, a character takes far less work than
        a word, whose vocabulary is large, and tells less."""
        spelt, words = STREAM_BUDGETS
        budget = WRITING_BUDGET
        if situation.stream:
            budget = spelt if self.is_spelt else words
        return min(GENERATION_PASSES, max(2.0, budget / situation.tokens))

    def usual_rate(self, preset: str, *, stream: bool) -> float:
        """AdamW's highest learning rate: recurrent layers take larger steps, unless all they do is
        to go on with a text of words."""
        return 4e-3 if preset in RECURRENT and (self.is_spelt or not stream) else 2e-3

    @property
    def is_recasable(self) -> bool:
        """Whether sentences that are cut so are learnt in other cases too."""
        return self.unit in (*WHOLE_WORDS, "subword") and not (self.lowercase or self.vocabulary)

    @property
    def is_spelt(self) -> bool:
        """Whether a token is a character or a part of one."""
        return self.unit in ("character", "byte")


def _subwords(rows: int) -> int:
    """A vocabulary in which most pieces are seen often enough to be learnt."""
    sizes = ((5_000, 2_000), (20_000, 4_000), (100_000, 6_000), (500_000, 8_000))
    return next((size for limit, size in sizes if rows < limit), 16_000)


def _stream_layers(tokens: float, *, spelt: bool) -> Overrides:
    """Layers that carry their state along, as wide as so many tokens repay: one of characters, for
    which many passes do more than a second layer, two of words."""
    limits = (300_000, 3_000_000, 30_000_000) if spelt else (100_000, 2_000_000, 20_000_000)
    widths = (256, 512, 768, 1_024) if spelt else (128, 320, 512, 768)
    width = widths[sum(tokens >= limit for limit in limits)]
    layers, dropout = (1, 0.4) if spelt else (2, 0.2)
    decoder = {"width": width, "layers": layers, "dropout": dropout, "readout": "affine"}
    return {"embedding": 64 if spelt else width, "tie_output": not spelt, "decoder": decoder}


@SOURCES.options("turns")
class TurnsConfig(TextConfig):
    """Several texts read as one, such as the turns of a dialog, the newest last (S8)."""

    has_several_texts: ClassVar[bool] = True
    has_positions: ClassVar[bool] = False
    can_split: ClassVar[bool] = False

    kind: Literal["turns"] = "turns"  # type: ignore[assignment]
    most_turns: Count = Field(
        0, description="the newest that are read; 0 reads as many as data.max_source holds"
    )

    def data_defaults(self, situation: Situation) -> Overrides:
        """Cells are lists of turns."""
        return {"turns": True}

    @property
    def is_recasable(self) -> bool:
        """Turns are learnt as they are."""
        return False

    def recase(self, cell: str, change: Callable[[str], str]) -> str:
        """The turns as they are."""
        return cell

    @property
    def newest_turns(self) -> int:
        """Turns that are read; 0 reads all that there is room for."""
        return self.most_turns
