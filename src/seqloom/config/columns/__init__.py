"""Options of each kind of column; the kinds of source and target determine the task."""

from seqloom.config.columns.blanks import BlanksConfig, one_column
from seqloom.config.columns.labels import LabelConfig, TagsConfig
from seqloom.config.columns.media import PictureConfig, SoundConfig, VideoConfig
from seqloom.config.columns.no_column import NoColumnConfig
from seqloom.config.columns.numbers import NumberConfig, VectorConfig, VectorSequenceConfig
from seqloom.config.columns.options import (
    COLUMNS,
    SOURCES,
    TARGETS,
    ColumnConfig,
    ColumnOptions,
    Situation,
    SourceConfig,
    SourceOptions,
    TargetConfig,
    TargetOptions,
)
from seqloom.config.columns.series import HorizonConfig, SeriesConfig, WindowConfig, column_names
from seqloom.config.columns.several import ColumnsConfig
from seqloom.config.columns.text import TextConfig, TurnsConfig

__all__ = [
    "COLUMNS",
    "SOURCES",
    "TARGETS",
    "BlanksConfig",
    "ColumnConfig",
    "ColumnOptions",
    "ColumnsConfig",
    "HorizonConfig",
    "LabelConfig",
    "NoColumnConfig",
    "NumberConfig",
    "PictureConfig",
    "SeriesConfig",
    "Situation",
    "SoundConfig",
    "SourceConfig",
    "SourceOptions",
    "TagsConfig",
    "TargetConfig",
    "TargetOptions",
    "TextConfig",
    "TurnsConfig",
    "VectorConfig",
    "VectorSequenceConfig",
    "VideoConfig",
    "WindowConfig",
    "column_names",
    "one_column",
]
