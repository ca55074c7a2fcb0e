"""Training from Python: rows, columns by name, tables of other libraries, and who is told."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from rich.console import Console as Terminal

import seqloom
from seqloom.api import console
from seqloom.api.console import Console, open_observer
from seqloom.config import DataConfig, column_overrides
from seqloom.data import Data, Report, as_data, identify_data, join_targets, read_rows
from seqloom.errors import ConfigError, DataError
from seqloom.runs.progress import SilentObserver
from seqloom.training import Update
from tests.runs.support import PAIRS, last, options, tensors

COLUMNS: dict[str, Any] = {
    "number": list(range(len(PAIRS))),
    "text": [source for source, _ in PAIRS],
    "label": [target[0] for _, target in PAIRS],
}
ROWS = list(zip(*COLUMNS.values(), strict=True))
OBJECTS = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
FORMS: dict[str, Callable[[], Any]] = {
    "objects": lambda: OBJECTS,
    "generator": lambda: iter(OBJECTS),
    "mapping": lambda: COLUMNS,
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
    "batches": lambda: pa.table(COLUMNS).to_reader(7),
}
SMALL = {"embedding": 8, "encoder": {"kind": "recurrent", "width": 8, "layers": 1}}
SHORT: dict[str, Any] = {**options(updates=2, validate_every=2), "model": SMALL}
LABELS: dict[str, Any] = {"source": "text", "target": "label:label"}


def read(data: Any, **chosen: Any) -> list[tuple[str, str, float]]:
    config = DataConfig.model_validate(chosen)
    return [(row.source, row.target, row.weight) for row in read_rows(data, config, Report())]


@pytest.fixture(scope="module", name="run")
def run_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("python") / "run"
    seqloom.train(pd.DataFrame(COLUMNS), run=run, options=SHORT, **LABELS)
    return run


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_rows(form: str) -> None:
    """By name and, in the order of the columns, by position; as often as it is read."""
    expected = [(text, label, float(number)) for number, text, label in ROWS]
    data = as_data(FORMS[form]())
    assert read(data, source="text", target="label", weight="number") == expected
    assert read(data, source="2", target="3", weight="1") == expected
    assert read(ROWS, source="2", target="3", weight="1") == expected


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_column_is_one_sentence(form: str) -> None:
    with pytest.raises(DataError) as caught:
        read(as_data(FORMS[form]()), source="txt", target="label")
    place = "<pairs>:1" if form in ("objects", "generator") else "<table>"
    assert str(caught.value) == f"{place}: there is no column 'txt'; did you mean 'text'?"


def test_a_row_that_lacks_something_is_named() -> None:
    """In a table as in a list, by its number."""
    rows = [("a", "x"), ("b", None), (float("nan"), "z")]
    frame = pd.DataFrame(rows, columns=["source", "target"])
    columns = {"source": ["a", "b", None], "target": ["x", None, "z"]}
    for data in (frame, pl.DataFrame(columns), pa.table(columns)):
        report = Report()
        config = DataConfig(source="source", target="target", skip_bad=True)
        assert [row.source for row in read_rows(as_data(data), config, report)] == ["a"]
        (dropped,) = report.dropped.values()
        assert (dropped.count, str(dropped.first)) == (2, "<table>:2")
    with pytest.raises(DataError, match=r"^<table>: column 'when' holds timestamp.*; choose a col"):
        read(as_data(pd.DataFrame({"when": pd.to_datetime(["2020"]), "b": "x"})))


def test_positions_of_tuples() -> None:
    """Pairs are source and target; other positions are taken at their word."""
    assert read([("a", "b")]) == [("a", "b", 1.0)]
    assert read([("a", "b")], source="2", target="1") == [("b", "a", 1.0)]
    assert read([("a", "b")], source="1", target="3") == [("a", "b", 1.0)]  # as a file was read
    assert read([("a", "b")], source="de", target="en") == [("a", "b", 1.0)]
    assert read(as_data(np.array([["a", "b"]]))) == [("a", "b", 1.0)]
    with pytest.raises(DataError, match=r"^<pairs>:1: is not a row .* give \(source, target\)"):
        read([(1, "a", "b")])


def test_content_is_told_apart_and_not_its_holder() -> None:
    """Chunks and libraries change no hash; a cell does."""

    def digest(data: Data) -> str:
        return identify_data(data).files[0].sha256

    tables = [as_data(FORMS[form]()) for form in ("pandas", "polars", "pyarrow", "batches")]
    assert len({digest(data) for data in tables}) == 1
    other = {**COLUMNS, "text": ["?", *COLUMNS["text"][1:]]}
    assert digest(as_data(pd.DataFrame(other))) != digest(tables[0])


def test_targets_beside_sources() -> None:
    """Whatever holds them, and one for each."""
    texts, labels = COLUMNS["text"], COLUMNS["label"]
    frame = pd.DataFrame(COLUMNS)
    expected = [(text, label, 1.0) for _, text, label in ROWS]
    for sources in (texts, np.array(texts), frame["text"], np.array(texts, object)[:, None]):
        for targets in (labels, np.array(labels), frame["label"], frame[["label"]]):
            assert read(join_targets(sources, targets, "y")) == expected
    joined = join_targets(frame[["number", "text"]], labels, "y")
    assert read(joined, source="text", target="y") == expected
    joined = join_targets(OBJECTS, labels, "y")
    assert read(joined, source="text", target="y") == expected
    with pytest.raises(DataError, match="^there are 64 sources and 63 targets; give one target"):
        join_targets(texts, labels[1:], "y")
    with pytest.raises(ConfigError, match="go with sources in memory; .*target='COL'"):
        join_targets("pairs.tsv", labels, "y")


def test_a_table_trains_what_a_file_trains(tmp_path: Path, run: Path) -> None:
    """The same rows give the same weights, with targets apart too; the table is not written."""
    file = tmp_path / "rows.tsv"
    lines = [tuple(COLUMNS), *ROWS]
    file.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    seqloom.train(file, run=tmp_path / "file", options=SHORT, **LABELS)
    apart = {**LABELS, "target": ":label"}
    texts = COLUMNS["text"]
    seqloom.train(texts, COLUMNS["label"], run=tmp_path / "apart", options=SHORT, **apart)
    expected = tensors(last(run))["model"]
    for other in ("file", "apart"):
        found = tensors(last(tmp_path / other))["model"]
        assert all(bool((found[name] == value).all()) for name, value in expected.items())


def test_a_run_reads_columns_and_tables(run: Path) -> None:
    """`predict` takes the column, the table and the texts alike; `evaluate` takes the table."""
    model = seqloom.load(run)
    texts = [each.text for each in model.predict(COLUMNS["text"])]
    for form in (pd.DataFrame, pl.DataFrame, pa.table):
        table = form(COLUMNS)
        assert [each.text for each in model.predict(table["text"])] == texts
        assert [each.text for each in model.predict(table)] == texts
    assert seqloom.evaluate(model, pl.DataFrame(COLUMNS)).report.kept == len(ROWS)
    with pytest.raises(DataError, match="^line 2: the source is missing; fill it in"):
        model.predict(pd.Series(["a", None]))


def test_columns_as_on_the_command_line() -> None:
    assert column_overrides("a,b", "c:label", weight="d") == {
        "data": {"source": "a,b", "target": "c", "weight": "d"},
        "target": {"kind": "label"},
    }
    assert column_overrides("none", ":tags") == {
        "source": {"kind": "none"},
        "target": {"kind": "tags"},
    }


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    """Before anything is written, in Python's words."""
    train: Any = seqloom.train
    with pytest.raises(ConfigError) as caught:
        train(PAIRS, tmp_path / "run", options={"data": {"target": "2:label"}})
    assert str(caught.value) == (
        "the option data.target: '2:label' is a column and its kind, and the option takes the "
        "column alone; pass target='2:label'"
    )
    with pytest.raises(ConfigError, match="^a run needs a directory; pass run='runs/NAME'"):
        train(PAIRS)
    with pytest.raises(ConfigError, match=r"give held-out data as valid=\(X, y\)"):
        train(["a"], ["b"], run=tmp_path / "run", valid=PAIRS)
    with pytest.raises(ConfigError, match="^int is no data; give the path"):
        train(5, run=tmp_path / "run")
    with pytest.raises(DataError, match="^<table>: a mapping is read as columns by name"):
        train({"train": 1, "test": [2]}, run=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"there is no kind 'lable'; did you mean 'label'\?"):
        train(PAIRS, run=tmp_path / "run", target="2:lable")
    assert not (tmp_path / "run").exists()


