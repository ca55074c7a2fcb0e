"""Windows of a table over time as sources: labels, numbers, texts and tags of series (S1.1)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import DataConfig
from seqloom.data import Report, TailSplit, read_rows
from seqloom.errors import ConfigError, DataError
from seqloom.surveys import hold_out, survey

HEADER = "time,x,y,event,note\n"


def table(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    """A CSV file of time, x, y, event and note."""
    path.write_text(HEADER + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def reading(**changes: Any) -> DataConfig:
    chosen = {"source": "x,y", "target": "event", "arrays": True, "window": 3, **changes}
    return DataConfig.model_validate(chosen)


def windows(path: Path, **changes: Any) -> list[tuple[list[list[float]], str]]:
    rows = read_rows(path, reading(**changes), Report())
    return [(json.loads(row.source), row.target) for row in rows]


def steps(count: int, *, first: int = 0) -> list[tuple[Any, ...]]:
    return [(first + t, t, 10 * t, f"e{t}", f"note {t}" * (t % 3 == 1)) for t in range(count)]


def test_every_row_is_in_one_window_in_its_order(tmp_path: Path) -> None:
    """What is left at the end is a shorter window; the target is that of the last row."""
    found = windows(table(tmp_path / "a.csv", steps(8)))
    assert [[x for x, _ in numbers] for numbers, _ in found] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert all(y == 10 * x for numbers, _ in found for x, y in numbers)
    assert [target for _, target in found] == ["e2", "e5", "e7"]


def test_windows_overlap_by_a_stride(tmp_path: Path) -> None:
    found = windows(table(tmp_path / "a.csv", steps(5)), stride=1)
    assert [[x for x, _ in numbers] for numbers, _ in found] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_a_target_may_stand_anywhere_in_its_window(tmp_path: Path) -> None:
    """The last that is there counts."""
    found = windows(table(tmp_path / "a.csv", steps(6)), target="note")
    assert [target for _, target in found] == ["note 1", "note 4"]


def test_tags_are_those_of_every_row(tmp_path: Path) -> None:
    """A space within one does not part it."""
    rows = [(0, 1, 1, "at rest", ""), (1, 2, 2, "walk", "")]
    (found,) = windows(table(tmp_path / "a.csv", rows), aligned=True)
    assert found[1].split(" ") == ["at\u00a0rest", "walk"]


def test_no_window_spans_a_gap_in_time(tmp_path: Path) -> None:
    """Not one that time jumps over, nor one where it begins again; unless rows are counted."""
    path = table(tmp_path / "a.csv", [*steps(4), *steps(2, first=9), *steps(2)])
    sizes = [len(numbers) for numbers, _ in windows(path)]
    assert sizes == [3, 1, 2, 2]
    assert [len(numbers) for numbers, _ in windows(path, time="none")] == [3, 3, 2]
    assert windows(path, time="time") == windows(path), "the column is found by its name"


def test_a_bad_row_is_an_error_or_ends_a_window(tmp_path: Path) -> None:
    rows = steps(6)
    rows[4] = (4, "n/a", 40, "e4", "")
    path = table(tmp_path / "a.csv", rows)
    with pytest.raises(DataError, match=r"a.csv:6: column 'x' is 'n/a', not a finite number"):
        windows(path)
    assert [len(numbers) for numbers, _ in windows(path, skip_bad=True)] == [3, 1, 1]
    rows[4] = (4, 4, 40, "", "")
    path = table(tmp_path / "a.csv", rows)
    with pytest.raises(DataError, match=r"a.csv:6: the step has no tag; give each row one"):
        windows(path, aligned=True)
    rows[4] = ("soon", 4, 40, "e4", "")
    with pytest.raises(DataError, match=r"a.csv:6: the time 'soon' cannot be read"):
        windows(table(tmp_path / "a.csv", rows))


def test_the_same_rows_in_any_form_give_the_same_windows(tmp_path: Path) -> None:
    rows = [dict(zip(HEADER.strip().split(","), row, strict=True)) for row in steps(7)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    wanted = windows(table(tmp_path / "a.csv", steps(7)))
    assert windows(path) == wanted
    memory = read_rows(rows, reading(), Report())
    assert [(json.loads(row.source), row.target) for row in memory] == wanted


def test_the_last_windows_are_held_out_and_share_no_row_with_the_others(tmp_path: Path) -> None:
    path, config = table(tmp_path / "a.csv", steps(40)), reading(stride=1, valid_share=0.25)
    split = hold_out(survey(path, config, seed=1), config, seed=1)
    assert isinstance(split, TailSplit)
    sides = [split.train, split.valid]
    learnt, held_out = (
        {x for row in side(read_rows(path, config, Report())) for x, _ in json.loads(row.source)}
        for side in sides
    )
    assert held_out
    assert max(learnt) < min(held_out)


def test_several_columns_need_a_window(tmp_path: Path) -> None:
    options = {"source": {"kind": "vectors"}, "target": "label", "data": {"source": "x,y"}}
    path = table(tmp_path / "a.csv", steps(6))
    with pytest.raises(ConfigError, match=r"several columns, whose rows are steps of a window"):
        train(path, tmp_path / "run", options=options)


def test_events_of_a_series_are_tagged(tmp_path: Path) -> None:
    """From a table to a run, to tags of another table, the same as those of its numbers."""

    def rows(seed: int) -> list[tuple[Any, ...]]:
        signs = [(seed * 7919 * (t + 3) ** 2 // 13) % 2 for t in range(240)]
        return [(t, 5 + sign, 1, "up" if sign else "down", "") for t, sign in enumerate(signs)]

    run, test = tmp_path / "run", table(tmp_path / "test.csv", rows(2))
    stack = {"kind": "recurrent", "unit": "gru", "width": 8, "layers": 1, "dropout": 0.0}
    training = {"updates": 60, "rate": 3e-2, "warmup": 5, "workers": 1, "samples": 0}
    options: dict[str, Any] = {"model": {"embedding": 8, "encoder": stack}, "training": training}
    options |= {"source": "vectors", "target": "tags"}
    options["data"] = {"source": "x,y", "target": "event", "window": 10}
    train(table(tmp_path / "train.csv", rows(1)), run, options=options, watch=False)
    model = load(run)
    found = evaluate(model, test)
    assert (found.report.kept, found.scores[0].value) == (24, 100.0)
    numbers = [[list(row[1:3]) for row in rows(2)[:10]]]
    outputs = model.predict(test)
    assert [each.text for each in model.predict(numbers)] == [outputs[0].text]
    assert len(outputs) == 24
