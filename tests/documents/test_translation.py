"""A document through a model: what the model gets, what comes of it, and what is lost."""

from collections.abc import Sequence

import pytest

from seqloom.documents import (
    DocumentFormat,
    LostText,
    ProtectionOptions,
    TranslationOptions,
    translate_document,
)
from tests.documents.support import opened

PAGE = "<p>Dear <b>{name}</b>! See http://a.example now. It is 5 km.</p>\n<p>Bye.</p>\n"


def test_a_model_sees_sentences_with_stand_ins() -> None:
    """Each sentence is an input of its own, and a document needs one call."""
    calls: list[list[str]] = []

    def shout(texts: Sequence[str]) -> list[str]:
        calls.append(list(texts))
        return [text.upper() for text in texts]

    result = translate_document(opened(PAGE, "page.html"), shout)
    assert calls == [["Dear ⟦0⟧⟦1⟧⟦2⟧!", "See ⟦3⟧ now.", "It is 5 km.", "Bye."]]
    expected = "<p>DEAR <b>{name}</b>! SEE http://a.example NOW. IT IS 5 KM.</p>\n<p>BYE.</p>\n"
    assert result.data.decode() == expected
    assert result.lost == []


def test_what_is_lost_is_said_with_its_place() -> None:
    """A model that drops everything leaves well-formed markup and a list."""
    document = opened(PAGE, "page.html")
    result = translate_document(document, lambda texts: ["x"] * len(texts))
    assert result.data.decode() == "<p>x x x</p>\n<p>x</p>\n"
    lost = ["<b>", "{name}", "</b>", "http://a.example", "5 km"]
    assert result.lost == [LostText("page.html:1", text) for text in lost]


def test_long_sentences_are_cut() -> None:
    """No input is longer than the limit, and the spaces between pieces stay."""
    seen: list[str] = []

    def note(texts: Sequence[str]) -> Sequence[str]:
        seen.extend(texts)
        return texts

    text = "one two three four five six seven.  Eight nine.\n"
    options = TranslationOptions(limit=12)
    assert translate_document(opened(text, "a.txt"), note, options=options).data.decode() == text
    assert seen == ["one two", "three four", "five six", "seven.", "Eight nine."]


def test_pieces_without_letters_stay() -> None:
    """A model does not get a piece that has nothing to translate."""
    options = TranslationOptions(protection=ProtectionOptions(stand_in="⟦{}⟧"))
    document = opened("<p>Go. 5! {x} ?</p>", "a.html")
    result = translate_document(document, lambda texts: [f"{t}." for t in texts], options=options)
    assert result.data.decode() == "<p>Go.. 5! {x} ?</p>"


def test_as_many_outputs_as_inputs() -> None:
    """A model that gives another number of outputs is a mistake of the caller."""
    with pytest.raises(ValueError, match="1 texts need as many translations, not 0"):
        translate_document(opened("One", "a.txt"), lambda _: [])


def test_the_formats_are_a_family() -> None:
    """Each format is registered, with endings of its own."""
    from seqloom.documents import DOCUMENT_FORMATS

    opened("x", "a.txt")
    kinds = ["html", "markdown", "po", "srt", "text", "tmx", "vtt", "xliff"]
    assert sorted(DOCUMENT_FORMATS.kinds()) == kinds
    parts = [DOCUMENT_FORMATS.parts[kind] for kind in kinds]
    endings = [ending for part in parts for ending in part.endings]
    assert len(endings) == len(set(endings))
    assert all(issubclass(part, DocumentFormat) for part in parts)
