"""What comes back is what went in: byte for byte where nothing changes, and as said elsewhere."""

import re
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from seqloom.documents import (
    Document,
    DocumentOptions,
    Segment,
    open_document,
    translate_document,
)
from tests.documents.generators import BILINGUAL, IN_PLACE, MadeUp

COUNT = 200
OTHER_CASE = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM",
)

each_format = pytest.mark.parametrize("kind", [*IN_PLACE, *BILINGUAL])
in_place = pytest.mark.parametrize("kind", IN_PLACE)
bilingual = pytest.mark.parametrize("kind", BILINGUAL)


def documents(kind: str) -> Iterator[MadeUp]:
    """So many documents of a format."""
    make = (IN_PLACE | BILINGUAL)[kind]
    return (make(Random(f"{kind} {seed}")) for seed in range(COUNT))


def opened(made_up: MadeUp, *, replace: bool = False) -> Document:
    """A document of the generator."""
    return open_document(made_up.data, made_up.name, options=DocumentOptions(replace=replace))


def texts(document: Document) -> list[str]:
    """The texts of its segments."""
    return [segment.text for segment in document.segments]


def with_other_letters(segment: Segment) -> str:
    """A text with each Latin letter another one, but for its codes."""
    if not segment.codes:
        return segment.text.translate(OTHER_CASE)
    pattern = "|".join(map(re.escape, sorted(set(segment.codes), key=len, reverse=True)))
    pieces = re.split(f"({pattern})", segment.text)
    return "".join(
        piece if number % 2 else piece.translate(OTHER_CASE) for number, piece in enumerate(pieces)
    )


@in_place
def test_the_identity_gives_back_the_same_bytes(kind: str) -> None:
    """A translation that changes nothing changes nothing."""
    count = 0
    for made_up in documents(kind):
        document = opened(made_up)
        assert document.with_translations(texts(document)) == made_up.data
        count += len(document.segments)
    assert count > COUNT  # there was something to change


@bilingual
def test_targets_that_are_repeated_give_back_the_same_bytes(kind: str) -> None:
    """A unit whose translation is what it has, and one whose translation is blank, stay."""
    translated = 0
    for made_up in documents(kind):
        document = opened(made_up, replace=True)
        same = [segment.translation or "" for segment in document.segments]
        assert document.with_translations(same) == made_up.data
        translated += len([each for each in same if each])
    assert translated > 50


@bilingual
def test_the_identity_twice_gives_back_the_same_bytes(kind: str) -> None:
    """Once filled in with their own texts, files are the same after the identity, and complete."""
    filled = 0
    for made_up in documents(kind):
        document = opened(made_up)
        once = document.with_translations(texts(document))
        filled += once != made_up.data
        again = opened(MadeUp(once, made_up.name))
        assert again.segments == []
        every = opened(MadeUp(once, made_up.name), replace=True)
        mine = {segment.translation for segment in every.segments}
        assert {segment.text for segment in document.segments} <= mine
        assert every.with_translations([s.translation or "" for s in every.segments]) == once
    assert filled > 100


@bilingual
def test_filling_in_keeps_every_character_around(kind: str) -> None:
    """Nothing is taken away but the empty targets that are filled."""
    for made_up in documents(kind):
        document = opened(made_up)
        outside = without_targets(document.source.text, kind)
        data = document.with_translations(texts(document))
        once = opened(MadeUp(data, made_up.name))
        assert without_targets(once.source.text, kind) == outside


def without_targets(text: str, kind: str) -> str:
    """A file without any target, nor what goes with one."""
    if kind == "po":
        text = re.sub(r"(?m)^#, fuzzy\r?\n", "", text).replace(" fuzzy,", "")
        return re.sub(r'(msgstr(?:\[\d\])?) "[^\n]*(?:\r?\n"[^\n]*)*', r"\1", text)
    if kind == "tmx":
        return re.sub(r'(?s)\s*<tuv (?:xml:)?lang="de-AT">.*?</tuv>', "", text)
    alternatives = re.sub(r"(?s)<alt-trans>.*?</alt-trans>", "", text)
    return re.sub(r"(?s)\s*<target[^>]*?/>|\s*<target[^>]*?(?<!/)>.*?</target>", "", alternatives)


@each_format
def test_a_translation_is_read_as_it_was_given(kind: str) -> None:
    """What is written into a document is what is read from it, and its segments stay the same."""
    for made_up in documents(kind):
        document = opened(made_up, replace=True)
        said = [with_other_letters(segment) for segment in document.segments]
        written = opened(MadeUp(document.with_translations(said), made_up.name), replace=True)
        if kind in IN_PLACE:
            assert comparable(document, texts(written)) == comparable(document, said)
        else:
            assert texts(written) == texts(document)
            assert [segment.translation for segment in written.segments] == said


def comparable(document: Document, said: Sequence[str]) -> list[str]:
    """Texts without what people read in their tags, a segment of its own, and those left out that
    have `&lt;` as a code, which only a text with a tag that reads like it needs."""
    return [
        re.sub(r'(title|alt)="[^"]*"', "", text)
        for segment, text in zip(document.segments, said, strict=True)
        if not any(code.startswith("&") for code in segment.codes)
    ]


def unchanged(inputs: Sequence[str]) -> Sequence[str]:
    """The identity model."""
    return inputs


@each_format
def test_the_identity_model_changes_nothing(kind: str) -> None:
    """Through protection and sentences and back, each segment is the same and nothing is lost."""
    for made_up in documents(kind):
        document = opened(made_up)
        result = translate_document(document, unchanged)
        assert result.lost == []
        assert result.data == document.with_translations(texts(document))


@pytest.mark.parametrize("kind", ["html", "vtt", "xliff 1.2", "xliff 2", "tmx"])
def test_markup_in_a_translation_is_text(kind: str) -> None:
    """A translation cannot add tags, references or sections: what it says is what is read."""
    hostile = "a < b && c > d &amp; <script>x</script> ]]> \"q\" 'r' <!-- s --> &copy; z"
    for made_up in documents(kind):
        document = opened(made_up, replace=True)
        said = [" ".join([hostile, *(f"{code} z" for code in s.codes)]) for s in document.segments]
        written = opened(MadeUp(document.with_translations(said), made_up.name), replace=True)
        found = [s.text if kind in IN_PLACE else s.translation or "" for s in written.segments]
        assert comparable(document, found) == comparable(document, said)


@each_format
def test_whatever_comes_back_the_document_can_be_read(kind: str) -> None:
    """Codes that are lost, doubled or in another order leave a document with as many segments."""
    for seed, made_up in enumerate(documents(kind)):
        random = Random(seed)
        document = opened(made_up, replace=True)
        said = []
        for segment in document.segments:
            codes = random.choices(segment.codes, k=len(segment.codes)) if segment.codes else []
            pieces = [*codes, *random.choices(["eins", "zwei", "drei"], k=2)]
            random.shuffle(pieces)
            said.append(" ".join(pieces))
        written = document.with_translations(said)
        if kind in IN_PLACE and kind != "markdown":
            opened(MadeUp(written, made_up.name))
        elif kind in BILINGUAL:
            again = opened(MadeUp(written, made_up.name), replace=True)
            assert texts(again) == texts(document)
