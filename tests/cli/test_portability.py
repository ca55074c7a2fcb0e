"""No call that only POSIX systems have stands in the way of the main path."""

import os
import subprocess
import sys
from pathlib import Path


def test_the_main_path_needs_nothing_of_posix_alone(tmp_path: Path) -> None:
    """Train, predict, evaluate, lock and serve, with what Windows lacks taken away; and no file is
    read or written in the encoding of the place, which there is not UTF-8."""
    script = Path(__file__).with_name("without_posix.py")
    words = [sys.executable, "-X", "warn_default_encoding", str(script), str(tmp_path)]
    ended = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "done"
    places = [line for line in ended.stderr.splitlines() if "EncodingWarning" in line]
    assert [place for place in places if "seqloom" in place] == []
