"""sentencepiece model files that tokenize as our fields do (S1.3).

Such a file is a protocol buffer message: pieces, training settings, of which the type of model
matters, and normalization settings.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

from seqloom.export.refusals import no_counterpart
from seqloom.fields import SPECIAL_SYMBOLS, TextField
from seqloom.tokenizers.piece_file import read_fields, read_pieces

__all__ = ["PIECE_SPACE", "SPECIAL_NAMES", "PieceModel", "piece_model"]

PIECE_SPACE = "\u2581"
SPECIAL_NAMES = ["<pad>", "<unk>", "<s>", "</s>"]  # names in Marian's tokenizer
PIECES, TRAINER, NORMALIZER = 1, 2, 3
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
WORD_MODEL, CHARACTER_MODEL = 3, 4

Value = int | float | bytes


class PieceModel(NamedTuple):
    """A model file, and the piece of each id."""

    content: bytes
    names: list[str]


def piece_model(field: TextField, side: str) -> PieceModel:
    """A file that tokenizes like a field; ConfigError names an option that the format cannot
    express.
    """
    config = field.config
    if field.has_turns:
        raise no_counterpart("huggingface", f"{side}.kind", config.kind)
    if config.lowercase or config.normalize == "NFKC":
        name = "lowercase" if config.lowercase else "normalize"
        raise no_counterpart("huggingface", f"{side}.{name}", getattr(config, name))
    state = field.state()
    symbols = list(state.facts.get("symbols", ()))
    match config.unit:
        case "sentencepiece":
            return PieceModel(state.model, _names(symbols))
        case "subword":
            pieces = read_pieces(state.model)[len(SPECIAL_SYMBOLS) :]
            return PieceModel(_with_prefix(state.model), _names(pieces))
        case "character":
            spelt = [symbol.replace(" ", PIECE_SPACE) for symbol in symbols]
            return PieceModel(_model(spelt, CHARACTER_MODEL), _names(spelt))
        case "symbol" if not config.spelling:
            spelt = [PIECE_SPACE + symbol for symbol in symbols]
            return PieceModel(_model(spelt, WORD_MODEL, prefix=True), _names(spelt))
        case "byte":
            names = [f"<0x{byte:02X}>" for byte in range(256)]
            names[ord(" ")] = PIECE_SPACE
            return PieceModel(_model([PIECE_SPACE], CHARACTER_MODEL, fallback=True), _names(names))
        case unit:
            raise no_counterpart("huggingface", f"{side}.unit", unit)


def _names(symbols: Iterable[str]) -> list[str]:
    """A unique name for each id."""
    names, seen = list(SPECIAL_NAMES), set(SPECIAL_NAMES)
    for token, symbol in enumerate(symbols, start=len(names)):
        name = symbol if symbol not in seen else f"{symbol}#{token}"
        names.append(name)
        seen.add(name)
    return names


def _model(pieces: list[str], kind: int, *, prefix: bool = False, fallback: bool = False) -> bytes:
    """A file with these pieces, and all bytes if they are the fallback for other characters."""
    table = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    table += [(f"<0x{byte:02X}>", BYTE) for byte in range(256) if fallback]
    taken = {text for text, _ in table}
    table += [(piece, NORMAL) for piece in dict.fromkeys(pieces) if piece not in taken]
    content = b"".join(
        _field(PIECES, _field(1, text.encode()) + _field(2, 0.0) + _field(3, type_))
        for text, type_ in table
    )
    trainer = _field(3, kind) + _field(4, len(table)) + _field(35, int(fallback))
    return content + _field(TRAINER, trainer) + _normalizer(prefix=prefix, tidy=prefix)


def _with_prefix(model: bytes) -> bytes:
    """Our model, changed to add the leading space itself."""
    kept = [(number, value) for number, value in read_fields(model) if number != NORMALIZER]
    content = b"".join(_field(number, value) for number, value in kept)
    return content + _normalizer(prefix=True, tidy=False)


def _normalizer(*, prefix: bool, tidy: bool) -> bytes:
    """Normalization without rules, except a leading space and collapsed spaces."""
    settings = _field(1, b"identity") + _field(3, int(prefix)) + _field(4, int(tidy))
    return _field(NORMALIZER, settings + _field(5, 1))


def _field(number: int, value: Value) -> bytes:
    """Encode a numbered field: a varint, a four-byte float, or bytes."""
    match value:
        case int():
            return _integer(number << 3) + _integer(value)
        case float():
            return _integer(number << 3 | 5) + struct.pack("<f", value)
        case _:
            return _integer(number << 3 | 2) + _integer(len(value)) + value


def _integer(number: int) -> bytes:
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
