"""RELIABILITY B1: each malformed kind has its exact outcome, strict and skipping."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.config import TextConfig
from seqloom.data import Columns, Corpus, InputFile, Reason, Report, Row, read_rows
from seqloom.errors import DataError
from seqloom.fields import TextField
from seqloom.surveys import Survey, survey
from tests.data.malformed import KINDS, Kind, Lines, Rows

pytestmark = pytest.mark.faults
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def taken(items: Iterator[Any], into: list[Any]) -> str | None:
    """Read to the end into a list; the sentence, if one stopped it."""
    try:
        into.extend(items)
    except DataError as error:
        return str(error)
    return None


def dropped(report: Report) -> dict[Reason, tuple[int, str]]:
    return {reason: (each.count, str(each.first)) for reason, each in report.dropped.items()}


def rows_of(kind: Kind, *, skip_bad: bool) -> Rows:
    report = Report()
    rows: list[Row] = []
    sentence = taken(read_rows(kind.data, kind.config(skip_bad=skip_bad), report), rows)
    assert report.kept == len(rows)
    return Rows([(row.source, row.target) for row in rows], dropped(report), sentence)


def lines_of(kind: Kind, report: Report | None) -> Lines:
    lines: list[str] = []
    config = kind.config(skip_bad=False)
    sentence = taken(InputFile(Path(kind.input), config, report).cells(), lines)
    return Lines(lines, dropped(report) if report else {}, sentence)


def test_there_are_twenty_kinds() -> None:
    """RELIABILITY B1."""
    assert len({kind.name for kind in KINDS}) == 20


@each_kind
@pytest.mark.parametrize("skip_bad", [False, True], ids=["strict", "skip"])
def test_reading(kind: Kind, *, skip_bad: bool) -> None:
    """Rows as they come, up to the sentence that ends them; skipping leaves out bad rows only."""
    kind.lay_out()
    assert rows_of(kind, skip_bad=skip_bad) == kind.rows(skip_bad=skip_bad)


@each_kind
@pytest.mark.parametrize("skip_bad", [False, True], ids=["strict", "skip"])
def test_checking(kind: Kind, *, skip_bad: bool) -> None:
    """The survey ends in the sentence, or counts what is kept and dropped."""
    kind.lay_out()
    expected = kind.rows(skip_bad=skip_bad)
    found: list[Survey] = []
    reading = (survey(kind.data, kind.config(skip_bad=skip_bad), seed=1) for _ in range(1))
    assert taken(reading, found) == expected.sentence
    for each in found:
        assert each.sample == expected.kept
        assert dropped(each.report) == expected.dropped


@each_kind
@pytest.mark.parametrize("skip_bad", [False, True], ids=["strict", "skip"])
def test_training(kind: Kind, folder: Path, *, skip_bad: bool) -> None:
    """The corpus holds the rows kept, source beside target; after a sentence there is none."""
    kind.lay_out()
    expected = kind.rows(skip_bad=skip_bad)
    config = kind.config(skip_bad=skip_bad)
    field = TextField.learn(TextConfig(unit="byte"), [], seed=1)
    built: list[Corpus] = []
    building = (
        Corpus.build(
            read_rows(kind.data, config, Report()),
            Columns(field, field, config),
            directory=folder / "corpus",
            report=Report(),
            fingerprint="",
        )
        for _ in range(1)
    )
    assert taken(building, built) == expected.sentence
    assert (folder / "corpus").exists() == bool(built)
    for corpus in built:
        batch = corpus.batch(np.arange(len(corpus)))
        pairs = zip(batch.source, batch.target, strict=True)
        assert [(field.decode(s), field.decode(t)) for s, t in pairs] == expected.kept


@each_kind
@pytest.mark.parametrize("skip_bad", [False, True], ids=["strict", "skip"])
def test_predicting(kind: Kind, *, skip_bad: bool) -> None:
    """One output is owed for each line, so skipping turns an unreadable line into an empty one."""
    kind.lay_out()
    report = Report() if skip_bad else None
    assert lines_of(kind, report) == kind.lines(skip_bad=skip_bad)
