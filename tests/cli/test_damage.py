"""RELIABILITY B4: a run whose files were changed loads, or says in one sentence why it does not."""

import json
import random
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from seqloom.api.describe import describe
from seqloom.api.load import load
from seqloom.errors import RunError, SeqloomError
from seqloom.randomness import key
from tests.counts import count
from tests.runs.finished import make_run
from tests.runs.support import last

pytestmark = pytest.mark.faults
Mutation = Callable[[bytes, random.Random], bytes]
PIECES = [b"999999999999", b"-1", b"0", b"nan", b"true", b'""', b"[]", b"{}", b"=", b"\xff", b"\0"]


def flip(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def drop(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def double(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    place = chance.randrange(len(lines))
    return b"".join([*lines[:place], lines[place], *lines[place:]])


def insert(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + chance.choice(PIECES) + data[place:]


def renumber(data: bytes, chance: random.Random) -> bytes:
    """Another number in place of one that is there."""
    starts = [n for n, byte in enumerate(data) if chr(byte).isdigit()]
    place = chance.choice(starts)
    return data[:place] + chance.choice(PIECES) + data[place + 1 :]


MUTATIONS: list[Mutation] = [flip, cut, drop, double, insert, renumber]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("sound"))


def files(run: Path) -> list[Path]:
    step = last(run).path.relative_to(run)
    return [
        Path("config.toml"),
        Path("fields/source/field.json"),
        Path("fields/target/field.json"),
        step / "progress.json",
        step / "manifest.json",
    ]


@pytest.mark.parametrize("number", range(5))
def test_mutated_files(number: int, sound: Path, tmp_path: Path) -> None:
    """Every load is fine or a SeqloomError of one line."""
    run = shutil.copytree(sound, tmp_path / "run", ignore=shutil.ignore_patterns("cache"))
    path = files(sound)[number]
    whole = (run / path).read_bytes()
    chance = random.Random(key(0, "mutations", number))
    sentences: list[str] = []
    for _ in range(count(60, 600)):
        (run / path).write_bytes(chance.choice(MUTATIONS)(whole, chance))
        try:
            load(run)
        except SeqloomError as error:
            sentences.append(str(error))
    assert all(len(sentence.splitlines()) == 1 for sentence in sentences)
    assert sentences or path.name in ("progress.json", "manifest.json")  # another step will do
    (run / path).write_bytes(whole)
    load(run)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("inner = 16", "inner = 99999999999999"),
        ("layers = 1", "layers = 99999999"),
        ("size = 8000", "size = 9223372036854775807"),
    ],
)
def test_sizes_beyond_any_machine(old: str, new: str, sound: Path, tmp_path: Path) -> None:
    """A7: what config.toml describes is compared with what is saved before memory is taken."""
    run = shutil.copytree(sound, tmp_path / "run", ignore=shutil.ignore_patterns("cache"))
    config = run / "config.toml"
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))
    try:
        load(run)
    except SeqloomError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017


@pytest.mark.parametrize(
    "progress",
    [
        {},
        {"step": "x"},
        {"validations": [{"step": 1}]},
        {"validations": [{"step": 1, "loss": None, "chrf": 0, "bleu": 0, "exact": 0}] * 2},
        {"validations": 3},
        {"validations": [3]},
        {"surroundings": 3},
        {"unknown": 1},
    ],
)
def test_progress_that_says_something_else(
    progress: dict[str, object], sound: Path, tmp_path: Path
) -> None:
    """A7: a progress.json that the manifest vouches for is still checked for its types."""
    run = shutil.copytree(sound, tmp_path / "run", ignore=shutil.ignore_patterns("cache"))
    for step in run.glob("step-*"):
        values = json.loads((step / "progress.json").read_text())
        data = json.dumps({**values, **progress} if progress else {}).encode()
        (step / "progress.json").write_bytes(data)
        manifest = json.loads((step / "manifest.json").read_text())
        manifest["files"]["progress.json"] = {"size": len(data), "sha256": sha256(data).hexdigest()}
        text = json.dumps(manifest, indent=1) + "\n" * (
            (step / "manifest.json").read_bytes().endswith(b"\n")
        )
        (step / "manifest.json").write_text(text)
    with pytest.raises(RunError):
        describe(run)
