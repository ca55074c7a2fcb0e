"""Documents that cannot be read: one sentence with the place and the cure, or the same bytes."""

import re
from random import Random

import pytest

from seqloom.documents import DocumentOptions
from seqloom.errors import ConfigError, DataError
from tests.documents.generators import BILINGUAL, IN_PLACE
from tests.documents.support import opened

CUE = "1\n00:00:01,000 --> 00:00:02,000\nHi\n\n"
HEAD = 'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=3; plural=0;\\n"\n\n'
XLIFF = '<xliff version="1.2"><file><body>'


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"ok\nnot \xff ok", "a.txt", "a.txt:2: byte 0xFF cannot be read as utf-8; save the file"),
        (b"\xff\xfea", "a.txt", "a.txt:1: byte 0x61 cannot be read as utf-16-le"),
        (b"<meta charset=nonsense>", "a.html", "a.html: the encoding 'nonsense' is unknown"),
        (b"<meta charset=utf-7><p>a</p>+AGE-", "a.html", "stores the same text in several ways"),
        (b"<meta charset=rot13>", "a.html", "a.html: the encoding 'rot13' is unknown"),
        (CUE + "2\nHi\n", "a.srt", "a.srt:6: expected times such as 00:00:01,000 --> "),
        (CUE + "2\n", "a.srt", "a.srt:5: expected times such as"),
        ("Hi\n", "a.vtt", "a.vtt:1: expected WEBVTT, found 'Hi'; write it as line 1"),
        ("", "a.vtt", "a.vtt:1: expected WEBVTT, found ''"),
        ("WEBVTT\n\nid\nHi\n", "a.vtt", "a.vtt:4: expected times such as 00:01.000 --> "),
        ("WEBVTT\n\n00:01,000 --> 00:02,000\nHi", "a.vtt", "a.vtt:3: expected times"),
        ('msgid "a"\nmsgstr "b\n', "a.po", 'a.po:2: is no line of a PO file, such as msgid "text"'),
        ('msgid "a"\n\nmsgid "b"\nmsgstr ""', "a.po", "a.po:1: the entry has no msgstr; add"),
        ('"a"\n', "a.po", "a.po:1: a text has no keyword such as msgid before it"),
        ('msgstr "a"\n', "a.po", "a.po:1: msgstr cannot stand before msgid"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"', "a.po", "a.po:3: msgstr cannot stand after msgstr"),
        ('msgid "a"\nmsgstr[0] "b"', "a.po", "a.po:2: msgstr[0] cannot stand after msgid"),
        (HEAD + 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n', "a.po", "has 1 of 3 plural forms"),
        (HEAD + 'msgid "a"\nmsgid_plural "b"\nmsgstr[1] ""\n', "a.po", "msgstr[1] cannot stand"),
        ("<xliff>\n<a></xliff>", "a.xlf", "a.xlf:2: is not well-formed XML (mismatched tag)"),
        ("", "a.xlf", "a.xlf:1: is not well-formed XML (no element found)"),
        ("<html/>", "a.xlf", 'a.xlf:1: expected <xliff version="1.2"> or 2.x, found \'<html/>\''),
        ('<xliff version="3.0"/>', "a.xlf", "export it as XLIFF 1.2, 2.0 or 2.1"),
        (XLIFF + '\n<trans-unit id="1"/></body></file></xliff>', "a.xlf", "a.xlf:2: <trans-unit>"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;</a>', "a.tmx", "declares entities, which are ref"),
        ("<a/>", "a.tmx", "a.tmx:1: expected <tmx>, found '<a/>'"),
        ("<tmx><body>\n<tu><tuv><seg/></tuv></tu></body></tmx>", "a.tmx", "a.tmx:2: a variant has"),
        ('<?xml version="1.0" encoding="ascii"?><tmx>é</tmx>', "a.tmx", "a.tmx:1: byte 0xC3 can"),
    ],
)  # fmt: skip
def test_one_sentence(data: str | bytes, name: str, message: str) -> None:
    """The message starts with the place, ends with a cure and is one line."""
    with pytest.raises(DataError) as caught:
        opened(data, name)
    said = str(caught.value)
    assert message in said
    assert re.match(r"a\.\w+(:\d+)?: ", said)
    assert ";" in said
    assert "\n" not in said


def test_wrong_choices() -> None:
    """A format or language that cannot be chosen for the user is asked for by name."""
    with pytest.raises(ConfigError, match=r"letter\.docx: no document format has this ending"):
        opened("x", "letter.docx")
    with pytest.raises(
        ConfigError, match="no document format is called 'htm'; did you mean 'html'"
    ):
        opened("x", "x", DocumentOptions(format="htm"))
    unit = '<tu><tuv xml:lang="en"><seg>a</seg></tuv></tu>'
    with pytest.raises(ConfigError, match="choose the language to translate into"):
        opened(f"<tmx><body>{unit}</body></tmx>", "a.tmx")
    options = DocumentOptions(source_language="fr", target_language="de")
    with pytest.raises(DataError, match="no unit has a variant in fr, only in en"):
        opened(f"<tmx><body>{unit}</body></tmx>", "a.tmx", options)


def test_what_the_encoding_lacks() -> None:
    """A format without references says which character cannot be written."""
    document = opened("Straße".encode("latin-1"), "a.txt", DocumentOptions(encoding="latin-1"))
    with pytest.raises(DataError, match=r"a\.txt: the translation has '語' \(U\+8A9E\)"):
        document.with_translations(["語"])


def test_as_many_translations_as_segments() -> None:
    """A list of another length is a mistake of the caller."""
    with pytest.raises(ValueError, match="1 segments need as many, not 2"):
        opened("One", "a.txt").with_translations(["a", "b"])


@pytest.mark.parametrize("kind", [*IN_PLACE, *BILINGUAL])
def test_damage_is_refused_or_harmless(kind: str) -> None:
    """Of a damaged file either one sentence is said, or the identity gives it back."""
    refused = kept = 0
    for seed in range(300):
        random = Random(f"{kind} {seed}")
        made_up = (IN_PLACE | BILINGUAL)[kind](random)
        data = bytearray(made_up.data)
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(data) + 1)
            junk = random.choice(
                [b"<", b">", b"&", b"\n\n", b'"', b"\\", b"[", b"`", b"\xff", b"\0"]
            )
            data[at : at + random.randint(0, 3)] = junk
        try:
            document = opened(bytes(data), made_up.name, DocumentOptions(replace=True))
        except (DataError, ConfigError):
            refused += 1
        else:
            same = [s.translation or "" if kind in BILINGUAL else s.text for s in document.segments]
            assert document.with_translations(same) == data
            kept += 1
    assert kept > 5
    assert refused > 5
