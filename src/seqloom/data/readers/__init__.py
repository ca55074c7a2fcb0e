"""Readers of files, one file for each format; importing this package registers those of rows."""

from seqloom.data.readers import (
    conll,
    conllu,
    csv,
    excel,
    gettext,
    jsonl,
    parquet,
    text,
    tmx,
    tsv,
)
from seqloom.data.readers.delimited import select_cells
from seqloom.data.readers.lines import text_lines
from seqloom.data.readers.reader import READERS, FileReader, Record, reader_of
from seqloom.data.report import Fault, map_lines

__all__ = [
    "READERS",
    "Fault",
    "FileReader",
    "Record",
    "conll",
    "conllu",
    "csv",
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
    "tsv",
]
