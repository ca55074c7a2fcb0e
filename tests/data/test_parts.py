"""Shards, folders and corpora with shares are read as one data set."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow  # type: ignore[import-untyped]
import pytest
from pyarrow import parquet

from seqloom.config import DataConfig, TextConfig
from seqloom.data import (
    Columns,
    Corpus,
    CorpusPlan,
    Report,
    build_corpora,
    data_files,
    fingerprint,
    read_rows,
    survey,
)
from seqloom.errors import DataError
from seqloom.fields import learn_field

CONFIG = DataConfig()


def table(path: Path, first: int, rows: int, *, header: bool = False) -> list[str]:
    """Write a table of numbered rows; their sources."""
    lines = [f"s{n}\tt{n}" for n in range(first, first + rows)]
    text = "\n".join([*["source\ttarget"] * header, *lines]) + "\n"
    packed = path.suffix == ".gz"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return [line.split("\t")[0] for line in lines]


def sources(data: str, config: DataConfig = CONFIG) -> list[str]:
    return [row.source for row in read_rows(data, config, Report())]


def build(data: str, place: Path) -> Corpus:
    field = learn_field(TextConfig(unit="character"), ["st0123456789"], seed=1)
    plan = CorpusPlan(place, Columns(field, field, CONFIG), "x", is_mixed=True)
    return build_corpora(data, [plan])[0]


def test_a_pattern_means_its_files_in_order(tmp_path: Path) -> None:
    expected = table(tmp_path / "part-1.tsv.gz", 0, 5, header=True)
    expected += table(tmp_path / "part-2.tsv.gz", 5, 5)
    table(tmp_path / "other.tsv", 90, 2)
    data = f"{tmp_path}/part-*.tsv.gz"
    assert sources(data) == expected
    assert [row.source for row in read_rows(data, CONFIG, Report()) if row.place.line == 3] == [
        "s1",
        "s7",
    ]
    assert survey(data, CONFIG, seed=1).sample == [(s, s.replace("s", "t")) for s in expected]
    corpus = build(data, tmp_path / "corpus")
    assert str(corpus.place(7)) == f"{tmp_path}/part-2.tsv.gz:3"
    assert corpus.weights.tolist() == [1.0] * 10


def test_a_folder_means_its_files_of_rows(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(3):
        columns = {"source": [f"s{number}"], "target": ["t"]}
        parquet.write_table(pyarrow.table(columns), folder / f"{number}.parquet")
    (folder / "README.md").write_text("not rows")
    config = DataConfig(source="source", target="target")
    assert sources(str(folder), config) == ["s0", "s1", "s2"]
    assert len(data_files(str(folder))) == 3


def test_corpora_count_in_their_shares(tmp_path: Path) -> None:
    table(tmp_path / "a.tsv", 0, 30)
    table(tmp_path / "b.tsv", 50, 10)
    data = f"{tmp_path}/a.tsv:0.6,{tmp_path}/b.tsv:0.4"
    corpus = build(data, tmp_path / "corpus")
    assert len(corpus) == 40
    assert corpus.weights[:30].sum() == pytest.approx(0.6 * 40)
    assert corpus.weights[30:].sum() == pytest.approx(0.4 * 40)
    assert len(np.unique(corpus.weights)) == 2
    field = learn_field(TextConfig(unit="character"), ["st"], seed=1)
    used = Columns(field, field, CONFIG)
    other = data.replace("0.6", "0.5")
    assert fingerprint(data, used) != fingerprint(other, used)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none-\\*.tsv: no such file"):
        sources(f"{tmp_path}/none-*.tsv")
    with pytest.raises(DataError, match="is a folder"):
        sources(str(tmp_path))
    table(tmp_path / "a.tsv", 0, 3)
    with pytest.raises(DataError, match="b.tsv: no such file"):
        sources(f"{tmp_path}/a.tsv:1,{tmp_path}/b.tsv:2")
    with pytest.raises(DataError, match="all shares are 0"):
        build(f"{tmp_path}/a.tsv:0", tmp_path / "corpus")


def test_a_comma_or_a_colon_in_a_name_stays_one(tmp_path: Path) -> None:
    odd = tmp_path / "a.tsv:1"
    expected = table(odd, 0, 3)
    assert sources(str(odd)) == expected
