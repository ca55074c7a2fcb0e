"""A corpus gives back the rows it was built of, and is used again only for the same rows."""

import errno
import gzip
import json
import os
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from seqloom.config import DataConfig, PictureConfig, TextConfig
from seqloom.data import (
    Columns,
    Corpus,
    Data,
    FileLocation,
    Reason,
    Report,
    Row,
    fingerprint,
    read_rows,
)
from seqloom.data.blocks import checksums
from seqloom.errors import DataError, RunError
from seqloom.fields import EMPTY, END, PictureField, TextField
from seqloom.fields import file_fields as named
from seqloom.randomness import key
from tests.counts import count

Pairs = list[tuple[str, str]]
words = st.text("abc é", min_size=1, max_size=12).filter(str.strip)
pair_lists = st.lists(st.tuples(words, words), min_size=1, max_size=20)


def columns(**options: object) -> Columns:
    """Characters on both sides, which need no learning to speak of."""
    field = TextField.learn(TextConfig(unit="character"), ["abc éxyz"], seed=1)
    return Columns(field, field, DataConfig.model_validate(options))


def rows_of(pairs: Pairs) -> list[Row]:
    return [Row(*pair, FileLocation("pairs.tsv", number)) for number, pair in enumerate(pairs, 1)]


def build(
    rows: Iterator[Row] | list[Row], directory: Path, used: Columns, mark: str = ""
) -> tuple[Corpus, Report]:
    report = Report()
    corpus = Corpus.build(rows, used, directory=directory, report=report, fingerprint=mark)
    return corpus, report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpus")


@given(pairs=pair_lists, data=st.data())
def test_round_trip(folder: Path, pairs: Pairs, data: st.DataObject) -> None:
    """Any rows in any order: ids, END, padding, lengths, places (S1.3, S1.6)."""
    used = columns()
    built, report = build(rows_of(pairs), folder / "corpus", used)
    corpus = Corpus.open(folder / "corpus")
    assert len(corpus) == len(built) == len(pairs)
    assert not report.dropped
    chosen = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1))
    batch = corpus.batch(np.array(chosen))
    for side, (ids, lengths) in enumerate(
        [(batch.source, batch.source_lengths), (batch.target, batch.target_lengths)]
    ):
        assert ids.dtype == np.int64
        assert ids.shape[1] == lengths.max()
        for row, index in enumerate(chosen):
            expected = used.source.rows([pairs[index][side]])[0].tolist()
            assert expected[-1] == END
            assert ids[row, : lengths[row]].tolist() == expected
            assert (ids[row, lengths[row] :] == EMPTY).all()
            assert corpus.lengths[side][index] == lengths[row] == len(expected)
    assert batch.indices.tolist() == chosen
    assert corpus.place(chosen[0]) == FileLocation("pairs.tsv", chosen[0] + 1)


def test_more_rows_than_a_chunk(tmp_path: Path) -> None:
    pairs = [("a" * (1 + n % 7), "b" * (1 + n % 5)) for n in range(2_500)]
    corpus, _ = build(iter(rows_of(pairs)), tmp_path / "corpus", columns())
    assert corpus.lengths.source.tolist() == [2 + n % 7 for n in range(2_500)]
    assert corpus.lengths.target.tolist() == [2 + n % 5 for n in range(2_500)]


def test_memory_does_not_grow_with_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of files wait to be written by their bytes: twice as many take no more memory."""
    monkeypatch.setattr(named, "CACHE_BYTES", 1)
    Image.new("RGB", (1, 1)).save(tmp_path / "0.png")
    content = (tmp_path / "0.png").read_bytes()
    for number in range(1, 128):
        (tmp_path / f"{number}.png").write_bytes(content)
    field = PictureField(PictureConfig(height=512, width=512))
    used = Columns(field, columns().target, DataConfig())
    peaks = []
    for number_of_rows in (64, 128):
        rows = rows_of([(str(tmp_path / f"{number}.png"), "a") for number in range(number_of_rows)])
        tracemalloc.start()
        corpus, _ = build(rows, tmp_path / "corpus", used)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(corpus) == number_of_rows
    assert peaks[1] < 1.1 * peaks[0]
    assert max(peaks) < 64 * 512 * 512 * 3


def test_an_empty_batch(tmp_path: Path) -> None:
    """A rank's share of a batch with fewer rows than ranks."""
    corpus, _ = build(rows_of([("a", "b")]), tmp_path / "corpus", columns())
    assert corpus.batch(np.zeros(0, dtype=np.int64)).source.shape == (0, 0)


OVERLONG = [("abc", "a"), ("a", "abc"), ("ab", "ab")]


def test_overlong_rows_are_dropped(tmp_path: Path) -> None:
    """S1.6: left out and counted by reason; `max_source` does not count END."""
    used = columns(max_source=2, max_target=2, overlong="drop")
    corpus, report = build(rows_of(OVERLONG), tmp_path / "corpus", used)
    assert len(corpus) == 1
    assert corpus.place(0) == FileLocation("pairs.tsv", 3)
    assert set(report.dropped) == {Reason.LONG_SOURCE, Reason.LONG_TARGET}


