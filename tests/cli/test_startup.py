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


@pytest.mark.parametrize(
    "program", [f"import seqloom; {SHOW}", HELP], ids=["import seqloom", "seqloom --help"]
)
def test_nothing_heavy_is_imported(program: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1] == "[]"


def test_public_names_are_exact() -> None:
    """What is listed can be had, and nothing else that is public lies about."""
    assert seqloom.__all__ == sorted(seqloom.__all__)
    for name in seqloom.__all__:
        assert getattr(seqloom, name).__name__ == name
    assert set(dir(seqloom)) == {*seqloom.__all__, "__version__"}
    assert set(seqloom._HOMES) == set(seqloom.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Bean'"):
        seqloom.Bean  # noqa: B018