@pytest.fixture(name="terminal")
def terminal_(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """What a console writes that is no terminal."""
    written = StringIO()
    monkeypatch.setattr(
        console, "Terminal", lambda **options: Terminal(file=written, soft_wrap=True)
    )
    return written


def test_who_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The console in a terminal, nobody elsewhere or where silence is asked for."""
    own = SilentObserver()
    for is_terminal, shown in ((False, SilentObserver), (True, Console)):
        monkeypatch.setattr("sys.stderr.isatty", lambda found=is_terminal: found, raising=False)
        with open_observer(None) as watch:
            assert isinstance(watch, shown)
        with open_observer(False) as watch:
            assert isinstance(watch, SilentObserver)
        with open_observer(own) as watch:
            assert watch is own
    assert isinstance(open_observer(True), Console)


def test_a_log_has_a_line_a_minute(monkeypatch: pytest.MonkeyPatch, terminal: StringIO) -> None:
    """Where there is no bar, an update after a minute of silence is told, and no other."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    with Console() as watch:
        watch.updates = 1_000
        for step in range(1, 200):
            clock[0] = float(step)
            watch.on_update(Update(step, 2.0, 10, 1.0, 1.0, 1.0, skipped=False))
            if step == 100:
                watch.on_message("validated")
    told = [line.split(" · ")[0] for line in terminal.getvalue().splitlines()]
    assert told == ["update 60 of 1,000", "validated", "update 160 of 1,000"]


def test_outputs_as_a_table(run: Path) -> None:
    """A row for each output, which other libraries read; blank inputs keep their place."""
    model = seqloom.load(run)
    first, *others = model.predict(["aei", "", "bfj"])
    outputs = [replace(first, n_best=(first, others[1])), *others]
    table = seqloom.outputs_table(outputs)
    assert table["text"].to_pylist() == [each.text for each in outputs]
    assert table["stopped"].to_pylist()[1] == "blank"
    assert np.allclose(np.exp(table["score"].to_numpy()), table["probability"].to_numpy())
    assert pl.DataFrame(table)["text"].to_list() == table.to_pandas()["text"].to_list()
    assert table["alternatives"].to_pylist() == [[first.text, others[1].text], [], []]
    assert seqloom.outputs_table([]).num_rows == 0


def test_a_series_in_a_table(tmp_path: Path) -> None:
    """Dates and numbers of a data frame are read as those of a file."""
    times = pd.date_range("2024-01-01", periods=120, freq="h")
    frame = pd.DataFrame({"date": times, "load": np.sin(np.arange(120) / 4).round(3)})
    frame.to_csv(tmp_path / "series.csv", index=False)
    chosen = {
        "source": {"kind": "series", "window": 12},
        "target": {"kind": "series", "horizon": 4},
        "training": {"updates": 2, "validate_every": 2, "workers": 1, "curves": False},
    }
    found = []
    for name, data in (("file", tmp_path / "series.csv"), ("table", frame)):
        seqloom.train(
            data, run=tmp_path / name, source="all:series", target="load:series", options=chosen
        )
        found.append(seqloom.load(tmp_path / name).forecast_after(data))  # type: ignore[attr-defined]
    assert found[0].times == found[1].times
    assert found[0].as_dict() == found[1].as_dict()
