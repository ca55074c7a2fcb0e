"""Several columns of text as one source, each cut by its own unit."""

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
    """`character,feature`, as one types it, as a list."""
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
        description="what a token is in each column; a feature is whatever stands between spaces "
        "and the marks ; | and ,; chosen by the data if empty",
    )
    algorithm: Literal["unigram", "bpe"] = Field(
        "unigram", description="how subwords are learnt (sentencepiece)"
    )
    size: Positive = Field(8_000, description="largest vocabulary of a unit")
    min_count: Positive = Field(1, description="rarer characters or words become <unk>")
    normalize: Literal["none", "NFC", "NFKC"] = Field("NFC", description="Unicode normal form")
    lowercase: bool = Field(False, description="fold capitals to small letters")

    def text_options(self, unit: str) -> TextConfig:
        """How the texts of a unit are cut."""
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
        """ConfigError where the columns are not several, or do not have a unit each."""
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
        """Roughly how many tokens a row becomes: one for each character, if a column is spelt."""
        spelt = any(unit in ("character", "byte") for unit in self.units)
        return (statistics.characters if spelt else statistics.words) + 1

    def data_defaults(self, situation: Situation) -> Overrides:
        """Each row has a list of cells; otherwise whatever the target asks of a text."""
        return {**situation.target.text_data_defaults(), "columns": True}

    def output_limits(self, room: int) -> Overrides:
        """The length of a source limits that of an output, as the defaults have it."""
        return {}

    def reader_defaults(self, situation: Situation) -> Overrides:
        """What suits the head that reads a text."""
        return situation.target.head_defaults(situation)


def _column_unit(statistics: ColumnStatistics, situation: Situation) -> str:
    """Features as such, and other texts as a text alone would be cut."""
    if statistics.is_feature_list:
        return "feature"
    return TextConfig().default_unit(statistics, situation)
