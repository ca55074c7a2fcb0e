"""A survey that is broken off goes on where it was, and finds what an unbroken one finds."""

import gzip
import os
import resource
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random

import numpy as np
import pytest

from seqloom import hashing
from seqloom.config import DataConfig
from seqloom.errors import DataError, Interrupted
from seqloom.readers import blocks
from seqloom.surveys import Survey, survey
from seqloom.surveys.findings import KeptFindings
from seqloom.surveys.log import BlockLog

CONFIG = DataConfig(skip_bad=True)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 700)
    monkeypatch.setattr(import_module("seqloom.surveys.survey"), "SAMPLE", 50)
    monkeypatch.setattr(hashing, "MOST_HASHES", 100)


@pytest.fixture
def shards(tmp_path: Path) -> str:
    """Two shards of some blocks each, one of them packed; some rows are not usable."""
    chance, words = Random(1), ["one", "two", "three", "vier", "fünf"]
    for number in range(2):
        lines = []
        for row in range(120):
            texts = (" ".join(chance.choices(words, k=chance.randrange(1, 9))) for _ in range(2))
            lines.append("\t".join(texts) if row % 50 != 49 else "no target")
        content = ("\n".join(lines) + "\n").encode()
        path = tmp_path / f"part-{number}.tsv{'.gz' * number}"
        path.write_bytes(gzip.compress(content) if number else content)
    return f"{tmp_path}/part-*"


def same(one: Survey, other: Survey) -> bool:
    names = ("facts", "report", "sample", "characters", "words", "halvings")
    hashes = ("row_hashes", "source_hashes", "input_hashes")
    return all(getattr(one, name) == getattr(other, name) for name in names) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in hashes
    )


def stop_after(most: int) -> Callable[[float], None]:
    """Ends a survey by a signal when so many blocks are done."""
    seen = 0

    def tell(share: float) -> None:
        nonlocal seen
        seen += 1
        if seen == most:
            raise Interrupted("stopped")

    return tell


def count_blocks(data: str, keep: Path | None = None) -> tuple[Survey, list[float]]:
    shares: list[float] = []
    return survey(data, CONFIG, seed=1, tell=shares.append, keep=keep), shares


def test_a_break_after_any_block_changes_nothing(shards: str, tmp_path: Path) -> None:
    """What is done is not done again; the shares that are told grow to the whole."""
    whole, shares = count_blocks(shards)
    assert whole.halvings > 0
    assert len(shares) > 8
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for most in range(1, len(shares) + 1):
        keep = tmp_path / f"survey-{most}"
        with pytest.raises(Interrupted):
            survey(shards, CONFIG, seed=1, tell=stop_after(most), keep=keep)
        again, rest = count_blocks(shards, keep)
        assert same(again, whole)
        assert rest == shares[most:]
        finished, nothing = count_blocks(shards, keep)
        assert same(finished, whole)
        assert nothing == []


def test_a_kill_at_any_byte_changes_nothing(shards: str, tmp_path: Path) -> None:
    """What was written in half is never used, nor is what was changed."""
    whole, shares = count_blocks(shards, tmp_path / "kept")
    size = (tmp_path / "kept").stat().st_size
    chance = Random(2)
    for cut in sorted(chance.sample(range(size), 25)):
        broken = Path(shutil.copy(tmp_path / "kept", tmp_path / "broken"))
        os.truncate(broken, cut)
        again, rest = count_blocks(shards, broken)
        assert same(again, whole)
        assert rest == shares[len(shares) - len(rest) :]
    for place in chance.sample(range(size), 25):
        content = bytearray((tmp_path / "kept").read_bytes())
        content[place] ^= 1 << chance.randrange(8)
        (tmp_path / "broken").write_bytes(content)
        assert same(count_blocks(shards, tmp_path / "broken")[0], whole)


def test_zeros_at_the_end_are_no_findings(shards: str, tmp_path: Path) -> None:
    """A file has them after a power cut, where its length was written and its content was not."""
    keep, sizes = tmp_path / "kept", []
    whole = survey(
        shards, CONFIG, seed=1, tell=lambda share: sizes.append(keep.stat().st_size), keep=keep
    )
    for done, size in enumerate(sizes, 1):
        for cut in (size, size - 5):
            broken = Path(shutil.copy(keep, tmp_path / "broken"))
            os.truncate(broken, cut)
            os.truncate(broken, sizes[-1] + 100)
            again, rest = count_blocks(shards, broken)
            assert same(again, whole)
            assert len(rest) == len(sizes) - done + (cut < size)


def test_a_killed_process_goes_on(shards: str, tmp_path: Path) -> None:
    """SIGKILL after each block, with no chance to tidy up."""
    whole, shares = count_blocks(shards)
    for most in range(1, len(shares), 3):
        child = os.fork()
        if not child:
            seen: list[float] = []

            def tell(share: float, seen: list[float] = seen, most: int = most) -> None:
                seen.append(share)
                if len(seen) == most:
                    os.kill(os.getpid(), 9)

            survey(shards, CONFIG, seed=1, tell=tell, keep=tmp_path / f"kept-{most}")
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 9
        again, rest = count_blocks(shards, tmp_path / f"kept-{most}")
        assert same(again, whole)
        assert rest == shares[most:]


def test_other_data_begin_anew(shards: str, tmp_path: Path) -> None:
    """Changed bytes, another seed and other options are noticed."""
    keep = tmp_path / "kept"
    _, shares = count_blocks(shards, keep)
    for config, seed in ((CONFIG, 2), (CONFIG.model_copy(update={"max_line": 999}), 1)):
        told: list[float] = []
        found = survey(shards, config, seed=seed, tell=told.append, keep=keep)
        assert same(found, survey(shards, config, seed=seed))
        assert told == shares
    count_blocks(shards, keep)
    first = tmp_path / "part-0.tsv"
    first.write_bytes(first.read_bytes().replace(b"one", b"uno"))
    found, told = count_blocks(shards, keep)
    assert same(found, count_blocks(shards)[0])
    assert len(told) == len(shares)


def test_an_error_keeps_nothing(shards: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected 2 columns"):
        survey(shards, DataConfig(), seed=1, keep=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_full_disk_leaves_no_file(tmp_path: Path) -> None:
    """What could not be written cannot be written when the file is closed either."""
    log, limits = BlockLog(tmp_path / "kept", "mark"), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        kept = KeptFindings(log)
        with pytest.raises(OSError, match="too large"):
            log.append(bytes(200))
        kept.forget()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "kept").exists()


def test_a_full_disk_is_no_reason_to_stop(
    shards: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The survey goes on, and keeps nothing."""

    append = BlockLog.append
    whole = survey(shards, CONFIG, seed=1)
    for most in (0, 3):
        entries: list[int] = []

        def refuse(
            self: BlockLog, entry: bytes, most: int = most, entries: list[int] = entries
        ) -> None:
            entries.append(len(entry))
            if len(entries) > most:
                raise OSError(28, "No space left on device")
            append(self, entry)

        with monkeypatch.context() as patch:
            patch.setattr(BlockLog, "append", refuse)
            assert same(survey(shards, CONFIG, seed=1, keep=tmp_path / "kept"), whole)
        assert same(survey(shards, CONFIG, seed=1, keep=tmp_path / "kept"), whole)
