"""TMX translation memories: add a variant in the target language to units that lack one."""

from collections.abc import Iterator

from seqloom.documents.bilingual import BilingualUnit, SourceElement
from seqloom.documents.document import DOCUMENT_FORMATS, DocumentFormat, DocumentSource, Slot
from seqloom.documents.markup import escape_markup
from seqloom.documents.xml_tree import XmlElement, declared_xml_encoding, parse_xml
from seqloom.errors import ConfigError
from seqloom.remedies import Remedy, Setting

__all__ = ["TmxFormat"]

OPAQUE = frozenset({"bpt", "ept", "it", "ph", "ut", "sub"})
ANY = "*all*"  # the header's value for any source language


@DOCUMENT_FORMATS.part("tmx")
class TmxFormat(DocumentFormat):
    """The source language is that of the options or the header; the target language is that of the
    options, or the file's only other one.
    """

    endings = (".tmx",)
    references = True

    def declared_encoding(self, data: bytes) -> str | None:
        """The encoding of the XML declaration."""
        return declared_xml_encoding(data)

    def slots(self, source: DocumentSource) -> Iterator[Slot]:
        """The slots of all units with a variant in the source language."""
        root = parse_xml(source)
        if root.name != "tmx":
            found = root.opening.raw[:60]
            cure = "name a TMX file or another format"
            raise source.error(root.opening.start, f"expected <tmx>, found {found!r}; {cure}")
        units = list(root.descendants("tu"))
        for unit in units:
            _check_variants(source, unit)
        before, after = _languages(source, root, units)
        for unit in units:
            pair = _pair(source, unit, before, after)
            slot = None if pair is None else pair.slot()
            if slot is not None:
                yield slot


def _check_variants(source: DocumentSource, unit: XmlElement) -> None:
    for variant in _variants(unit):
        start = variant.opening.start
        if not _language(variant):
            raise source.error(start, "a variant has no xml:lang; say its language")
        if variant.child("seg") is None:
            raise source.error(start, "a variant has no <seg>; add it or remove the variant")


def _languages(
    source: DocumentSource, root: XmlElement, units: list[XmlElement]
) -> tuple[str, str]:
    """The source and the target language."""
    known = list(dict.fromkeys(_language(each) for unit in units for each in _variants(unit)))
    header = root.child("header")
    declared = header.opening.attribute("srclang") if header else None
    declared = None if declared in (None, ANY) else declared
    before = source.options.source_language or declared or (known[0] if known else "")
    if units and not any(_variant(unit, before) for unit in units):
        raise source.error(
            units[0].opening.start,
            f"no unit has a variant in {before}, only in {', '.join(known)}",
            Remedy("choose one of them with {}", Setting("source_language")),
        )
    others = [each for each in known if not _same(before, each)]
    after = source.options.target_language or (others[0] if len(others) == 1 else "")
    if not after and units:
        raise ConfigError(
            f"the file has {', '.join(known)}, and {before} is the source",
            place=source.name,
            remedy=Remedy(
                "choose the language to translate into with {}", Setting("target_language")
            ),
        )
    return before, after


def _pair(
    source: DocumentSource, unit: XmlElement, before: str, after: str
) -> BilingualUnit | None:
    own = unit.opening.attribute("srclang")
    original = _variant(unit, before if own in (None, ANY) else own)
    if original is None or (seg := original.child("seg")) is None:
        return None
    target = _variant(unit, after)
    last = _variants(unit)[-1]
    indent = last.space_before()
    tuv, name = original.tag, seg.tag
    language = escape_markup(after, spellings={}, quote='"')
    return BilingualUnit(
        SourceElement(source, seg, OPAQUE),
        None if target is None else target.child("seg"),
        last.closing.end,
        lambda inner: f'{indent}<{tuv} xml:lang="{language}"><{name}>{inner}</{name}></{tuv}>',
        unit.opening.attribute("tuid") or "",
    )


def _variants(unit: XmlElement) -> list[XmlElement]:
    return [each for each in unit.children if each.name == "tuv"]


def _variant(unit: XmlElement, language: str) -> XmlElement | None:
    """The variant in a language: the exact one, or the first of its regional variants."""
    variants = _variants(unit)
    exact = [each for each in variants if _language(each).lower() == language.lower()]
    near = [each for each in variants if _same(language, _language(each))]
    return next(iter(exact or near), None)


def _language(variant: XmlElement) -> str:
    return variant.opening.attribute("xml:lang") or variant.opening.attribute("lang") or ""


def _same(language: str, name: str) -> bool:
    """Whether language tags match: `en` or `en-gb` matches `en-GB`."""
    asked, found = (each.lower().replace("_", "-") for each in (language, name))
    return f"{found}-".startswith(f"{asked}-")
