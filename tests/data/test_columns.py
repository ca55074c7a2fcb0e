"""Headers, columns, and what is said where a table cannot be read."""

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyarrow import parquet

from seqloom.config import DataConfig
from seqloom.data import Reason, Report, read_rows
from tests.data.malformed import SKIP
from tests.data.support import read, sentence


@pytest.mark.parametrize(
    ("first", "options", "header"),
    [
        ("source\ttarget", {}, True),
        ("SRC\ttgt", {}, True),
        ("de\ten", {}, False),
        ("source\tquelle", {}, False),
        ("de\ten", {"source": "de", "target": "en"}, True),
        ("de\ten", {"header": "yes"}, True),
        ("source\ttarget", {"header": "no"}, False),
    ],
)
def test_header_is_found(
    tmp_path: Path, first: str, options: dict[str, str], *, header: bool
) -> None:
    """A header where a column is asked for by name, or where the first line has the usual names."""
    path = tmp_path / "pairs.tsv"
    path.write_text(f"{first}\nHaus\thouse\n", encoding="utf-8")
    rows = read(path, **{"header": "auto", **options})
    assert rows == [*([] if header else [tuple(first.split("\t"))]), ("Haus", "house")]


def test_columns_by_name_and_position(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("id\ten\tde\n1\thouse\tHaus\n", encoding="utf-8")
    assert read(path, header="yes", source="de", target="en") == [("Haus", "house")]
    assert read(path, header="yes", source="3", target="2") == [("Haus", "house")]
    assert read(path, header="yes", source="de", target="2") == [("Haus", "house")]


@pytest.mark.parametrize(
    "case",
    [
        (
            "p.tsv",
            "source\ttarget\na\tb\n",
            {"source": "sorce", "target": "target"},
            "p.tsv:1: there is no column 'sorce'; did you mean 'source'?",
        ),
        (
            "p.tsv",
            "de\ten\na\tb\n",
            {"source": "german"},
            "p.tsv:1: there is no column 'german'; the columns are 'de', 'en'",
        ),
        (
            "p.tsv",
            "A secret name, please\tEin geheimer Name, bitte\n",
            {"source": "secret"},
            "p.tsv:1: there is no column 'secret'; the first line holds no names of columns: ask "
            "by position, or put a header first",
        ),
        (
            "p.tsv",
            "targets\t1.5\n",
            {"source": "target"},
            "p.tsv:1: there is no column 'target'; the first line holds no names of columns: ask "
            "by position, or put a header first",
        ),
        (
            "p.tsv",
            "text\ttext\tx\na\tb\tc\n",
            {"source": "text", "target": "x"},
            "p.tsv:1: columns 1 and 2 are both named 'text'; rename one or ask by position",
        ),
        (
            "p.tsv",
            "a\tb\n",
            {"source": "a", "header": "no"},
            "p.tsv:1: column 'a' needs a header; ask by position or set data.header to yes",
        ),
        (
            "p.tsv",
            "a\tb\n",
            {"target": "3"},
            "p.tsv:1: there is no column 3 among 2 columns; positions count from 1",
        ),
        (
            "p.tsv",
            "a\tb\n",
            {"source": "0"},
            "p.tsv:1: there is no column 0 among 2 columns; positions count from 1",
        ),
        (
            "p.csv",
            "a;b\n",
            {},
            "p.csv:1: there is no column 2 among 1 column; "
            "its columns seem to be set apart by semicolons, so put tabs in their place and name "
            "the file .tsv",
        ),
        (
            "p.tsv",
            "a,b\n",
            {},
            "p.tsv:1: there is no column 2 among 1 column; it holds commas, so name the file .csv",
        ),
        (
            "p.csv",
            'a,b\n"c"d,e\n',
            {},
            "p.csv:2: text follows a closing quote; double the quotes inside a text" + SKIP,
        ),
        (
            "p.jsonl",
            '["a", "b"]\n',
            {"source": "x"},
            "p.jsonl:1: is an array, whose columns have no names; ask by position",
        ),
        (
            "p.jsonl",
            '["a", "b"]\n["a"]\n',
            {},
            "p.jsonl:2: expected 2 columns, found 1; write all rows alike" + SKIP,
        ),
        (
            "p.jsonl",
            '["a", "b"]\n{"x": "a"}\n',
            {},
            "p.jsonl:2: is an object where the first row is a list; write all rows alike" + SKIP,
        ),
        (
            "p.jsonl",
            '{"x": "a", "y": "b"}\n{"x": "a"}\n',
            {},
            "p.jsonl:2: there is no column 'y'; add it" + SKIP,
        ),
        (
            "p.jsonl",
            '"a"\n',
            {},
            "p.jsonl:1: is a string, not a row; write one object or array a line" + SKIP,
        ),
        (
            "p.jsonl",
            '{"x": "a", "x": "b"}\n',
            {},
            "p.jsonl:1: is not usable JSON: a name appears twice in one object; mend it" + SKIP,
        ),
        (
            "p.jsonl",
            "[" * 100_000 + "\n",
            {},
            "p.jsonl:1: is not usable JSON: it is nested too deeply; mend it" + SKIP,
        ),
        (
            "p.jsonl",
            '["a\\ud800", "b"]\n',
            {},
            "p.jsonl:1: the source holds half of a surrogate pair; remove it" + SKIP,
        ),
        (
            "p.jsonl",
            '["a", "\\u0000"]\n',
            {},
            "p.jsonl:1: the target holds a NUL character; remove it" + SKIP,
        ),
        (
            "p.tsv.gz",
            "a\tb\n",
            {},
            "p.tsv.gz: is not gzip data though its name ends in .gz; rename it",
        ),
        (
            "p.parquet",
            "a\tb\n",
            {},
            "p.parquet: is not a whole Parquet file",
        ),
    ],
)
def test_sentences(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, str, dict[str, str], str],
) -> None:
    """One sentence with the place, what is wrong, and the cure."""
    name, text, options, expected = case
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    assert sentence(name, **options).startswith(expected)


