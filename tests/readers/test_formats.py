"""Each format gives back what an independent writer put in it, and says what is wrong with it."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from seqloom.config import DataConfig
from seqloom.data import Reason, Report, read_rows
from seqloom.errors import DataError
from seqloom.readers import Record
from seqloom.readers.delimited import csv_records, separator_of
from seqloom.readers.lines import Fault
from tests.data.support import Pairs, read, sentence

Writer = Callable[[Pairs], bytes]


def write_tsv(rows: Pairs) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in rows).encode()


def write_csv(rows: Pairs) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def write_objects(rows: Pairs) -> bytes:
    return "".join(json.dumps({"x": s, "n": 1, "y": t}) + "\n" for s, t in rows).encode()


def write_arrays(rows: Pairs) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def write_parquet(rows: Pairs) -> bytes:
    sink = io.BytesIO()
    columns = {"x": [s for s, _ in rows], "n": [1] * len(rows), "y": [t for _, t in rows]}
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def texts(exclude: str) -> st.SearchStrategy[str]:
    """Texts that are not blank, without characters that the format cannot hold."""
    letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0" + exclude)
    # A line end is `\n` or `\r\n`, so a `\r` before a `\n` or at the end of a line is lost.
    return st.text(letters, min_size=1).filter(lambda text: not text.isspace() and "\r" not in text)


def pair_lists(exclude: str = "") -> st.SearchStrategy[Pairs]:
    return st.lists(st.tuples(texts(exclude), texts(exclude)), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@given(rows=pair_lists("\t\n"))
def test_tsv_round_trip(folder: Path, rows: Pairs) -> None:
    """Quotes, U+2028, U+0085 and form feeds are plain text; only `\\n` ends a line."""
    path = folder / "pairs.tsv"
    # Byte-order mark: at the start of a file it is no text.
    rows = [(source.lstrip("\ufeff") or "x", target) for source, target in rows]
    path.write_bytes(write_tsv(rows))
    assert read(path) == rows


@given(rows=pair_lists())
def test_csv_round_trip(folder: Path, rows: Pairs) -> None:
    """What Python's csv module writes, line ends and quotes inside the texts too."""
    path = folder / "pairs.csv"
    rows = [(source.lstrip("\ufeff") or "x", target) for source, target in rows]
    path.write_bytes(write_csv(rows))
    assert read(path) == rows


@given(text=st.text('a,"\n', min_size=1))
def test_csv_as_an_independent_reader_reads_it(text: str) -> None:
    """Python's csv module in its strict mode, for any mess of quotes, commas and line ends."""
    expected: list[list[str]] | None
    found: list[Record | Fault] | None
    try:
        expected = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        expected = None
    try:
        lines = text.removesuffix("\n").split("\n")
        found = list(csv_records(lines, "p.csv", max_line=1_000))
    except DataError:
        found = None
    faults = [] if found is None else [each for each in found if isinstance(each, Fault)]
    refused = found is None or any(each.reason is Reason.QUOTE for each in faults)
    assert refused == (expected is None)
    if found is not None and expected is not None:
        rows = [each.cells for each in found if isinstance(each, Record)]
        assert rows == [row for row in expected if len(row) > 1 or "".join(row).strip()]


@given(rows=pair_lists())
def test_csv_of_semicolons_round_trip(folder: Path, rows: Pairs) -> None:
    """As spreadsheets write it where a comma is the decimal mark."""
    path = folder / "semicolons.csv"
    rows = [("eins", "1"), *((source or "x", target) for source, target in rows), ("zwei", "2,5")]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    assert read(path) == rows


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        (["a;b", "c;d"], ";"),
        (["a;b", "c;d, e; f"], ";"),
        (["a;b"], ","),
        (["a,b;c", "d,e;f"], ","),
        (["one; two", "three"], ","),
        (['"a;b",c', '"d;e",f'], ","),
        (['"a', 'b";c', "d;e"], ";"),
    ],
)
def test_the_separator_of_a_csv_file(lines: list[str], separator: str) -> None:
    """A semicolon only where every row has one and the first has no comma."""
    assert separator_of(lines) == separator


@given(rows=pair_lists())
def test_jsonl_round_trip(folder: Path, rows: Pairs) -> None:
    """Objects by name and by the position of their keys, and arrays."""
    objects, arrays = folder / "objects.jsonl", folder / "arrays.jsonl"
    objects.write_bytes(write_objects(rows))
    arrays.write_bytes(write_arrays(rows))
    assert read(objects, source="x", target="y") == rows
    assert read(objects, source="1", target="3") == rows
    assert read(arrays) == rows


@given(rows=pair_lists())
def test_parquet_round_trip(folder: Path, rows: Pairs) -> None:
    """By name and by position."""
    path = folder / "pairs.parquet"
    path.write_bytes(write_parquet(rows))
    assert read(path, source="x", target="y") == rows
    assert read(path, source="1", target="3") == rows


