"""`seqloom predict` on a PO file: the file comes out with fuzzy suggestions (S8)."""

from pathlib import Path

import pytest
from babel.messages.pofile import read_po

import seqloom
from tests.cli.support import Command
from tests.runs.finished import make_run

FILE = """msgid ""
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


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


def test_a_po_file_comes_out_filled(command: Command, run: Path, tmp_path: Path) -> None:
    """Suggestions are the model's own outputs; what was translated stays, and is not fuzzy."""
    path = tmp_path / "a.po"
    path.write_text(FILE)
    result = command("predict", run, path, "--beam", 3)
    assert result.code == 0, result.err
    assert "2 entries filled in and marked fuzzy" in result.err
    found = {str(each.id): each for each in read_po(result.out.splitlines()) if each.id}
    search = seqloom.Beam(3)
    wanted = [each.text for each in seqloom.load(run).predict(["bfk", "cgl", "dhi"], search=search)]
    assert found["bfk"].string == wanted[0]
    assert found["('cgl', 'dhi')"].string == tuple(wanted[1:])
    assert [each.fuzzy for each in found.values()] == [False, True, True]
    assert result.out.startswith(FILE[: FILE.index('msgid "bfk"')])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("msgid aei\n", "a.po:1: is no line of a PO file"),
        (FILE.replace("bfk", "b\udcfffk"), "a.po:9: byte 9 of the line (0xFF) is not UTF-8"),
    ],
)
def test_what_cannot_be_read(
    command: Command, run: Path, tmp_path: Path, text: str, part: str
) -> None:
    path = tmp_path / "a.po"
    path.write_text(text, errors="surrogateescape")
    result = command("predict", run, path)
    assert result.code == 3
    assert part in result.sentence
    assert not result.out
    path.write_text(FILE)
    assert command("predict", run, path, "--json").code == 2
