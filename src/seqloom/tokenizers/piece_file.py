"""Safe parser of sentencepiece model files, a few protocol buffer messages.

sentencepiece validates little of what it loads. So it is given a file only if the file has exactly
the form that training produces: our special symbols, all bytes, ordinary pieces, and no
normalization rules.
"""

import math
import struct
from collections.abc import Iterator
from typing import Final

from seqloom.errors import RunError
from seqloom.tokenizers.specials import SPECIAL_SYMBOLS, UNK

__all__ = ["FIRST_PIECE", "check_piece_file", "read_fields", "read_pieces"]

FIRST_PIECE: Final = len(SPECIAL_SYMBOLS) + 256
"""The id of the first piece that is neither special nor a byte."""

_PIECES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_LONGEST_PIECE = 256  # bytes
_MODEL_TYPE, _BYTE_FALLBACK, _SUFFIX = 3, 35, 24
_CHARSMAP = 2

Value = int | bytes


def read_pieces(model: bytes) -> list[str]:
    """The pieces in order of ids; RunError if training cannot have produced the file."""
    try:
        fields = list(read_fields(model))
        pieces = [_piece(value) for number, value in fields if number == _PIECES]
        others = {number: dict(read_fields(value)) for number, value in fields if number != _PIECES}
    except (ValueError, IndexError, TypeError, struct.error):
        raise RunError(
            "it is not a sentencepiece model", remedy="restore the file from a copy"
        ) from None
    if not _is_plain(others) or len(others) + len(pieces) != len(fields):
        raise RunError(
            "it has settings that Seqloom never makes", remedy="restore the file from a copy"
        )
    if not _is_ours(pieces):
        raise RunError(
            "its pieces are not such as Seqloom makes", remedy="restore the file from a copy"
        )
    return [text for text, _, _ in pieces]


def check_piece_file(model: bytes) -> None:
    """Raise RunError unless a file has the structure of a sentencepiece model, whoever trained
    it.
    """
    try:
        fields = list(read_fields(model))
        pieces = [_piece(value) for number, value in fields if number == _PIECES]
        normalizers = [
            dict(read_fields(value)) for number, value in fields if number == _NORMALIZER
        ]
    except (ValueError, IndexError, TypeError, struct.error):
        raise RunError(
            "it is not a sentencepiece model", remedy="restore the file from a copy"
        ) from None
    sound = (
        bool(pieces)
        and all(math.isfinite(score) and kind <= _BYTE for _, score, kind in pieces)
        and all(_is_whole_charsmap(spec.get(_CHARSMAP, b"")) for spec in normalizers)
    )
    if not sound:
        raise RunError(
            "its pieces or its normalization are damaged", remedy="restore the file from a copy"
        )


def _is_whole_charsmap(rules: Value) -> bool:
    """Whether compiled normalization rules are complete: a size, a trie, texts."""
    if not isinstance(rules, bytes):
        return False
    size = int.from_bytes(rules[:4], "little")
    return not rules or (size % 4 == 0 and 0 < size < len(rules) - 4 and rules.endswith(b"\0"))


def _is_plain(others: dict[int, dict[int, Value]]) -> bool:
    """Whether the settings are those of training: unigram or BPE, byte fallback, no
    normalization.
    """
    trainer = others.get(_TRAINER, {})
    normalizers = [others.get(number, {}) for number in (_NORMALIZER, _DENORMALIZER)]
    return (
        others.keys() <= {_TRAINER, _NORMALIZER, _DENORMALIZER}
        and trainer.get(_MODEL_TYPE, 1) in (1, 2)
        and trainer.get(_BYTE_FALLBACK) == 1
        and not trainer.get(_SUFFIX)
        and all(not spec.get(2) and not spec.get(6) for spec in normalizers)
        and all(normalizers[0].get(number) == 0 for number in (3, 4))
        and normalizers[0].get(5, 1) == 1
    )


def _is_ours(pieces: list[tuple[str, float, int]]) -> bool:
    """Whether special symbols and bytes come first, then ordinary pieces, without duplicates."""
    first = [(name, _CONTROL) for name in SPECIAL_SYMBOLS]
    first[UNK] = (SPECIAL_SYMBOLS[UNK], _UNKNOWN)
    first += [(f"<0x{byte:02X}>", _BYTE) for byte in range(256)]
    return (
        [(text, kind) for text, _, kind in pieces[:FIRST_PIECE]] == first
        and all(kind == _NORMAL and text for text, _, kind in pieces[FIRST_PIECE:])
        and len({text for text, _, _ in pieces}) == len(pieces)
        and all(math.isfinite(score) and "\0" not in text for text, score, _ in pieces)
    )


def _piece(message: Value) -> tuple[str, float, int]:
    """The text, score and kind of one piece."""
    fields = dict(read_fields(message))
    text, score, kind = fields.get(1, b""), fields.get(2, bytes(4)), fields.get(3, _NORMAL)
    if not isinstance(text, bytes) or not isinstance(score, bytes) or not isinstance(kind, int):
        raise TypeError("a value of the wrong kind")
    if len(text) > _LONGEST_PIECE:
        raise ValueError("a piece that is too long")
    (number,) = struct.unpack("<f", score)
    return text.decode(), number, kind


def read_fields(message: Value) -> Iterator[tuple[int, Value]]:
    """The numbered fields of a message: integers, or bytes for length-delimited values."""
    if not isinstance(message, bytes):
        raise TypeError("a number where a message is expected")
    place = 0
    while place < len(message):
        tag, place = _integer(message, place)
        match tag & 7:
            case 0:
                value, place = _integer(message, place)
                yield tag >> 3, value
                continue
            case 1 | 5 as wire:
                length = 8 if wire == 1 else 4
            case 2:
                length, place = _integer(message, place)
            case _:
                raise ValueError("an unknown kind of value")
        if place + length > len(message):
            raise ValueError("a value that is cut off")
        yield tag >> 3, message[place : place + length]
        place += length


def _integer(message: bytes, place: int) -> tuple[int, int]:
    """Decode a varint; return it and the position after it."""
    number = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
    raise ValueError("a number that is too long")
