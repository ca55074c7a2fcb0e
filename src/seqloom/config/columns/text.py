"""Columns of text, and of several texts read as one."""

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
RECASED = 0.2  # share of sentences also trained on in another case
DICTIONARY = 30_000  # fewest words with sounds that recurrent layers are chosen for
LANES = 32  # lanes of a stream in a batch
LARGE = 50_000  # most words or symbols in a stream's vocabulary
SMALL, VALID_SHARE = 200_000, 0.02  # held-out share of larger streams
WRITING_BUDGET = 18_000_000  # tokens in all epochs over pairs, unless two epochs have more
STREAM_BUDGETS = 17_500_000, 10_600_000  # characters, or words, in all epochs over a stream


@SOURCES.options("text")
@TARGETS.options("text")
class TextConfig(SourceOptions, TargetOptions):
    """A column of text, and how it is tokenized (S1.3)."""

    is_text: ClassVar[bool] = True
    has_positions: ClassVar[bool] = True
    can_split: ClassVar[bool] = True

    kind: Literal["text"] = "text"
    unit: Literal["character", "word", "symbol", "subword", "byte", "sentencepiece"] = Field(
        "subword",
        description="what a token is; symbols are separated by spaces; sentencepiece is for "
        "imported models",
    )
    algorithm: Literal["unigram", "bpe"] = Field(
        "unigram", description="how subwords are learnt (sentencepiece)"
    )
    size: Positive = Field(8_000, description="largest vocabulary, special symbols included")
    min_count: Positive = Field(1, description="rarer characters or words become <unk>")
    normalize: Literal["none", "NFC", "NFKC"] = Field("NFC", description="Unicode normal form")
    lowercase: bool = Field(False, description="fold capitals to small letters")
    vocabulary: str = Field(
        "",
        description="vocabulary file with one symbol per line, in the order of their ids "
        "(unit symbol or character)",
    )
    specials: Literal["all", "listed"] = Field(
        "all",
        description="special symbols with rows in the model: all, or those in the vocabulary file",
    )
    unknown: Literal["unk", "error"] = Field(
        "unk", description="symbols outside the vocabulary: <unk>, or an error"
    )
    any_case: bool = Field(
        False,
        description="read an unknown word as the most frequent known one that differs only in "
        "case (source, units word and symbol)",
    )
    one_boundary: bool = Field(False, description="use one symbol for <start> and <end>")
    spelling: Annotated[int, Field(ge=0, le=256)] = Field(
        0,
        description="characters of each symbol, with boundary marks, read beside it; 0: none "
        "(source, unit symbol)",
    )

    @property
    def keeps_own_field(self) -> bool:
        """Whether each side has its own sentencepiece model over one vocabulary."""
        return self.unit == "sentencepiece"

    def is_cut_like(self, other: ColumnOptions) -> bool:
        """Whether both are tokenized alike, except for matching of case in the source."""
        return bool(self == other.model_copy(update={"any_case": getattr(self, "any_case", False)}))

    @property
    def is_cut_by_case(self) -> bool:
        """Whether a text in capitals has other subwords."""
        return self.unit == "subword"

    def recase(self, cell: str, change: Callable[[str], str]) -> str:
        """Recase the text."""
        return change(cell)

    def recase_target(self, cell: str, change: Callable[[str], str]) -> str:
        """Recase the text if it is written in subwords; recased whole words are unknown."""
        return change(cell) if self.unit in ("subword", "character", "byte") else cell

    @property
    def newest_turns(self) -> int:
        """The number of turns read of a cell; 0: all."""
        return 0

    @property
    def reads_letters(self) -> bool:
        """Whether the letters of each token are read beside it."""
        return self.spelling > 0

    def default_unit(self, statistics: ColumnStatistics, situation: Situation) -> str:
        """Symbols if the data has them, characters for short strings and language models, words if
        they are few or for heads, otherwise subwords.
        """
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

    def usual_preset(self, situation: Situation) -> str:
        """Recurrent layers for a large dictionary of words and their sounds, which they learn in
        fewer updates: each sound follows from a few letters in order."""
        facts, spells = situation.facts, self.unit == "character" and situation.target.is_text
        if spells and facts.target.is_sound_sequence and facts.rows >= DICTIONARY:
            return "lstm"
        return super().usual_preset(situation)

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """The unit, and a vocabulary size to suit it."""
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
        """The approximate number of tokens of a cell."""
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
        """The target's defaults for a text."""
        return situation.target.text_data_defaults()

    def output_limits(self, room: int) -> Overrides:
        """Output length is limited by source length, as in the defaults."""
        return {}

    def reader_defaults(self, situation: Situation) -> Overrides:
        """The target's defaults for reading a text, and recasing for sentences."""
        head, statistics = situation.target.head_defaults(situation), situation.facts.source
        sentences = statistics.has_capitals and statistics.is_sentence
        head = merge(head, self._copying_defaults(situation))
        if not sentences or not situation.target.reads_any_case:
            return head
        matched = {"source": {"any_case": True}} if self.unit in WHOLE_WORDS else {}
        recased = {"data": {"recased": RECASED}} if self.is_recasable else {}
        return merge(head, {**matched, **recased})

    def _copying_defaults(self, situation: Situation) -> Overrides:
        """Make rare copied words unknown on both sides, so that copying is learnt."""
        rare, target = situation.facts.copied_below, situation.target
        whole = isinstance(target, TextConfig) and {self.unit, target.unit} <= {*WHOLE_WORDS}
        if not rare or not whole or self.has_several_texts:
            return {}
        return {"source": {"min_count": rare}, "target": {"min_count": rare}}

    def source_vocabulary(self, unit: str, *, kept: bool) -> Overrides:
        """No further defaults: a text chooses its own vocabulary."""
        return {}

    def decoder_defaults(self, situation: Situation) -> Overrides:
        """No defaults: text is written by the preset's decoder."""
        return {}

    def head_defaults(self, situation: Situation) -> Overrides:
        """No head: text is written by a decoder."""
        return {}

    def search_defaults(self, situation: Situation) -> Overrides:
        """A limit of four times the usual length, if no source sets one."""
        room = 20 + round(4 * self.items_per_row(situation.facts.target))
        return situation.source.output_limits(room)

    def stream_defaults(self, situation: Situation) -> Overrides:
        """Defaults for a stream of so many tokens: vocabulary, model, chunks about as long as a
        sentence or two, held-out share.
        """
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
        """The number of epochs for so many tokens; in a stream, characters cost less than words and
        tell less.
        """
        spelt, words = STREAM_BUDGETS
        budget = WRITING_BUDGET
        if situation.stream:
            budget = spelt if self.is_spelt else words
        return min(GENERATION_PASSES, max(2.0, budget / situation.tokens))

    def usual_rate(self, preset: str, *, stream: bool) -> float:
        """AdamW's peak learning rate, higher for recurrent layers, except for language models of
        words.
        """
        return 4e-3 if preset in RECURRENT and (self.is_spelt or not stream) else 2e-3

    @property
    def is_recasable(self) -> bool:
        """Whether recased copies of sentences are trained on."""
        return self.unit in (*WHOLE_WORDS, "subword") and not (self.lowercase or self.vocabulary)

    @property
    def is_spelt(self) -> bool:
        """Whether a token is a character or a byte."""
        return self.unit in ("character", "byte")


