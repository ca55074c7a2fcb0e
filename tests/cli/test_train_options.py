"""What `seqloom train` is told besides its data: weights, another run to begin from."""

from pathlib import Path

import pytest
import tomli_w

from seqloom.runs.progress import Origin, Progress
from tests.cli.support import Command
from tests.runs.support import PAIRS, last, options, write_pairs


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(tomli_w.dumps(options(updates=2)))
    return path


def test_weights(command: Command, tiny: Path, tmp_path: Path) -> None:
    """A column by name; held-out data and data to score need none."""
    data = tmp_path / "rows.tsv"
    rows = [f"{source}\t{target}\t{n % 3}\n" for n, (source, target) in enumerate(PAIRS)]
    data.write_text("source\ttarget\thow\n" + "".join(rows))
    valid = write_pairs(tmp_path / "valid.tsv", PAIRS[:8])
    train = ("train", data, "--run", tmp_path / "run", "--config", tiny)
    assert command(*train, "--valid", valid, "--weight", "how").code == 0
    assert command("score", tmp_path / "run", valid).code == 0
    assert command("check", data, "--weight", "how", "--config", tiny).code == 2
    refused = command(*train[:3], tmp_path / "other", "--weight", "who")
    assert refused.code == 3
    assert "there is no column 'who'; did you mean 'how'?" in refused.sentence


def test_beginning_from_another_run(command: Command, tiny: Path, tmp_path: Path) -> None:
    """The same command goes on; the console and `describe` say where it began."""
    data = write_pairs(tmp_path / "pairs.tsv")
    old, new = tmp_path / "old", tmp_path / "new"
    assert command("train", data, "--run", old, "--config", tiny).code == 0
    few = ("--set", "training.updates=3", "--set", "training.curves=false")
    again = ("train", data, "--run", new, "--from", old, *few, "--set", "training.freeze=encoder")
    assert f"begins from {old}, step 2" in command(*again).err
    assert command(*again).code == 0
    assert Progress.from_dict(last(new).progress()).origin == Origin(str(old), 2)
    assert f"begun from {old}, step 2" in command("describe", new).out
    wrong = command("train", data, "--run", tmp_path / "x", "--from", tmp_path / "none")
    assert wrong.code == 4
    assert "no run is here" in wrong.sentence


def test_what_this_machine_cannot_do(command: Command, tiny: Path, tmp_path: Path) -> None:
    """Said before any data is read: an update rule that is none, a part that is none."""
    for setting, part in (
        ("training.optimizer=rmsprop", "training.optimizer.kind is 'rmsprop'; it may be 'adamw'"),
        (
            "training.freeze=output",
            "training.freeze.0 = 'output': input should be 'front', 'encoder', ",
        ),
    ):
        missing = ("train", tmp_path / "none.tsv", "--run", tmp_path / "run", "--config", tiny)
        result = command(*missing, "--set", setting)
        assert result.code == 2
        assert part in result.sentence
