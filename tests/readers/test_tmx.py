"""TMX files as rows: languages by name and position, markup left out, bombs refused."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig
from seqloom.data import Reason, Report, read_rows
from tests.data.support import Pairs, mutated, read, read_or_refused, sentence

FILE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header srclang="en-US" datatype="plaintext"/>
  <body>
    <tu tuid="1">
      <prop type="x">not a text</prop>
      <tuv xml:lang="en-US"><seg>Open <bpt i="1">&lt;b></bpt>the <hi>file</hi></seg></tuv>
      <tuv xml:lang="FR_fr"><seg>Ouvrir le fichier</seg></tuv>
    </tu>
    <tu><tuv xml:lang="en-US"><seg>alone</seg></tuv></tu>
    <tu>
      <tuv xml:lang="en-GB"><seg> R&amp;D </seg></tuv>
      <tuv xml:lang="en"><seg>research</seg></tuv>
      <tuv xml:lang="fr"><seg>recherche\u00a0!
      </seg></tuv>
    </tu>
  </body>
</tmx>
"""
letters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
texts = st.text(letters, min_size=1).map(str.strip).filter(bool)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "memory.tmx"
    file.write_text(FILE, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        (
            {"source": "en", "target": "fr"},
            [("Open the file", "Ouvrir le fichier"), ("research", "recherche\u00a0!")],
        ),
        ({"source": "EN-gb", "target": "fr"}, [("R&D", "recherche\u00a0!")]),
        ({}, [("Open the file", "Ouvrir le fichier")]),
        ({"source": "fr-FR", "target": "en"}, [("Ouvrir le fichier", "Open the file")]),
    ],
)
def test_languages_are_columns(path: Path, asked: dict[str, str], rows: Pairs) -> None:
    """By name whatever the case, or by the beginning of the name, the exact one first; positions
    are those of the first unit. Native markup is left out, and no-break spaces stay."""
    assert read(path, **asked) == rows


def test_units_without_a_language_are_passed_by_and_counted(path: Path) -> None:
    report = Report()
    rows = list(read_rows(path, DataConfig(source="en", target="fr"), report))
    assert [row.place.line for row in rows] == [6, 12]
    assert report.dropped[Reason.LANGUAGE].first.line == 11
    assert report.defect_count == 0
    assert sentence(path, source="en", target="de") == (
        f"{path}: there is no column 'de'; the columns are 'en-US', 'FR_fr', 'en-GB', 'en', 'fr'"
    )
    assert "none of its 3 rows can be used" in sentence(path, target="7")


@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_what_another_writer_wrote_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: Pairs
) -> None:
    """Units written by the standard library's ElementTree come back, whatever their characters."""
    root = ElementTree.Element("tmx", version="1.4")
    body = ElementTree.SubElement(root, "body")
    for row in rows:
        unit = ElementTree.SubElement(body, "tu")
        for language, text in zip(("de", "en"), row, strict=True):
            variant = ElementTree.SubElement(unit, "tuv", {"xml:lang": language})
            ElementTree.SubElement(variant, "seg").text = text
    path = tmp_path_factory.mktemp("tmx") / "a.tmx"
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    assert read(path, source="de", target="en") == [
        (source.strip(" \t\r\n"), target.strip(" \t\r\n")) for source, target in rows
    ]


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (FILE.replace('"tmx14.dtd"', f'"t" [<!ENTITY e0 "ha">{BOMB}]'), ":2: declares entities"),
        (FILE.replace('"tmx14.dtd"', '"t" [<!ENTITY x SYSTEM "/etc/hosts">]'), ":2: declares ent"),
        (FILE.replace('"tmx14.dtd"', '"t" [<!ENTITY % x SYSTEM "h"> %x;]'), ":2: declares enti"),
        (
            FILE[: FILE.index("recherche")],
            ":15: is not well-formed XML (no element found); write it again",
        ),
        (FILE.replace("</tu>", "</tv>", 1), ":10: is not well-formed XML (mismatched tag)"),
        (FILE.replace("UTF-8", "UTF-9", 1), ": cannot be decoded (unknown encoding: UTF-9); save"),
        ("<html/>", ": is XML and no TMX: it begins with <html>; name another"),
        ("Open\tOuvrir\n", ":1: is not well-formed XML (syntax error)"),
        ("", ": is empty"),
        (FILE.replace("alone", "&mdash;"), ":11: the entity &mdash; is not declared; write its te"),
        (FILE.replace(' xml:lang="fr"', ""), ":15: a variant has no xml:lang; say its language"),
        (FILE.encode("utf-16"), ": is UTF-16 text, not UTF-8; save it as UTF-8"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str | bytes, wrong: str) -> None:
    """The line and the cure, with no file but this one read (RELIABILITY A7, B1)."""
    path = tmp_path / "a.tmx"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert sentence(path).startswith(f"{path}{wrong}")


def test_bad_units_are_skipped_alone(path: Path) -> None:
    path.write_text(FILE.replace("alone", "&mdash;"))
    report = Report()
    config = DataConfig(source="en", target="fr", skip_bad=True)
    assert len(list(read_rows(path, config, report))) == 2
    assert report.dropped[Reason.VALUE].first.line == 11
    assert report.defect_count == 1


@given(data=st.data())
def test_mutated_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A few bytes out of place give rows or one sentence, never anything else (RELIABILITY B4)."""
    path = tmp_path_factory.mktemp("tmx") / "a.tmx"
    path.write_bytes(mutated(data, FILE))
    assert read_or_refused(path, source="en", target="fr")
