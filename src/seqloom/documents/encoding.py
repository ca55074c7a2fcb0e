"""Decode and encode documents such that unchanged text has unchanged bytes."""

import codecs
from dataclasses import dataclass

from seqloom.errors import DataError
from seqloom.remedies import Remedy, Setting

__all__ = ["TextEncoding", "decode_bytes"]

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
CURE = Remedy("save the file as UTF-8, or name its encoding with {}", Setting("encoding"))


@dataclass(frozen=True)
class TextEncoding:
    """A text encoding: a codec, and a byte order mark or none."""

    codec: str
    mark: bytes = b""

    @property
    def is_unicode(self) -> bool:
        """Whether it can encode every character."""
        return codecs.lookup(self.codec).name.startswith("utf")

    def encode(self, text: str, name: str, *, references: bool) -> bytes:
        """Encode a text; a character that the encoding lacks becomes a reference such as `&#8364;`
        with `references`, and is a DataError otherwise.
        """
        try:
            errors = "xmlcharrefreplace" if references else "strict"
            return self.mark + text.encode(self.codec, errors)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise DataError(
                f"the translation has {character!r} (U+{ord(character):04X}), which {self.codec} "
                "cannot write",
                place=name,
                remedy="save the document as UTF-8 first",
            ) from None


def decode_bytes(data: bytes, name: str, *, declared: str | None) -> tuple[str, TextEncoding]:
    """Decode a file; a byte order mark takes precedence over `declared`, and UTF-8 is the default.
    DataError if the bytes do not round-trip.
    """
    mark, codec = next(
        ((mark, codec) for mark, codec in BYTE_ORDER_MARKS if data.startswith(mark)),
        (b"", declared or "utf-8"),
    )
    body = data[len(mark) :]
    try:
        text = body.decode(codec)
    except LookupError:
        raise DataError(f"the encoding {codec!r} is unknown", place=name, remedy=CURE) from None
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}:{line}: byte 0x{body[error.start]:02X} cannot be read as {codec}", remedy=CURE
        ) from None
    except UnicodeError as error:
        raise DataError(f"cannot be read as {codec} ({error})", place=name, remedy=CURE) from None
    if text.encode(codec, "replace") != body:
        raise DataError(f"{codec} stores the same text in several ways", place=name, remedy=CURE)
    return text, TextEncoding(codec, mark)
