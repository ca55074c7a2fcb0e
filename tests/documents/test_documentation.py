"""docs/documents.md: its examples print what it says, and its table lists the formats."""

import contextlib
import io
import re
import runpy
from pathlib import Path

from seqloom.documents import DOCUMENT_FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "documents.md").read_text(encoding="utf-8")


def test_the_examples_print_what_is_shown(tmp_path: Path) -> None:
    """Each program is followed by its output."""
    found = re.findall(r"```python\n(.*?)```(?:\n|This prints:)*```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == PAGE.count("```python") == 3
    for number, (code, expected) in enumerate(found):
        program = tmp_path / f"example_{number}.py"
        program.write_text(code, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            runpy.run_path(str(program))
        assert printed.getvalue() == expected


def test_the_table_lists_the_formats() -> None:
    """Every format and ending is in it, and no other."""
    table = PAGE.partition("## Formats")[2].partition("The ending")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    listed = [set(re.findall(r"`([^`]+)`", "".join(cells))) for cells in zip(*rows, strict=True)]
    DOCUMENT_FORMATS.parts["text"]
    endings = {e for kind in DOCUMENT_FORMATS.kinds() for e in DOCUMENT_FORMATS.parts[kind].endings}
    assert listed == [set(DOCUMENT_FORMATS.kinds()), endings]
