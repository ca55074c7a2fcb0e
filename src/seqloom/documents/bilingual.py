"""Source and target elements of XLIFF and TMX: where a target is inserted and how it is written."""

from collections.abc import Callable
from dataclasses import dataclass

from seqloom.documents.document import DocumentSource, Patch, Segment, Slot
from seqloom.documents.inline import InlineContent, Role
from seqloom.documents.markup import collapse_space, escape_markup
from seqloom.documents.xml_tree import XmlElement, element_parts

__all__ = ["BilingualUnit", "SourceElement"]


@dataclass(frozen=True)
class SourceElement:
    """An element with a text to translate, and the element names of its inline codes."""

    source: DocumentSource
    element: XmlElement
    opaque: frozenset[str]

    @property
    def keeps_space(self) -> bool:
        """Whether its white space is significant."""
        return self.element.find_attribute("xml:space") == "preserve"

    def content(self) -> InlineContent | None:
        """Its text and codes; None without text."""
        parts = element_parts(self.element, opaque=self.opaque, keep_space=self.keeps_space)
        return InlineContent.trim(parts)

    def render(self, content: InlineContent, translation: str, patch: Patch) -> str:
        """Render the content of a target: the codes and surrounding spaces of the source, with the
        translation between them.
        """
        text = self.source.text
        before = text[self.element.opening.end : content.start]
        after = text[content.end : self.element.closing.start]
        return f"{before}{self._write(content, translation, patch)}{after}"

    def _write(self, content: InlineContent, said: str, patch: Patch) -> str:
        parts = content.parts
        cdata = len(parts) == 1 and parts[0].raw.startswith("<![CDATA[")
        if cdata and self.source.encoding.is_unicode:
            safe = said.replace("]]>", "]]]]><![CDATA[>")
            return f"<![CDATA[{safe}]]>"

        def escape(piece: str) -> str:
            spaced = piece if self.keeps_space else collapse_space(piece)
            return escape_markup(spaced, spellings=content.spellings)

        return content.render(said, patch, escape=escape)


@dataclass(frozen=True)
class BilingualUnit:
    """A source with its target or None, and how and where to insert a missing target."""

    original: SourceElement
    target: XmlElement | None
    insert_at: int
    wrap: Callable[[str], str]  # wraps the content of a target in an element
    name: str

    def slot(self) -> Slot | None:
        """The slot of the translation; None if there is nothing to translate or an existing
        translation is kept.
        """
        original, target = self.original, self.target
        content = original.content()
        if content is None:
            return None
        current = None if target is None else self._read(target)
        if current is not None and not original.source.options.replace:
            return None
        start = original.element.opening.start
        segment = Segment(
            content.text, original.source.place(start), self.name, content.codes, current
        )
        low = self.insert_at if target is None else target.opening.start
        high = self.insert_at if target is None else target.closing.end

        def write(translation: str, patch: Patch) -> str:
            inner = original.render(content, translation, patch)
            return self.wrap(inner) if target is None else _refill(target, inner)

        return Slot(segment, low, high, write, current)

    def _read(self, target: XmlElement) -> str | None:
        """The text of a target; None if it has none."""
        held = SourceElement(self.original.source, target, self.original.opaque)
        parts = element_parts(target, opaque=held.opaque, keep_space=held.keeps_space)
        if not any(part.role is Role.TEXT for part in parts):
            return None
        content = InlineContent.trim(parts)
        return "".join(part.visible for part in parts) if content is None else content.text


def _refill(target: XmlElement, inner: str) -> str:
    """A target with its attributes and new content."""
    opening = target.opening.raw
    if target.closing is target.opening:  # <target/>
        return f"{opening[:-2].rstrip()}>{inner}</{target.tag}>"
    return f"{opening}{inner}{target.closing.raw}"
