"""Columns of data as token ids and back."""

from seqloom.fields.specials import EMPTY, END, SPECIAL_SYMBOLS, START, UNK
from seqloom.fields.text import TextField
from seqloom.fields.words import split_words

__all__ = ["EMPTY", "END", "SPECIAL_SYMBOLS", "START", "UNK", "TextField", "split_words"]
