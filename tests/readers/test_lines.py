"""Lines as predicting reads them, and files that are not what they seem."""

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig
from seqloom.data import Report, data_files, read_lines, read_rows
from seqloom.errors import DataError
from seqloom.readers.blocks import count_lines


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "lines.txt"


@given(raw=st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\xff", b"\xc3\xa9", b"long " * 9])))
def test_one_item_for_each_line(path: Path, raw: list[bytes]) -> None:
    """RELIABILITY, text files: as many lines come out as `\\n` part, whatever is in them."""
    data = b"".join(raw)
    path.write_bytes(data)
    expected = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    report = Report()
    assert len(list(read_lines(path, max_line=40, report=report))) == expected
    assert report.kept + report.total_dropped == expected
    assert count_lines(path) == expected


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, *, packed: bool) -> None:
    """The same rules without a file name, gzipped or not."""
    raw = "\ufeffé\r\n\nz".encode()
    stream = io.BufferedReader(io.BytesIO(gzip.compress(raw) if packed else raw))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    assert list(read_lines(None, max_line=100)) == ["é", "", "z"]


def test_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a\n\xff"))))
    with pytest.raises(DataError, match=r"^standard input:2: byte 1 of the line \(0xFF\)"):
        list(read_lines(None, max_line=100))


def test_lines_come_as_they_are_written(tmp_path: Path) -> None:
    """Nothing is read ahead of the caller but a buffer: a line is had before a later fault."""
    file = tmp_path / "lines.txt"
    file.write_bytes(b"a\nb\n\xff\n")
    lines = read_lines(file, max_line=100)
    assert [next(lines), next(lines)] == ["a", "b"]
    with pytest.raises(DataError):
        next(lines)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("a\tb\n" * 9, "UTF-16 text"),
        ("\ufeffa\tb\n", "UTF-16 text"),
    ],
)
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_is_named(tmp_path: Path, raw: str, kind: str, codec: str) -> None:
    """In either byte order, with a mark and without."""
    file = tmp_path / "pairs.tsv"
    file.write_bytes(raw.encode(codec))
    with pytest.raises(DataError, match=f"is {kind}, not UTF-8"):
        list(read_lines(file, max_line=100))


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"PK\x03\x04", "a zip archive or a spreadsheet"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"PAR1", "a Parquet file"),
    ],
)
def test_binary_kinds_are_named(tmp_path: Path, start: bytes, kind: str) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_bytes(start + bytes(range(256)))
    with pytest.raises(DataError, match=f"is {kind}, not text"):
        list(read_lines(file, max_line=100))


def test_an_endless_line_is_not_held(tmp_path: Path) -> None:
    """Only the cap is kept of a line beyond it, and the next line is whole."""
    file = tmp_path / "lines.txt.gz"
    file.write_bytes(gzip.compress(b"x" * 20_000_000 + b"\nnext\n"))
    report = Report()
    assert list(read_lines(file, max_line=1_000, report=report)) == ["", "next"]
    assert report.total_dropped == 1


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_cap_counts_bytes_without_the_line_end(tmp_path: Path, end: bytes) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(b"x" * 10 + end)
    assert list(read_lines(file, max_line=10)) == ["x" * 10]
    with pytest.raises(DataError, match="longer than 9 bytes"):
        list(read_lines(file, max_line=9))


def test_two_files_or_one_with_a_comma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comma joins two files, unless a file of the whole name exists."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c,d"):
        Path(name).write_text("x\ty\n", encoding="utf-8")
    assert data_files("a,b") == (Path("a"), Path("b"))
    assert data_files("a, b") == (Path("a"), Path("b"))
    assert data_files("c,d") == (Path("c,d"),)
    assert data_files("a,c,d") == (Path("a"), Path("c,d"))
    assert data_files("c,d,a") == (Path("c,d"), Path("a"))
    assert data_files([("x", "y")]) == ()
    with pytest.raises(DataError, match=r"^e: no such file"):
        data_files("a,e")


def test_a_line_too_many_is_found_before_the_first_row(tmp_path: Path) -> None:
    """RELIABILITY B1, never misaligned: no row comes out of files that do not match."""
    for name, lines in (("a", 5_000), ("b", 5_001)):
        (tmp_path / name).write_text("x\n" * lines, encoding="utf-8")
    rows = read_rows(f"{tmp_path / 'a'},{tmp_path / 'b'}", DataConfig(skip_bad=True), Report())
    with pytest.raises(DataError, match="has 5,001 lines where .*a has 5,000"):
        next(rows)


def test_rows_in_memory_must_be_pairs() -> None:
    rows: list[tuple[str, str]] = [("a", "b"), ("c", "d", "e"), None, "ab"]  # type: ignore[list-item]
    report = Report()
    kept = list(read_rows(rows, DataConfig(skip_bad=True), report))
    assert [row[:2] for row in kept] == [("a", "b")]
    assert report.lines() == [
        "rows kept: 1",
        "rows dropped: 3",
        "  3 × value that is not text, first at <pairs>:2",
    ]
    with pytest.raises(DataError, match="^<pairs>:2: is not a row of texts or numbers"):
        list(read_rows(rows, DataConfig(), Report()))


def test_nothing_usable_is_an_error(tmp_path: Path) -> None:
    """Skipping never turns into training on nothing."""
    file = tmp_path / "pairs.tsv"
    file.write_bytes(b"a\t\n\tb\n")
    with pytest.raises(DataError, match="none of its 2 rows can be used, .*empty target.*:1; "):
        list(read_rows(file, DataConfig(skip_bad=True), Report()))
