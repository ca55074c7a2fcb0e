"""Fields: encode the cells of a column as arrays, and decode them."""

from seqloom.config.columns import column_names
from seqloom.fields.blanks import BlanksField, MarkedText
from seqloom.fields.columns import ColumnsField
from seqloom.fields.field_files import (
    PersistentField,
    learn_field,
    learn_target,
    load_field,
    needs_all_cells,
    placeholder_items,
)
from seqloom.fields.file_fields import FileField
from seqloom.fields.items import Items, Numbers, Pixels, Series, Symbols, Values
from seqloom.fields.labels import LabelField, TagsField
from seqloom.fields.no_source import NoField
from seqloom.fields.numbers import NumberField, VectorField
from seqloom.fields.pictures import PictureField
from seqloom.fields.protocol import Field, Readable, UploadLimits
from seqloom.fields.series import SeriesBaseline, SeriesField
from seqloom.fields.sounds import SoundField
from seqloom.fields.text import TextField, as_text_field, load_text
from seqloom.fields.turns import TurnsField, join_turns, parse_list, split_turns
from seqloom.fields.vector_sequences import VectorSequenceField, names_array
from seqloom.fields.videos import VideoField
from seqloom.tokenizers.offsets import Offsets
from seqloom.tokenizers.specials import BLANK, EMPTY, END, SPECIAL_SYMBOLS, START, UNK
from seqloom.tokenizers.words import split_words

__all__ = [
    "BLANK",
    "EMPTY",
    "END",
    "SPECIAL_SYMBOLS",
    "START",
    "UNK",
    "BlanksField",
    "ColumnsField",
    "Field",
    "FileField",
    "Items",
    "LabelField",
    "MarkedText",
    "NoField",
    "NumberField",
    "Numbers",
    "Offsets",
    "PersistentField",
    "PictureField",
    "Pixels",
    "Readable",
    "Series",
    "SeriesBaseline",
    "SeriesField",
    "SoundField",
    "Symbols",
    "TagsField",
    "TextField",
    "TurnsField",
    "UploadLimits",
    "Values",
    "VectorField",
    "VectorSequenceField",
    "VideoField",
    "as_text_field",
    "column_names",
    "join_turns",
    "learn_field",
    "learn_target",
    "load_field",
    "load_text",
    "names_array",
    "needs_all_cells",
    "parse_list",
    "placeholder_items",
    "split_turns",
    "split_words",
]
