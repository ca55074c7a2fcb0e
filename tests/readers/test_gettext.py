"""PO files as rows: entries, plural forms, and what is passed by."""

import gzip
import io
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig
from seqloom.data import Reason, Report, read_rows
from tests.data.support import mutated, read, read_or_refused, sentence

HEADER = """# Some translations.
msgid ""
msgstr ""
"PO-Revision-Date: 2012-01-01 00:00:00+0000\\n"
"Language: no such language\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=3; plural=n%10==1 ? 0 : n%10<5 ? 1 : 2;\\n"
"""
FILE = f"""{HEADER}
#: main.c:7
msgid   "Open"
msgstr "Otwórz"

#, fuzzy
msgid "Close"
msgstr "Zamknij?"

#. A hint.
#, c-format
msgctxt "menu"
msgid ""
"Save %s\\n"
msgstr ""

#| msgid "a file"
msgid "one file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

msgctxt "time"
msgid "%d day"
msgid_plural "%d days"
msgstr[0] "%d dzień"
msgstr[1] "%d dni"
msgstr[2] "%d dni"

#~| msgid "older"
#~ msgid "gone"
#~ msgstr "minęło"
"""
ROWS = [("Open", "Otwórz"), ("%d day", "%d dzień"), ("%d days", "%d dni"), ("%d days", "%d dni")]
letters = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])
texts = st.text(letters, min_size=1).filter(lambda text: not text.isspace())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "pl.po"
    file.write_text(FILE, encoding="utf-8")
    return file


def test_translated_entries_are_rows_and_the_others_are_counted(path: Path) -> None:
    """The singular goes with the first form, the plural with the others; a strict reading passes
    fuzzy, obsolete and untranslated entries by, with their lines."""
    report = Report()
    rows = list(read_rows(path, DataConfig(), report))
    assert [row[:2] for row in rows] == ROWS
    assert [row.place.line for row in rows] == [10, 32, 32, 32]
    assert {reason: (each.count, each.first.line) for reason, each in report.dropped.items()} == {
        Reason.FUZZY: (1, 14),
        Reason.UNTRANSLATED: (4, 20),
        Reason.OBSOLETE: (1, 39),
    }
    assert report.defect_count == 0
    packed = path.with_suffix(".po.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed) == ROWS


def test_columns_go_by_their_names(path: Path) -> None:
    assert read(path, source="msgstr", target="msgid")[0] == ("Otwórz", "Open")
    assert read(path, source="msgctxt", target="msgstr", skip_bad=True)[0] == ("time", "%d dzień")
    assert "no column 'msgst'; did you mean 'msgstr'?" in sentence(path, target="msgst")


def test_one_form_serves_both_numbers(tmp_path: Path) -> None:
    """A language without plurals has one form for the singular and the plural."""
    path = tmp_path / "ja.po"
    plural = 'msgid "file"\nmsgid_plural "files"\nmsgstr[0] "ファイル"\n'
    path.write_text(f"{HEADER.replace('nplurals=3', 'nplurals=1')}\n{plural}")
    assert read(path) == [("file", "ファイル"), ("files", "ファイル")]


@given(entries=st.dictionaries(texts, texts, min_size=1, max_size=6))
def test_what_babel_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, str]
) -> None:
    """Quotes, backslashes and wrapped lines come back as they were."""
    catalog = Catalog(charset="utf-8")
    for source, target in entries.items():
        catalog.add(source, target)
    stream = io.BytesIO()
    write_po(stream, catalog, width=20)
    path = tmp_path_factory.mktemp("po") / "a.po"
    path.write_bytes(stream.getvalue())
    assert sorted(read(path)) == sorted(entries.items())


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("msgid Open\nmsgstr Otwórz\n", ':9: is no line of a PO file, such as msgid "text"; mend'),
        ('msgid "Op"en"\nmsgstr "x"\n', ":9: is no line of a PO file"),
        ('msgid "a"\n\nmsgid "b"\nmsgstr "c"\n', ":9: missing msgstr for msgid 'a'; mend it"),
        (
            'msgid "a\\n"\n"b"\n\nmsgid "c"\nmsgstr "d"\n',
            ":9: missing msgstr for msgid 'a\\nb'; mend",
        ),
        ('msgid "a"\nmsgstr "b"\nmsgid_plurl "c"\n', ":11: is no line of a PO file"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[4] "c"\n', ":9: msg has more translations than"),
        ('msgid "a"\nmsgstr "b \0"\n', ":10: byte 11 of the line is NUL"),
        (
            'msgid ""\n""\nmsgstr ""\n"Plural-For"\n"ms: nplurals=999999999999;"\n',
            ":11: no language has 999999999 plural forms; mend the header",
        ),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, wrong: str) -> None:
    """The line and the cure; what is wrong with the whole file is so however lenient one is."""
    path = tmp_path / "a.po"
    path.write_text(f"{HEADER}\n{text}")
    assert sentence(path).startswith(f"{path}{wrong}")


def test_an_entry_with_a_bad_byte_is_skipped_alone(path: Path) -> None:
    """Its neighbours stay, and a comment that is not UTF-8 costs nothing (RELIABILITY B1)."""
    raw = path.read_bytes().replace("dzień".encode(), b"dzie\xf1").replace(b"A hint", b"\xff")
    path.write_bytes(raw.replace(b'"Close"', b'"Clo\xffse"'))
    report = Report()
    rows = list(read_rows(path, DataConfig(skip_bad=True), report))
    assert [row[:2] for row in rows] == ROWS[:1]
    assert report.dropped[Reason.ENCODING].count == 2
    assert sentence(path).startswith(f"{path}:14: byte 11 of the line (0xFF) is not UTF-8")


@given(data=st.data())
def test_mutated_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A few bytes out of place give rows or one sentence, never anything else (RELIABILITY B4)."""
    path = tmp_path_factory.mktemp("po") / "a.po"
    path.write_bytes(mutated(data, FILE))
    assert read_or_refused(path)