def table(path: Path, **columns: object) -> Path:
    parquet.write_table(pa.table(columns), path)
    return path


def test_parquet_strings_of_every_kind(tmp_path: Path) -> None:
    """Dictionaries, large strings, and a column whose name has a dot."""
    words = ["Haus", "Hund", "Haus"]
    columns = {
        "a.b": pa.array(words).dictionary_encode(),
        "c": pa.array(words, pa.large_string()),
    }
    path = table(tmp_path / "pairs.parquet", **columns)
    assert read(path, source="a.b", target="c") == [(word, word) for word in words]


def test_parquet_faults(tmp_path: Path) -> None:
    """A missing text, one that is not UTF-8, a column of neither, a file cut off, no rows."""
    raw = pa.array([b"a", b"\xff", b"c", b"d"], pa.binary()).view(pa.string())
    columns = {"x": raw, "y": ["e", "f", None, "h"], "n": [True] * 4}
    path = table(tmp_path / "pairs.parquet", **columns)
    report = Report()
    rows = read_rows(path, DataConfig(skip_bad=True), report)
    assert [row[:2] for row in rows] == [("a", "e"), ("d", "h")]
    assert {reason: str(each.first) for reason, each in report.dropped.items()} == {
        Reason.ENCODING: f"{path}:2",
        Reason.TYPE: f"{path}:3",
    }
    assert sentence(path, target="n") == (
        f"{path}: column 'n' holds bool, neither text nor numbers; choose a column of text"
    )
    wrong = f"{path}: there is no column 'z'; the columns are 'x', 'y', 'n'"
    assert sentence(path, target="z") == wrong
    path.write_bytes(path.read_bytes()[:-20])
    assert sentence(path).startswith(f"{path}: is not a whole Parquet file")
    empty = table(
        tmp_path / "empty.parquet", x=pa.array([], pa.string()), y=pa.array([], pa.string())
    )
    assert sentence(empty) == f"{empty}: is empty; it should hold one pair a line"
