"""XLIFF, TMX and PO: which targets are filled, and that other programs read what was written."""

from io import BytesIO
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from babel.messages.pofile import read_po

from seqloom.documents import DocumentOptions
from tests.data.support import read
from tests.documents.generators import po, xliff1, xliff2
from tests.documents.support import opened, texts, written

REPLACE = DocumentOptions(replace=True)
XLIFF = """<xliff version="1.2"><file><body>
  <trans-unit id="a">
    <source>Hello <g id="1">you</g></source>
    <seg-source><mrk mtype="seg">Hello</mrk></seg-source>
    <alt-trans><source>Hi</source><target>Hallo</target></alt-trans>
  </trans-unit>
  <trans-unit id="b"><source>Bye</source><target state="new" /></trans-unit>
  <trans-unit id="c"><source>Done</source><target>Fertig</target></trans-unit>
  <group translate="no"><trans-unit id="d"><source>No</source></trans-unit></group>
</body></file></xliff>"""
PO = """msgid ""
msgstr ""
"Plural-Forms: nplurals=2; plural=n != 1;\\n"

#. Hint
#, c-format
#| msgid "older"
msgctxt "menu"
msgid "\\nOpen %s\\n"
msgstr ""

#, fuzzy
msgid "Close"
msgstr "Zu?"

msgid "one file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "gone"
#~ msgstr ""
"""


def test_xliff_1() -> None:
    """New targets stand where the schema has them, are marked for review, and keep the codes."""
    out = written(XLIFF, "page.xlf", lambda text: f"[{text}]")
    expected = XLIFF.replace(
        "</seg-source>\n",
        '</seg-source>\n    <target state="needs-review-translation">[Hello <g id="1">you</g>]'
        "</target>\n",
    ).replace('<target state="new" />', '<target state="new">[Bye]</target>')
    assert out == expected
    assert [s.name for s in opened(XLIFF, "page.xlf", REPLACE).segments] == ["a", "b", "c"]
    assert "<target>[Done]</target>" in written(XLIFF, "page.xlf", "[{}]".format, REPLACE)


def test_xliff_prefixes_and_spaces() -> None:
    """A prefix of the file's own is used for targets; spaces are kept where the file says so."""
    source = (
        '<x:xliff version="2.1" xmlns:x="urn:oasis:names:tc:xliff:document:2.0"><x:file id="f">'
        '<x:unit id="u" xml:space="preserve"><x:segment><x:source>a  b\n c</x:source></x:segment>'
        "</x:unit></x:file></x:xliff>"
    )
    assert texts(source, "page.xlf") == ["a  b\n c"]
    assert "<x:target>A  B\n C</x:target>" in written(source, "page.xlf", str.upper)


def test_cdata_stays_cdata() -> None:
    """A text in a CDATA section is written into one, and cannot end it."""
    source = (
        '<xliff version="1.2"><file><body><trans-unit id="1"><source><![CDATA[<p>Hi & you</p>]]>'
        "</source></trans-unit></body></file></xliff>"
    )
    assert texts(source, "page.xlf") == ["<p>Hi & you</p>"]
    out = written(source, "page.xlf", lambda _: "<p>x ]]> & y</p>")
    assert "<![CDATA[<p>x ]]]]><![CDATA[> & y</p>]]></target>" in out
    target = ElementTree.fromstring(out).find(".//target")
    assert target is not None
    assert target.text == "<p>x ]]> & y</p>"


@pytest.mark.parametrize("make", [xliff1, xliff2])
def test_another_parser_reads_the_targets(make: object) -> None:
    """ElementTree finds in each filled target the text and the codes of its source."""
    for seed in range(100):
        made_up = xliff1(Random(seed)) if make is xliff1 else xliff2(Random(seed))
        document = opened(made_up.data, made_up.name)
        root = ElementTree.fromstring(
            document.with_translations([s.text for s in document.segments])
        )
        filled = 0
        still = {each for no in root.iter() if no.get("translate") == "no" for each in no.iter()}
        for unit in root.iter():
            children = {child.tag.rpartition("}")[2]: child for child in unit}
            if {"source", "target"} <= children.keys() and unit not in still:
                before, after = children["source"], children["target"]
                said, source = ("".join(each.itertext()).split() for each in (after, before))
                assert said == source
                assert [each.tag for each in after] == [each.tag for each in before]
                filled += 1
        assert filled >= len(document.segments)


