"""Tokens of XML and HTML with their offsets, and text with character references."""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple

from seqloom.documents.inline import InlinePart, Role

__all__ = [
    "AttributeValue",
    "MarkupToken",
    "TokenKind",
    "collapse_space",
    "escape_markup",
    "text_parts",
]

REFERENCE = r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|\w[\w.:-]*);?"
TEXT = re.compile(rf"{REFERENCE}|[ \t\r\n\f]+|[^& \t\r\n\f]+|&")
SPACE = re.compile(r"[ \t\r\n\f]+")
ATTRIBUTE = re.compile(r"""([^\s=<>"'/]+)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""")
XML_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


class TokenKind(Enum):
    """The type of a token; OTHER is comments, declarations and processing instructions."""

    START = auto()
    END = auto()
    EMPTY = auto()
    TEXT = auto()
    CDATA = auto()
    OTHER = auto()


class AttributeValue(NamedTuple):
    """An attribute value without quotes, and its quote character, if any."""

    start: int
    end: int
    raw: str
    quote: str


@dataclass(frozen=True)
class MarkupToken:
    """A tag, a text or something else; `name` is the local name of a tag."""

    kind: TokenKind
    start: int
    raw: str
    name: str = ""

    @property
    def end(self) -> int:
        """Its end offset in the source."""
        return self.start + len(self.raw)

    @cached_property
    def attributes(self) -> dict[str, AttributeValue]:
        """The attributes of a tag, by their names in lower case."""
        found = {}
        for match in ATTRIBUTE.finditer(self.raw):
            value, start = match[2], self.start + match.start(2)
            quote = value[0] if value[0] in "\"'" else ""
            inner = value[1:-1] if quote else value
            start += len(quote)
            found[match[1].lower()] = AttributeValue(start, start + len(inner), inner, quote)
        return found

    def attribute(self, name: str) -> str | None:
        """The decoded value of an attribute."""
        value = self.attributes.get(name)
        return None if value is None else html.unescape(value.raw)


def text_parts(raw: str, start: int, *, xml: bool, keep_space: bool = False) -> list[InlinePart]:
    """Split text into words, spaces and character references.

    Spaces are collapsed unless they are kept. A reference to an entity that XML does not define is
    a code.
    """
    return list(_text_parts(raw, start, _decode_xml if xml else html.unescape, keep_space))


def _text_parts(
    raw: str, start: int, decode: Callable[[str], str | None], keep_space: bool
) -> Iterator[InlinePart]:
    for found in TEXT.finditer(raw):
        piece = found[0]
        low, high = start + found.start(), start + found.end()
        if SPACE.fullmatch(piece):
            seen = piece if keep_space else " "
            yield InlinePart(low, high, piece, Role.SPACE, seen)
        elif piece.startswith("&"):
            seen_or_none = decode(piece)
            part = InlinePart(low, high, piece, Role.TEXT, seen_or_none or "")
            yield part.as_code if seen_or_none is None else part
        else:
            yield InlinePart(low, high, piece, Role.TEXT, piece)


def _decode_xml(reference: str) -> str | None:
    if reference.startswith("&#"):
        digits = reference[2:-1]
        return chr(int(digits[1:], 16) if digits[0] in "xX" else int(digits))
    return XML_ENTITIES.get(reference)


def collapse_space(text: str) -> str:
    """Collapse white space into single spaces."""
    return SPACE.sub(" ", text)


def escape_markup(text: str, *, spellings: dict[str, str], quote: str = "") -> str:
    """Escape a text, with the source's spelling of each character if it has one."""
    table: dict[str, str | int | None] = {"&": "&amp;", "<": "&lt;"}
    if quote:
        table[quote] = "&quot;" if quote == '"' else "&#39;"
    table |= {character: raw for character, raw in spellings.items() if raw.endswith(";")}
    return text.translate(str.maketrans(table)).replace("]]>", "]]&gt;")