def test_overlong_rows_are_cut(tmp_path: Path) -> None:
    """S1.6: the first tokens and END are kept."""
    used = columns(max_source=2, max_target=2, overlong="truncate")
    corpus, report = build(rows_of(OVERLONG), tmp_path / "corpus", used)
    assert corpus.lengths.source.tolist() == [3, 2, 3]
    assert corpus.lengths.target.tolist() == [2, 3, 3]
    assert not report.dropped


def test_overlong_rows_are_refused(tmp_path: Path) -> None:
    """S1.6: an error with the place; nothing is left behind."""
    used = columns(max_source=2, overlong="error")
    with pytest.raises(DataError, match=r"^pairs.tsv:1: the source has 3 tokens; raise"):
        build(rows_of(OVERLONG), tmp_path / "corpus", used)
    assert not list(tmp_path.iterdir())


def test_nothing_left_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="^pairs.tsv: no row is left that is short enough; raise"):
        build(rows_of(OVERLONG[:1]), tmp_path / "corpus", columns(max_source=2))


def test_a_broken_build_leaves_the_old_corpus(tmp_path: Path) -> None:
    """A build that fails or is killed half-way is never used, and its remains are cleared away."""

    def failing() -> Iterator[Row]:
        yield from rows_of([("a", "b")])
        raise DataError("pairs.tsv:2: broken")

    build(rows_of([("abc", "abc")]), tmp_path / "corpus", columns(), mark="old")
    with pytest.raises(DataError):
        build(failing(), tmp_path / "corpus", columns(), mark="new")
    assert Corpus.reuse(tmp_path / "corpus", "new") is None
    assert Corpus.reuse(tmp_path / "corpus", "old") is not None
    (tmp_path / ".corpus-killed").mkdir()
    build(rows_of([("a", "b")]), tmp_path / "corpus", columns(), mark="new")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    assert Corpus.reuse(tmp_path / "corpus", "new") is not None


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(RunError, match=r"cannot be written \(.*\); free space or choose another"):
        build(rows_of([("a", "b")]), tmp_path / "file" / "corpus", columns())


@pytest.mark.parametrize("name", ["lines", "source.values", "target.spans", "corpus.json"])
@pytest.mark.parametrize("size", [None, 0, 3])
def test_a_damaged_corpus_is_not_used(tmp_path: Path, name: str, size: int | None) -> None:
    """A file that is missing, empty or cut."""
    build(rows_of([("abc", "abc")]), tmp_path / "corpus", columns(), mark="same")
    path = tmp_path / "corpus" / name
    if size is None:
        path.unlink()
    else:
        os.truncate(path, size)
    assert Corpus.reuse(tmp_path / "corpus", "same") is None
    with pytest.raises(RunError, match="is not a whole corpus; remove it"):
        Corpus.open(tmp_path / "corpus")


@pytest.mark.parametrize("change", [{"files": 3}, {"files": {}}, {"more": 1}])
def test_a_wrong_description_is_not_used(tmp_path: Path, change: dict[str, object]) -> None:
    build(rows_of([("abc", "abc")]), tmp_path / "corpus", columns(), mark="same")
    path = tmp_path / "corpus" / "corpus.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change), encoding="utf-8")
    assert Corpus.reuse(tmp_path / "corpus", "same") is None


@pytest.mark.parametrize(
    "spans", [[0, 4, 4, 4], [0, 4, 4, 8], [-1, 4, 4, 7], [0, 4], [4, 0, 4, 7], [0, 4, 4, 7, 0, 1]]
)
def test_spans_that_cannot_be_are_not_used(tmp_path: Path, spans: list[int]) -> None:
    """Rows of 4 and 3 tokens: the one from 0 to 4, the other from 4 to 7."""
    build(rows_of([("abc", "abc"), ("ab", "ab")]), tmp_path / "corpus", columns(), mark="same")
    path = tmp_path / "corpus" / "source.spans"
    assert np.fromfile(path, np.int64).tolist() == [0, 4, 4, 7]
    np.array(spans, np.int64).tofile(path)
    assert Corpus.reuse(tmp_path / "corpus", "same") is None


def test_ids_are_as_small_as_the_vocabulary_allows(tmp_path: Path) -> None:
    """Two bytes a token up to 65,536 ids, then four."""
    letters = "".join(chr(0x20000 + n) for n in range(66_000))
    config = TextConfig(unit="character", size=70_000)
    large = TextField.learn(
        config, [letters[n : n + 1_000] for n in range(0, 66_000, 1_000)], seed=1
    )
    small = columns().target
    pair = (letters[-3:], "abc")
    build(rows_of([pair]), tmp_path / "corpus", Columns(large, small, DataConfig()))
    assert (tmp_path / "corpus" / "source.values").stat().st_size == 4 * 4
    assert (tmp_path / "corpus" / "target.values").stat().st_size == 4 * 2
    batch = Corpus.open(tmp_path / "corpus").batch(np.array([0]))
    assert large.decode(batch.source[0]) == pair[0]


