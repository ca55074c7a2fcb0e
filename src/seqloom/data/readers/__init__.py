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
from seqloom.data.readers.reader import READERS, FileReader, Record, reader_of

__all__ = [
    "READERS",
    "FileReader",
    "Record",
    "conll",
    "conllu",
    "csv",
    "excel",
    "gettext",
    "jsonl",
    "parquet",
    "reader_of",
    "text",
    "tmx",
    "tsv",
]
