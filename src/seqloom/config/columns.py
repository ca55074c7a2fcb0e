"""What a column may hold: a choice told apart by `kind`, from which the rest of a task follows."""

import difflib
from typing import Annotated, Any, Literal

from pydantic import Field

from seqloom.config.choices import Choice
from seqloom.config.section import Count, PartOptions, Positive
from seqloom.errors import ConfigError
from seqloom.registry import Family

__all__ = [
    "COLUMNS",
    "SOURCES",
    "TARGETS",
    "BlanksConfig",
    "ColumnConfig",
    "ColumnOptions",
    "HorizonConfig",
    "LabelConfig",
    "NoColumnConfig",
    "NumberConfig",
    "PictureConfig",
    "SeriesConfig",
    "SoundConfig",
    "SourceConfig",
    "TagsConfig",
    "TargetConfig",
    "TextConfig",
    "TurnsConfig",
    "VectorConfig",
    "VideoConfig",
    "WindowConfig",
    "split_column",
]


class ColumnOptions(PartOptions):
    """What a column of data holds, and how it is read."""


SOURCES: Family[ColumnOptions, Any] = Family(
    "kind of source", home="seqloom.fields", meaning="what the source holds"
)
TARGETS: Family[ColumnOptions, Any] = Family(
    "kind of target", home="seqloom.fields", meaning="what the target holds"
)
COLUMNS: Family[ColumnOptions, Any] = Family("kind of column", home="seqloom.fields")
"""The field of each kind of column; what its options are depends on the side that it is on."""

PixelCount = Annotated[int, Field(ge=1, le=4_096)]


@SOURCES.options("text")
@TARGETS.options("text")
class TextConfig(ColumnOptions):
    """A column of text and the units it is cut into (S1.3)."""

    kind: Literal["text"] = "text"
    unit: Literal["character", "word", "symbol", "subword", "byte"] = Field(
        "subword", description="what a token is; a symbol is whatever stands between spaces"
    )
    algorithm: Literal["unigram", "bpe"] = Field(
        "unigram", description="how subwords are learnt (sentencepiece)"
    )
    size: Positive = Field(8_000, description="largest vocabulary, special symbols included")
    min_count: Positive = Field(1, description="rarer characters or words become <unk>")
    normalize: Literal["none", "NFC", "NFKC"] = Field("NFC", description="Unicode normal form")
    lowercase: bool = Field(False, description="fold capitals to small letters")
    spelling: Annotated[int, Field(ge=0, le=256)] = Field(
        0,
        description="letters of each symbol, with a mark at either end, that are read beside it; "
        "0 reads none (source, unit symbol)",
    )


@SOURCES.options("turns")
class TurnsConfig(TextConfig):
    """Several texts read as one, such as the turns of a dialog, the newest last (S8)."""

    kind: Literal["turns"] = "turns"  # type: ignore[assignment]
    most_turns: Count = Field(
        0, description="turns: the newest that are read; 0 reads as many as data.max_source holds"
    )


@TARGETS.options("gaps")
class BlanksConfig(ColumnOptions):
    """Tokens of the source that are to be told from those around them (S8, fill-in)."""

    kind: Literal["gaps"] = "gaps"
    marker: str = Field(
        "___",
        description="gaps: what marks one in an input; one of equal characters may be drawn with "
        "any two or more of them; plain text after a backslash",
    )
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.15, description="gaps: share of the tokens that are asked for in an update"
    )
    kept: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="gaps: share of those that are read as they are, ..."
    )
    replaced: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="gaps: ... and as another token; the rest is read as a gap"
    )


@TARGETS.options("tags")
class TagsConfig(ColumnOptions):
    """A column of tags set apart by spaces: one for each token of the source (S1.1)."""

    kind: Literal["tags"] = "tags"


@SOURCES.options("label")
@TARGETS.options("label")
class LabelConfig(ColumnOptions):
    """A column of labels: each cell is one of a few."""

    kind: Literal["label"] = "label"


@TARGETS.options("number")
class NumberConfig(ColumnOptions):
    """A column of numbers, which are learnt in units of their spread."""

    kind: Literal["number"] = "number"