def test_fingerprint_follows_what_matters(tmp_path: Path) -> None:
    """It changes with a byte of the data, an option, a field or a part, and with nothing else."""
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a\tb\n")
    used = columns()
    field = TextField.learn(TextConfig(unit="character"), ["abcd"], seed=1)
    before = fingerprint(path, used, "train", 1)
    assert fingerprint(path, columns(), "train", 1) == before
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "pairs.tsv").write_bytes(b"a\tb\n")
    assert fingerprint(str(moved / "pairs.tsv"), used, "train", 1) == before
    others = [
        fingerprint(path, used, "valid", 1),
        fingerprint(path, used, "train", 2),
        fingerprint(path, columns(max_source=9), "train", 1),
        fingerprint(path, Columns(field, used.target, used.config), "train", 1),
        fingerprint(path, Columns(used.source, field, used.config), "train", 1),
        fingerprint([("a", "b")], used, "train", 1),
        fingerprint([("a", "c")], used, "train", 1),
    ]
    path.write_bytes(b"a\tc\n")
    others.append(fingerprint(path, used, "train", 1))
    assert len({before, *others}) == 1 + len(others)


def test_fingerprint_knows_the_two_sides_apart(tmp_path: Path) -> None:
    """The same bytes, cut at another place between the files."""
    prints = []
    for first, second in ((b"a\nb\n", b"c\n"), (b"a\n", b"b\nc\n")):
        (tmp_path / "x").write_bytes(first)
        (tmp_path / "y").write_bytes(second)
        prints.append(fingerprint(f"{tmp_path / 'x'},{tmp_path / 'y'}", columns()))
    assert prints[0] != prints[1]


def test_from_a_file_to_a_batch(tmp_path: Path) -> None:
    """The whole way: a gzipped table, a corpus, the text again."""
    data: Data = tmp_path / "pairs.tsv.gz"
    Path(str(data)).write_bytes(gzip.compress(b"source\ttarget\nabc\tcab\ncc\ta a\n"))
    used = columns()
    report = Report()
    corpus, _ = build(read_rows(data, used.config, report), tmp_path / "corpus", used)
    batch = corpus.batch(np.array([1, 0]))
    assert [used.target.cell(row) for row in batch.target] == ["a a", "cab"]
    assert corpus.place(0).line == 2


def test_any_changed_bit_is_noticed(tmp_path: Path) -> None:
    """A11: in whatever file, before a batch is made of it; what was damaged is named."""
    pairs = [("abc é", "cab"), ("ab", "b a"), ("xyz", "zyx")]
    build(rows_of(pairs), tmp_path / "corpus", columns(), mark="same")
    chance, told = random.Random(key(0, "bits")), list[str]()
    files = sorted((tmp_path / "corpus").iterdir())
    for _ in range(count(50, 1_000)):
        path = chance.choice(files)
        whole = path.read_bytes()
        changed = bytearray(whole)
        changed[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        assert Corpus.reuse(tmp_path / "corpus", "same", told.append) is None
        with pytest.raises(RunError):
            Corpus.open(tmp_path / "corpus").batch(np.arange(3))
        path.write_bytes(whole)
    assert Corpus.reuse(tmp_path / "corpus", "same", told.append) is not None
    assert all("made again" in sentence for sentence in told)
    assert any("source.values: its bytes have changed" in sentence for sentence in told)


def test_chunks_are_verified_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of sound chunks can be had from a corpus of which another chunk is damaged."""
    monkeypatch.setattr(checksums, "CHUNK", 16)
    rows = rows_of([("abc" * 10, "abc"), ("ab", "b a"), ("xyz" * 10, "zyx")])
    build(rows, tmp_path / "corpus", columns(), mark="same")
    with (tmp_path / "corpus" / "source.values").open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"\1")
    corpus = Corpus.open(tmp_path / "corpus")
    assert corpus.batch(np.array([0])).source_lengths.tolist() == [31]
    for read in (lambda: corpus.batch(np.array([1, 2])), lambda: corpus.flat("source")):
        with pytest.raises(RunError, match=r"source.values: its bytes have changed between \d+"):
            read()


def test_a_corpus_without_checksums_is_made_again(tmp_path: Path) -> None:
    """As runs of earlier versions have it."""
    build(rows_of([("abc", "abc")]), tmp_path / "corpus", columns(), mark="same")
    path = tmp_path / "corpus" / "corpus.json"
    old = {k: v for k, v in json.loads(path.read_text()).items() if not k.startswith("checksum")}
    path.write_text(json.dumps(old), encoding="utf-8")
    assert Corpus.reuse(tmp_path / "corpus", "same") is None


def test_too_many_open_files_are_named(tmp_path: Path) -> None:
    """A13: it is no matter of space."""

    def rows() -> Iterator[Row]:
        yield rows_of([("a", "b")])[0]
        raise OSError(errno.EMFILE, "Too many open files")

    with pytest.raises(RunError, match=r"\(Too many open files\); raise the limit on open files"):
        build(rows(), tmp_path / "corpus", columns())
