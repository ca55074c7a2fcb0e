"""Tokenizers, one file each."""

from seqloom.tokenizers.tokenizer import (
    ByteTokenizer,
    CharacterTokenizer,
    Ids,
    SymbolTokenizer,
    Tokenizer,
    prune_counts,
    split_symbols,
)

__all__ = [
    "ByteTokenizer",
    "CharacterTokenizer",
    "Ids",
    "SymbolTokenizer",
    "Tokenizer",
    "prune_counts",
    "split_symbols",
]