def test_tmx(tmp_path: Path) -> None:
    """Variants are added in the target language, as Seqloom's own reader of rows finds them."""
    source = (
        '<tmx version="1.4"><header srclang="en"/><body>\n'
        '<tu tuid="1">\n  <tuv xml:lang="en-GB"><seg>Hello &amp; <ph x="1"/>you</seg></tuv>'
        '\n</tu>\n<tu><tuv xml:lang="en"><seg>Bye</seg></tuv>'
        '<tuv xml:lang="de"><seg>Tschüss</seg></tuv></tu>\n</body></tmx>'
    )
    out = written(source, "memory.tmx", lambda text: text.replace("Hello", "Hallo"))
    added = '\n  <tuv xml:lang="de"><seg>Hallo &amp; <ph x="1"/>you</seg></tuv>\n</tu>'
    assert out == source.replace("\n</tu>", added)
    path = tmp_path / "memory.tmx"
    path.write_text(out, encoding="utf-8")
    assert read(path, source="en", target="de") == [
        ("Hello & you", "Hallo & you"),
        ("Bye", "Tschüss"),
    ]


def test_tmx_languages() -> None:
    """The options choose languages; a name with a quote in it stays inside its attribute."""
    source = (
        '<tmx><header srclang="*all*"/><body><tu><tuv xml:lang="fr"><seg>Oui</seg></tuv>'
        '<tuv xml:lang="en"><seg>Yes</seg></tuv></tu></body></tmx>'
    )
    options = DocumentOptions(source_language="en", target_language='d"e')
    out = written(source, "memory.tmx", lambda _: "Ja", options)
    assert '<tuv xml:lang="d&quot;e"><seg>Ja</seg></tuv></tu>' in out
    assert texts(source, "memory.tmx", options) == ["Yes"]


def test_po() -> None:
    """Entries without a translation are filled in and marked fuzzy, with the line ends around."""
    out = written(PO, "de.po", lambda text: f"«{text}»")
    expected = (
        PO.replace("#, c-format", "#, fuzzy, c-format")
        .replace('Open %s\\n"\nmsgstr ""', 'Open %s\\n"\nmsgstr ""\n"\\n"\n"«Open %s»\\n"')
        .replace('msgid "one', '#, fuzzy\nmsgid "one')
        .replace('msgstr[0] ""', 'msgstr[0] "«one file»"')
        .replace('msgstr[1] ""', 'msgstr[1] "«%d files»"')
    )
    assert out == expected
    assert [segment.name for segment in opened(PO, "de.po").segments] == ["menu", "", ""]
    every = opened(PO, "de.po", REPLACE).segments
    assert [segment.translation for segment in every] == [None, "Zu?", None, None]


def test_babel_reads_what_was_written() -> None:
    """Each entry of a filled file has, for babel, the text of its own as its translation."""
    for seed in range(100):
        made_up = po(Random(seed))
        document = opened(made_up.data, made_up.name)
        data = document.with_translations([s.text for s in document.segments])
        before, after = (
            read_po(BytesIO(each.removeprefix(b"\xef\xbb\xbf"))) for each in (made_up.data, data)
        )
        for message in before:
            if not message.id:
                continue
            now = after.get(message.id, message.context)
            assert now is not None
            if isinstance(message.id, str):
                assert now.string == (message.string or message.id)
            elif not any(message.string or ()):
                singular, plural = message.id
                assert now.string == (singular, plural, plural)
            assert now.fuzzy or message.string == now.string
