"""`seqloom predict` on documents: the document comes out with its texts translated (S8)."""

import gzip
import json
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

import seqloom
from seqloom.documents import DocumentOptions
from tests.cli.support import Command
from tests.runs.finished import make_run

PO = """msgid ""
msgstr ""
"Plural-Forms: nplurals=2; plural=n != 1;\\n"

# kept
msgid "aei"
msgstr "as it was"

msgid "bfk"
msgstr ""

msgid "cgl"
msgid_plural "dhi"
msgstr[0] ""
msgstr[1] ""
"""
PAGE = '<h1 id=x>aei</h1>\r\n<p>bfk  <a href="/y">cgl</a> {name}\n</p><script>aei</script>\r\n'
SEGMENT = 'bfk <a href="/y">cgl</a> {name}'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


def outputs(run: Path, texts: list[str]) -> list[str]:
    """What the model itself says."""
    return [each.text for each in seqloom.load(run).predict(texts, search=seqloom.Beam(3))]


def test_a_po_file_comes_out_filled(command: Command, run: Path, tmp_path: Path) -> None:
    """Suggestions are the model's own outputs; what was translated stays, and is not fuzzy."""
    path = tmp_path / "a.po.gz"
    path.write_bytes(gzip.compress(PO.encode()))
    result = command("predict", run, path, "--beam", 3)
    assert result.code == 0, result.err
    assert "texts translated: 3" in result.err
    found = {str(each.id): each for each in read_po(result.out.splitlines()) if each.id}
    wanted = outputs(run, ["bfk", "cgl", "dhi"])
    assert found["bfk"].string == wanted[0]
    assert found["('cgl', 'dhi')"].string == tuple(wanted[1:])
    assert [each.fuzzy for each in found.values()] == [False, True, True]
    assert result.out.startswith(PO[: PO.index('msgid "bfk"')])


def test_a_page_keeps_its_markup(command: Command, run: Path, tmp_path: Path) -> None:
    """Tags, placeholders, scripts and line endings stay; a model that has never seen a stand-in
    translates the parts between them. Python gives the same bytes."""
    path = tmp_path / "a.html"
    path.write_bytes(PAGE.encode())
    result = command("predict", run, path, "--beam", 3)
    assert result.code == 0, result.err
    first, second, third = outputs(run, ["aei", "bfk", "cgl"])
    inner = f'<p>{second} <a href="/y">{third}</a> {{name}}\n</p>'
    expected = PAGE.replace(PAGE[PAGE.index("<p>") : PAGE.index("<script>")], inner)
    expected = expected.replace("<h1 id=x>aei", f"<h1 id=x>{first}")
    assert result.out == expected
    assert "texts translated: 2, 1 of them in parts" in result.err
    model = seqloom.load(run)
    assert seqloom.predict_document(
        model,
        PAGE,
        request=seqloom.DocumentRequest(DocumentOptions("html")),
        ask=lambda texts: model.stream_cells(texts, search=seqloom.Beam(3)),
    ).data.decode() == (expected)


def test_what_is_lost_is_said(command: Command, run: Path, tmp_path: Path) -> None:
    """Without parts a dropped tag is named with its place, in JSON and on standard error."""
    path = tmp_path / "a.htm"
    path.write_bytes(PAGE.encode())
    result = command("predict", run, path, "--json", "--allow-loss")
    _, second = map(json.loads, result.out.splitlines())
    assert second["source"] == SEGMENT
    assert second["lost"] == ['<a href="/y">', "</a>", "{name}"]
    assert f"{path}:2: '{{name}}' was lost" in result.err


def test_lines_and_paragraphs(command: Command, run: Path, tmp_path: Path) -> None:
    """A text file is read by lines unless it is said to be a document; words in a list stay."""
    path, words = tmp_path / "a.txt", tmp_path / "words"
    path.write_text("aei\nbfk\n\n  cgl\n")
    words.write_text("cgl\n")
    assert command("predict", run, path).out.count("\n") == 4
    document = command("predict", run, path, "--document", "text", "--protect", words).out
    assert document.endswith("\n\n  cgl\n")
    stdin = command("predict", run, "--document", "text", "--protect", words, stdin=b"cgl\n")
    assert stdin.out == "cgl\n"
    refused = command("predict", run, path, "--protect", words)
    assert refused.code == 2
    assert "--protect is for documents" in refused.sentence


MALFORMED = [
    ("a.po", b"msgid aei\n", "a.po:1: is no line of a PO file"),
    ("a.po", b'msgid "\xff"\n', "a.po:1: byte 0xFF cannot be read as utf-8; save the file"),
    ("a.xlf", b"<xliff>\n<file>", "a.xlf:"),
    ("a.srt", b"1\nHello\n", "a.srt:2: expected times"),
    ("a.html.gz", b"\x1f\x8b\x08broken", "a.html.gz: cannot be read"),
]


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case[2])
def test_what_cannot_be_read(
    command: Command, run: Path, tmp_path: Path, case: tuple[str, bytes, str]
) -> None:
    """One sentence with the place, exit code 3, and nothing is written."""
    name, data, part = case
    path = tmp_path / name
    path.write_bytes(data)
    result = command("predict", run, path)
    assert result.code == 3
    assert part in result.sentence
    assert not result.out


def test_a_glossary(command: Command, run: Path, tmp_path: Path) -> None:
    """Terms are in the outputs of lines and documents, and in the report of an evaluation."""
    terms, path, rows = tmp_path / "terms.tsv", tmp_path / "a.md", tmp_path / "rows.tsv"
    path.write_text("# aei\n")
    (plain,) = outputs(run, ["aei"])
    word = plain[::-1] + plain[:1]
    terms.write_text(f"aei\t{word}\n")
    result = command("predict", run, path, "--glossary", terms, "--beam", 5)
    assert word.lower() in result.out.lower(), result.err
    assert "terms of the glossary that came out: " in result.err
    assert " of 1 (" in result.err
    lines = command("predict", run, "--glossary", terms, stdin=b"aei\nbfk\naei\n")
    assert " of 2 (" in lines.err
    rows.write_text(f"aei\t{plain}\nbfk\tx\n")
    told = json.loads(command("evaluate", run, rows, "--glossary", terms, "--json").out)
    assert told["glossary"]["rows_with_terms"] == 1
    assert told["glossary"]["without"]["terms"] == 1
    terms.write_text("aei\tx\n\nbfk\t |\n")
    refused = command("predict", run, path, "--glossary", terms)
    assert refused.code == 3
    assert "terms.tsv:3: the translation is empty" in refused.sentence
