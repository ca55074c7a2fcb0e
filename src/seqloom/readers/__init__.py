"""File readers, one module per format; importing this package registers those of rows."""

from seqloom.readers import (
    conll,
    conllu,
    delimited,
    excel,
    gettext,
    jsonl,
    parquet,
    text,
    tmx,
)
from seqloom.readers.delimited import select_cells
from seqloom.readers.lines import Fault, map_lines, text_lines
from seqloom.readers.reader import READERS, FileReader, Record, reader_of

__all__ = [
    "READERS",
    "Fault",
    "FileReader",
    "Record",
    "conll",
    "conllu",
    "delimited",
    "excel",
    "gettext",
    "jsonl",
    "map_lines",
    "parquet",
    "reader_of",
    "select_cells",
    "text",
    "text_lines",
    "tmx",
]
