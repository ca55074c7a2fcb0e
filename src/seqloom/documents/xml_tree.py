"""XML trees with source offsets: validated by a strict parser, tokenized by one that keeps offsets.

The parser rejects entities and reads nothing outside the file.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax import SAXParseException

from seqloom.documents.document import DocumentSource
from seqloom.documents.inline import InlinePart, Role
from seqloom.documents.markup import MarkupToken, TokenKind, text_parts
from seqloom.errors import DataError

__all__ = ["XmlElement", "declared_xml_encoding", "element_parts", "parse_xml"]

DECLARATION = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
QUOTED = r""""[^"]*"|'[^']*'"""
COMMENT = r"<!--.*?-->|<\?.*?\?>"
TOKEN = re.compile(
    rf"""(?P<other>{COMMENT}
        |<!DOCTYPE(?:[^\[\]"'>]|{QUOTED})*
            (?:\[(?:[^\]"'<]|{QUOTED}|{COMMENT}|<)*\]\s*)?>)
    |<!\[CDATA\[(?P<cdata>.*?)\]\]>
    |</(?P<close>[^\s>]+)\s*>
    |<(?P<open>[^\s/>!?]+)(?:[^"'>/]|{QUOTED})*(?P<empty>/)?>
    |(?P<text>[^<]+)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(eq=False)
class XmlElement:
    """An element, with its tags among the document's tokens."""

    opening: MarkupToken
    parent: "XmlElement | None"
    tokens: Sequence[MarkupToken] = field(repr=False)  # of the whole document
    first: int = 0  # the token of its opening tag
    last: int = 0  # the token of its closing tag
    children: list["XmlElement"] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its local name."""
        return self.opening.name

    @property
    def tag(self) -> str:
        """Its qualified name."""
        return self.opening.raw[1:].split()[0].rstrip("/>")

    @property
    def closing(self) -> MarkupToken:
        """Its closing tag; for an empty element, its only tag."""
        return self.tokens[self.last]

    @property
    def inner(self) -> Sequence[MarkupToken]:
        """The tokens between its tags."""
        return self.tokens[self.first + 1 : self.last]

    def child(self, name: str) -> "XmlElement | None":
        """The first child of this name."""
        return next((each for each in self.children if each.name == name), None)

    def find_attribute(self, attribute: str) -> str | None:
        """An attribute of the element or of its nearest ancestor with it."""
        node: XmlElement | None = self
        while node is not None:
            value = node.opening.attribute(attribute)
            if value is not None:
                return value
            node = node.parent
        return None

    def descendants(self, name: str = "") -> Iterator["XmlElement"]:
        """All descendants, optionally of one name, in document order."""
        waiting = self.children[::-1]
        while waiting:
            node = waiting.pop()
            if name in ("", node.name):
                yield node
            waiting += node.children[::-1]

    def space_before(self) -> str:
        """The line ending and indentation before it, if any."""
        before = self.tokens[self.first - 1]
        blank = before.kind is TokenKind.TEXT and not before.raw.strip()
        return before.raw if blank else ""


def declared_xml_encoding(data: bytes) -> str | None:
    """The encoding declared in the XML declaration, or detected from the first bytes."""
    for start, codec in ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be")):
        if data.startswith(start):
            return codec
    found = DECLARATION.match(data.removeprefix(codecs.BOM_UTF8))
    return found[1].decode() if found else None


def parse_xml(source: DocumentSource) -> XmlElement:
    """Parse to the root element; DataError with the line if the document is not well-formed."""
    _check_well_formed(source)
    tokens = list(_tokens(source.text))
    root: XmlElement | None = None
    node: XmlElement | None = None
    for index, token in enumerate(tokens):
        if token.kind in (TokenKind.START, TokenKind.EMPTY):
            element = XmlElement(token, node, tokens, index, index)
            if node is not None:
                node.children.append(element)
            root = root or element
            node = element if token.kind is TokenKind.START else node
        elif token.kind is TokenKind.END and node is not None:
            node.last = index
            node = node.parent
    if root is None:
        raise source.error(0, "there is no element; name an XML file")
    return root


def _tokens(text: str) -> Iterator[MarkupToken]:
    for found in TOKEN.finditer(text):
        start, raw = found.start(), found[0]
        name = (found["open"] or found["close"] or "").rpartition(":")[2]
        if found["open"] is not None:
            kind = TokenKind.EMPTY if found["empty"] else TokenKind.START
        elif found["close"] is not None:
            kind = TokenKind.END
        elif found["cdata"] is not None:
            kind = TokenKind.CDATA
        else:
            kind = TokenKind.OTHER if found["text"] is None else TokenKind.TEXT
        yield MarkupToken(kind, start, raw, name)


def _check_well_formed(source: DocumentSource) -> None:
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]
    from defusedxml.expatreader import create_parser  # type: ignore[import-untyped]

    parser = create_parser(forbid_external=False)  # a DTD may be named; none is read
    try:
        parser.feed(source.text)
        parser.close()
    except SAXParseException as error:
        place, cause = f"{source.name}:{error.getLineNumber()}", error.getMessage()
        message = f"is not well-formed XML ({cause}); correct it or export it again"
        raise DataError(message, place=place) from None
    except DefusedXmlException:
        cure = "write their text in their place"
        line = source.line_starts[min(parser.getLineNumber(), len(source.line_starts)) - 1]
        raise source.error(line, f"declares entities, which are refused; {cure}") from None


def element_parts(
    element: XmlElement, *, opaque: frozenset[str], keep_space: bool = False
) -> list[InlinePart]:
    """The content of an element as text and codes; an element in `opaque`, or one marked
    `translate="no"`, is a single code with its content.
    """
    whole = {
        each.first: each.last for each in element.descendants() if _is_opaque(each.opening, opaque)
    }
    parts: list[InlinePart] = []
    index = element.first + 1
    while index < element.last:
        first, last = element.tokens[index], whole.get(index, index)
        if index in whole:
            raw = "".join(each.raw for each in element.tokens[index : last + 1])
            parts.append(InlinePart(first.start, first.start + len(raw), raw, Role.ALONE))
        else:
            parts += _parts(first, keep_space)
        index = last + 1
    return parts


def _is_opaque(token: MarkupToken, opaque: frozenset[str]) -> bool:
    protected = token.attribute("mtype") == "protected"
    return token.name in opaque or protected or token.attribute("translate") == "no"


def _parts(token: MarkupToken, keep_space: bool) -> list[InlinePart]:
    """The parts of a token."""
    match token.kind:
        case TokenKind.TEXT:
            return text_parts(token.raw, token.start, xml=True, keep_space=keep_space)
        case TokenKind.CDATA:
            said = token.raw[len("<![CDATA[") : -len("]]>")]
            return [InlinePart(token.start, token.end, token.raw, Role.TEXT, said)] if said else []
        case TokenKind.START | TokenKind.END:
            role = Role.OPEN if token.kind is TokenKind.START else Role.CLOSE
            return [InlinePart(token.start, token.end, token.raw, role, name=token.name)]
        case _:
            return [InlinePart(token.start, token.end, token.raw, Role.ALONE)]