def _subwords(rows: int) -> int:
    """A vocabulary in which most subwords are frequent enough to be learnt."""
    sizes = ((5_000, 2_000), (20_000, 4_000), (100_000, 6_000), (500_000, 8_000))
    return next((size for limit, size in sizes if rows < limit), 16_000)


def _stream_layers(tokens: float, *, spelt: bool) -> Overrides:
    """Recurrent layers of a width for so many tokens: one layer for characters, for which more
    epochs help more than a second layer, two for words.
    """
    limits = (300_000, 3_000_000, 30_000_000) if spelt else (100_000, 2_000_000, 20_000_000)
    widths = (256, 512, 768, 1_024) if spelt else (128, 320, 512, 768)
    width = widths[sum(tokens >= limit for limit in limits)]
    layers, dropout = (1, 0.4) if spelt else (2, 0.2)
    decoder = {"width": width, "layers": layers, "dropout": dropout, "readout": "affine"}
    return {"embedding": 64 if spelt else width, "tie_output": not spelt, "decoder": decoder}


@SOURCES.options("turns")
class TurnsConfig(TextConfig):
    """Several texts read as one, such as the turns of a dialog, newest last (S8)."""

    has_several_texts: ClassVar[bool] = True
    has_positions: ClassVar[bool] = False
    can_split: ClassVar[bool] = False

    kind: Literal["turns"] = "turns"  # type: ignore[assignment]
    most_turns: Count = Field(
        0, description="number of newest turns read; 0: as many as fit into data.max_source"
    )

    def data_defaults(self, situation: Situation) -> Overrides:
        """Cells are lists of turns."""
        return {"turns": True}

    @property
    def is_recasable(self) -> bool:
        """Turns are not recased."""
        return False

    def recase(self, cell: str, change: Callable[[str], str]) -> str:
        """The turns unchanged."""
        return cell

    @property
    def newest_turns(self) -> int:
        """The number of turns read; 0: all that fit."""
        return self.most_turns