@given(rows=pair_lists("\n"))
def test_parallel_round_trip(folder: Path, rows: Pairs) -> None:
    """Two files, line by line; the second column first when asked."""
    rows = [(s.lstrip("\ufeff") or "x", t.lstrip("\ufeff") or "x") for s, t in rows]
    for side, name in enumerate(("train.de", "train.en")):
        (folder / name).write_bytes("".join(row[side] + "\n" for row in rows).encode())
    data = f"{folder / 'train.de'},{folder / 'train.en'}"
    assert read(data) == rows
    assert read(data, source="2", target="1") == [(target, source) for source, target in rows]


@given(rows=pair_lists())
def test_pairs_in_memory(rows: Pairs) -> None:
    assert read(rows) == rows


@pytest.mark.parametrize(
    ("name", "write"),
    [("p.tsv", write_tsv), ("p.csv", write_csv), ("p.jsonl", write_arrays)],
)
def test_gzip_changes_nothing(tmp_path: Path, name: str, write: Writer) -> None:
    """Every text format, in one gzip member or in two."""
    rows = [(f"quelle {n}", f"source {n}") for n in range(50)]
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(write(rows)))
    assert read(path) == rows
    path.write_bytes(gzip.compress(write(rows[:7])) + gzip.compress(write(rows[7:])))
    assert read(path) == rows


def test_large_parquet_comes_in_batches(tmp_path: Path) -> None:
    """More rows than a batch, and a row's number as its line."""
    rows = [(f"quelle {n}", f"source {n}") for n in range(3_000)]
    path = tmp_path / "pairs.parquet"
    path.write_bytes(write_parquet(rows))
    config = DataConfig(source="x", target="y")
    read_back = list(read_rows(path, config, Report()))
    assert [(row.source, row.target) for row in read_back] == rows
    assert [row.place.line for row in read_back] == list(range(1, 3_001))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\tb\r\nc\td\r\n", [("a", "b"), ("c", "d")]),
        (b"a\tb\r\r\n", [("a", "b\r")]),
        (b"a\tb\nc\td", [("a", "b"), ("c", "d")]),
        (b"\xef\xbb\xbfa\tb\n", [("a", "b")]),
        ("a\u2028b\tc\u0085d\n".encode(), [("a\u2028b", "c\u0085d")]),
        (b'"a\tb"\n', [('"a', 'b"')]),
        (b"PAR1\tBZh\n", [("PAR1", "BZh")]),
    ],
)
def test_byte_rules(tmp_path: Path, raw: bytes, expected: Pairs) -> None:
    """RELIABILITY, text files: split on `\\n` only, one `\\r` dropped, a first mark dropped."""
    path = tmp_path / "pairs.tsv"
    path.write_bytes(raw)
    assert read(path) == expected


def test_place_is_the_line_a_record_starts_on(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(b'"a\nb\n\nc",d\ne,f\n"g ""h""","i\n"\nj,k\n')
    rows = list(read_rows(path, DataConfig(), Report()))
    assert [row[:2] for row in rows] == [
        ("a\nb\n\nc", "d"),
        ("e", "f"),
        ('g "h"', "i\n"),
        ("j", "k"),
    ]
    assert [row.place.line for row in rows] == [1, 5, 6, 8]


def test_a_bad_line_inside_quotes_spoils_its_row_only(tmp_path: Path) -> None:
    """RELIABILITY B1, never misaligned: the extent of a spoilt row is still known."""
    path = tmp_path / "pairs.csv"
    path.write_bytes(b'a,b\n"x\xff,\ny",z\n"p\nq\xff",r\n\xff,"s\nt,u"\nc,d\n')
    report = Report()
    rows = list(read_rows(path, DataConfig(skip_bad=True), report))
    assert [row[:2] for row in rows] == [("a", "b"), ("c", "d")]
    assert report.total_dropped == 3


def test_an_endless_line_with_quotes_ends_a_csv_file(tmp_path: Path) -> None:
    """Where it ends cannot be known, so no later row can be trusted, skipping or not."""
    path = tmp_path / "pairs.csv"
    path.write_bytes(b'a,b\n"' + b"x" * 50 + b'","y\nc,d"\ne,f\n')
    for skip_bad in (False, True):
        found = sentence(path, max_line=20, skip_bad=skip_bad)
        assert found.startswith(f"{path}:2: the line is longer than 20 bytes")
        assert "skip" not in found


def test_a_csv_row_of_many_lines_takes_linear_time(tmp_path: Path) -> None:
    """RELIABILITY B3 for rows: a megabyte of line ends in one cell."""
    path = tmp_path / "pairs.csv"
    path.write_bytes(b'"' + b'""\n' * 300_000 + b'a",b\n')
    ((source, target),) = read(path)
    assert source == '"\n' * 300_000 + "a"
    assert target == "b"
