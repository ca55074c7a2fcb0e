"""What starting costs: nothing heavy is imported before it is needed."""

import subprocess
import sys

import pytest

import seqloom

HEAVY = ("torch", "numpy", "pyarrow", "sentencepiece", "sacrebleu", "matplotlib", "pydantic")
SHOW = f"import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
HELP = f"""
import sys
sys.argv = ["seqloom", "--help"]
from seqloom.cli.app import main
try:
    main()
except SystemExit as ending:
    assert not ending.code
{SHOW}
"""

EVERY_HELP = f"""
import sys
from contextlib import redirect_stdout
from io import StringIO
from seqloom.cli.app import app, main
from typer.main import get_command
for name in list(get_command(app).commands):
    sys.argv = ["seqloom", name, "--help"]
    try:
        with redirect_stdout(StringIO()) as shown:
            main()
    except SystemExit as ending:
        assert not ending.code
    assert "--help" in shown.getvalue()
    print(name, *(each for each in {HEAVY!r} if each in sys.modules and each != "pydantic"))
"""


@pytest.mark.parametrize(
    "program", [f"import seqloom; {SHOW}", HELP], ids=["import seqloom", "seqloom --help"]
)
def test_nothing_heavy_is_imported(program: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1] == "[]"


def test_the_help_of_a_command_loads_nothing_heavy() -> None:
    """Searches and formats are listed by their declarations, without what implements them."""
    ended = subprocess.run(
        [sys.executable, "-c", EVERY_HELP], capture_output=True, text=True, check=True
    )
    lines = ended.stdout.splitlines()
    assert {"predict", "evaluate", "distill", "export"} <= set(lines)
    assert [line for line in lines if " " in line] == []


def test_public_names_are_exact() -> None:
    """What is listed can be had, and nothing else that is public lies about."""
    assert seqloom.__all__ == sorted(seqloom.__all__)
    for name in seqloom.__all__:
        assert getattr(seqloom, name).__name__ == name
    assert set(dir(seqloom)) == {*seqloom.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'Bean'"):
        getattr(seqloom, "Bean")  # noqa: B009