@SOURCES.options("vector")
class VectorConfig(ColumnOptions):
    """A column of rows of numbers, all of one length, each learnt in units of its spread."""

    kind: Literal["vector"] = "vector"


@SOURCES.options("series")
class WindowConfig(ColumnOptions):
    """Columns of numbers over time, of which the last steps are read (S1.2)."""

    kind: Literal["series"] = "series"
    window: Annotated[int, Field(ge=2, le=65_536)] = Field(
        336, description="series: steps that are read before a forecast"
    )
    known: str = Field(
        "", description="series: columns known ahead of time, such as holidays, set apart by commas"
    )


@TARGETS.options("series")
class HorizonConfig(ColumnOptions):
    """Columns of numbers over time, which are forecast (S1.2)."""

    kind: Literal["series"] = "series"
    horizon: Annotated[int, Field(ge=1, le=65_536)] = Field(
        24, description="series: steps that are forecast"
    )
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(
        (0.1, 0.9), description="series: shares of the outcomes below each edge of the bands"
    )
    season: Count = Field(
        0, description="series: steps after which it repeats, for the naive forecast; 0 finds them"
    )
    forced: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0,
        description="series fed back: share of the batches in which each step reads the true value "
        "before it, and not the model's own (S6.3)",
    )


@SOURCES.options("picture")
class PictureConfig(ColumnOptions):
    """A column of names of picture files (S3.4)."""

    kind: Literal["picture"] = "picture"
    height: PixelCount = Field(64, description="rows of pixels that every picture is brought to")
    width: PixelCount = Field(64, description="and pixels in a row")
    colour: bool = Field(True, description="read red, green and blue, rather than grey")


@SOURCES.options("sound")
class SoundConfig(ColumnOptions):
    """A column of names of sound files, read as log-mel frames (S3.5)."""

    kind: Literal["sound"] = "sound"
    rate: Annotated[int, Field(ge=0, le=192_000)] = Field(
        0,
        description="samples a second that every recording is brought to; 0 takes what they have, "
        "16,000 at most",
    )
    bands: Annotated[int, Field(ge=1, le=256)] = Field(
        40, description="mel bands of a frame, from 0 to half the rate"
    )
    window: Annotated[float, Field(gt=1, le=1_000)] = Field(
        25.0, description="milliseconds that a frame looks at"
    )
    step: Annotated[float, Field(gt=1, le=1_000)] = Field(
        10.0, description="milliseconds from one frame to the next"
    )


@SOURCES.options("video")
class VideoConfig(ColumnOptions):
    """A column of names of videos: files, folders of frames, or arrays (S3.4)."""

    kind: Literal["video"] = "video"
    frames: Annotated[int, Field(ge=1, le=256)] = Field(
        8, description="frames that are read of a video, evenly apart; all where it has fewer"
    )
    height: PixelCount = Field(32, description="rows of pixels that every frame is brought to")
    width: PixelCount = Field(32, description="and pixels in a row")
    colour: bool = Field(True, description="read red, green and blue, rather than grey")


@SOURCES.options("none")
class NoColumnConfig(ColumnOptions):
    """No column: the target is continued from nothing or from a beginning (S1.2)."""

    kind: Literal["none"] = "none"


KINDS = (
    "text",
    "turns",
    "gaps",
    "tags",
    "label",
    "number",
    "vector",
    "series",
    "picture",
    "sound",
    "video",
    "none",
)


def split_column(given: str) -> tuple[str | None, str | None]:
    """`COL`, `COL:KIND` or a bare `:KIND` as a column and a kind; what is not said is None.

    `none` alone means that there is no such column, and `gaps` alone that it is the source's.
    """
    name, colon, kind = given.rpartition(":")
    if given in ("none", "gaps") or (colon and kind in KINDS):
        return (name or None if colon else None), kind
    near = difflib.get_close_matches(kind, KINDS, n=1, cutoff=0.75) if colon else []
    if near:
        raise ConfigError(f"{given}: there is no kind {kind!r}; did you mean {near[0]!r}?")
    return given, None


SourceConfig = Annotated[ColumnOptions, Choice(SOURCES, default="text")]
TargetConfig = Annotated[ColumnOptions, Choice(TARGETS, default="text")]
SeriesConfig = WindowConfig | HorizonConfig
ColumnConfig = ColumnOptions
