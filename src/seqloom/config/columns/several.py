"""Several columns of text as one source, each tokenized by its own unit."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from seqloom.config.columns.options import SOURCES, ColumnStatistics, Situation, SourceOptions
from seqloom.config.columns.text import TextConfig
from seqloom.config.sections import Overrides, Positive
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.config.schema import DataConfig

__all__ = ["ColumnsConfig"]

ColumnUnit = Literal["character", "word", "symbol", "feature", "subword", "byte"]


def _split_units(given: Any) -> Any:
    """Parse `character,feature` as a list."""
    return [unit.strip() for unit in given.split(",")] if isinstance(given, str) else given


@SOURCES.options("columns")
class ColumnsConfig(SourceOptions):
    """Several columns of text, such as a lemma and its features, read one after another with a
    separator before each but the first (S1.1)."""

    is_text: ClassVar[bool] = True
    has_several_texts: ClassVar[bool] = True

    kind: Literal["columns"] = "columns"
    units: Annotated[tuple[ColumnUnit, ...], BeforeValidator(_split_units)] = Field(
        (),
        description="unit of each column; features are separated by spaces, ; | and ,; chosen by "
        "the data if empty",
    )
    algorithm: Literal["unigram", "bpe"] = Field(
        "unigram", description="how subwords are learnt (sentencepiece)"
    )
    size: Positive = Field(8_000, description="largest vocabulary of a unit")
    min_count: Positive = Field(1, description="rarer characters or words become <unk>")
    normalize: Literal["none", "NFC", "NFKC"] = Field("NFC", description="Unicode normal form")
    lowercase: bool = Field(False, description="fold capitals to small letters")

    def text_options(self, unit: str) -> TextConfig:
        """Options of tokenizing texts by one of the units."""
        return TextConfig.model_validate(
            {
                "unit": "symbol" if unit == "feature" else unit,
                "algorithm": self.algorithm,
                "size": self.size,
                "min_count": self.min_count,
                "normalize": self.normalize,
                "lowercase": self.lowercase,
            }
        )

    def check_reading(self, data: "DataConfig") -> None:
        """ConfigError unless there are several columns with a unit each."""
        columns = data.source_columns
        if len(columns) < 2 or not all(columns):
            raise ConfigError(
                f"the source {data.source!r} is not several columns",
                remedy="name two columns or more, with commas between them",
            )
        if len(set(columns)) < len(columns):
            raise ConfigError(
                f"the source {data.source!r} names a column twice", remedy="name it once"
            )
        if self.units and len(self.units) != len(columns):
            raise ConfigError(
                f"source.units names {len(self.units)} units, and the source has {len(columns)} "
                f"columns ({', '.join(columns)})",
                remedy="give each column one",
            )

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """The unit of each column."""
        units = tuple(_column_unit(each, situation) for each in situation.facts.columns)
        return {"kind": self.kind, "units": units}

    def words_per_row(self, statistics: ColumnStatistics) -> float:
        """The mean number of words of a row."""
        return statistics.words

    def items_per_row(self, statistics: ColumnStatistics) -> float:
        """The approximate number of tokens of a row."""
        spelt = any(unit in ("character", "byte") for unit in self.units)
        return (statistics.characters if spelt else statistics.words) + 1

    def data_defaults(self, situation: Situation) -> Overrides:
        """Rows are lists of cells; otherwise the target's defaults for a text."""
        return {**situation.target.text_data_defaults(), "columns": True}

    def output_limits(self, room: int) -> Overrides:
        """The length of a source limits that of an output, as the defaults have it."""
        return {}

    def reader_defaults(self, situation: Situation) -> Overrides:
        """The target's defaults for reading a text."""
        return situation.target.head_defaults(situation)


def _column_unit(statistics: ColumnStatistics, situation: Situation) -> str:
    """Features as features, other texts as a single text would be."""
    if statistics.is_feature_list:
        return "feature"
    return TextConfig().default_unit(statistics, situation)
