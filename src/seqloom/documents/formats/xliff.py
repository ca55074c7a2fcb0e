"""XLIFF 1.2 and 2.x: add a target to units or segments that lack one.

Alternative translations, notes, units marked `translate="no"` and native codes in `bpt`, `ept`,
`it`, `ph` and `ut` stay unchanged.
"""

from collections.abc import Iterator

from seqloom.documents.bilingual import BilingualUnit, SourceElement
from seqloom.documents.document import DOCUMENT_FORMATS, DocumentFormat, DocumentSource, Slot
from seqloom.documents.xml_tree import XmlElement, declared_xml_encoding, parse_xml

__all__ = ["XliffFormat"]

OPAQUE = frozenset({"bpt", "ept", "it", "ph", "ut", "sub"})


@DOCUMENT_FORMATS.part("xliff")
class XliffFormat(DocumentFormat):
    """A new target is inserted after its source with the same indentation; in 1.2 it is marked for
    review.
    """

    endings = (".xlf", ".xliff")
    references = True

    def declared_encoding(self, data: bytes) -> str | None:
        """The encoding of the XML declaration."""
        return declared_xml_encoding(data)

    def slots(self, source: DocumentSource) -> Iterator[Slot]:
        """The slots of all units to translate."""
        root = parse_xml(source)
        version = root.opening.attribute("version") or ""
        if root.name != "xliff" or version[:2] not in ("1.", "2."):
            raise source.error(
                root.opening.start,
                f'expected <xliff version="1.2"> or 2.x, found {root.opening.raw[:60]!r}; '
                "export it as XLIFF 1.2, 2.0 or 2.1",
            )
        first = version.startswith("1.")
        for holder in root.descendants("trans-unit" if first else "segment"):
            unit = _unit(source, holder, state=first)
            slot = None if unit is None else unit.slot()
            if slot is not None:
                yield slot


def _unit(source: DocumentSource, holder: XmlElement, *, state: bool) -> BilingualUnit | None:
    """The source and target of an element, unless it is marked as not to be translated."""
    original = holder.child("source")
    if original is None:
        start = holder.opening.start
        raise source.error(start, f"<{holder.name}> has no <source>; add it or remove the unit")
    if holder.find_attribute("translate") == "no":
        return None
    after = holder.child("seg-source") or original
    tag = original.tag.replace("source", "target")
    review = ' state="needs-review-translation"' if state else ""
    indent = original.space_before()
    return BilingualUnit(
        SourceElement(source, original, OPAQUE),
        holder.child("target"),
        after.closing.end,
        lambda inner: f"{indent}<{tag}{review}>{inner}</{tag}>",
        _name(holder),
    )


def _name(holder: XmlElement) -> str:
    """The id of a unit, and of a segment in it."""
    own = holder.opening.attribute("id") or ""
    if holder.name != "segment" or holder.parent is None:
        return own
    unit = holder.parent.opening.attribute("id") or ""
    return f"{unit}/{own}" if own else unit
