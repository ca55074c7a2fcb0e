"""requirements.lock is what constraints.txt says, with hashes."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PIN = re.compile(r"^[\w.-]+==\S+", re.MULTILINE)


def test_every_version_is_that_of_the_constraints_and_has_hashes() -> None:
    """A lock that was not written again after a change would install other versions."""
    constraints = set(PIN.findall((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    entries = (
        (ROOT / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", "").split("\n")
    )
    locked = [entry for entry in entries if entry and not entry.startswith("#")]
    assert len(locked) > 100
    for entry in locked:
        version, *hashes = entry.split()
        assert version in constraints, f"{version}: run scripts/lock"
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes)
