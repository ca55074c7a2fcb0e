"""Columns of data as arrays of numbers and back."""

from seqloom.fields.blanks import GapsField, MarkedText
from seqloom.fields.file_fields import Named
from seqloom.fields.items import Items, Numbers, Pixels, Series, Symbols
from seqloom.fields.labels import LabelField, TagsField
from seqloom.fields.no_source import NoField
from seqloom.fields.numbers import NumberField, VectorField
from seqloom.fields.pictures import PictureField
from seqloom.fields.protocol import Field, Readable
from seqloom.fields.registry import learn_field, learn_target, load_field, load_text
from seqloom.fields.series import Past, SeriesField, column_names
from seqloom.fields.sounds import SoundField
from seqloom.fields.specials import EMPTY, END, GAP, SPECIAL_SYMBOLS, START, UNK
from seqloom.fields.text import TextField
from seqloom.fields.turns import TurnsField, joined, listed, parted
from seqloom.fields.values import Values
from seqloom.fields.videos import VideoField
from seqloom.fields.words import split_words

__all__ = [
    "EMPTY",
    "END",
    "GAP",
    "SPECIAL_SYMBOLS",
    "START",
    "UNK",
    "Field",
    "GapsField",
    "Items",
    "LabelField",
    "MarkedText",
    "Named",
    "NoField",
    "NumberField",
    "Numbers",
    "Past",
    "PictureField",
    "Pixels",
    "Readable",
    "Series",
    "SeriesField",
    "SoundField",
    "Symbols",
    "TagsField",
    "TextField",
    "TurnsField",
    "Values",
    "VectorField",
    "VideoField",
    "column_names",
    "joined",
    "learn_field",
    "learn_target",
    "listed",
    "load_field",
    "load_text",
    "parted",
    "split_words",
]
