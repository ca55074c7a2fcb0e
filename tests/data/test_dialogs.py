"""Dialogs and histories as rows: every reply once, after all that was said before it (S8)."""

import json
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from seqloom.config import ColumnStatistics, DataConfig, Facts, TurnsConfig, plan
from seqloom.data import Data, Report, read_rows
from seqloom.errors import ConfigError
from seqloom.fields import join_turns, split_turns
from seqloom.surveys import hold_out, survey
from tests.data.support import read, sentence

SAID = ["hi", "hello", "who are you?", "a machine", "bye"]
Options = dict[str, str | bool | int]
DIALOG: Options = {"turns": True, "source": "1", "target": "1"}
FACTS = Facts(
    1_000,
    ColumnStatistics(50.0, 10.0, 9.0, 50, 10_000, 1_000),
    ColumnStatistics(50.0, 10.0, 9.0, 50, 9_000, 1_000),
)


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@given(st.lists(st.text(alphabet='ab "[]\\\n', min_size=1).filter(str.strip), min_size=2))
def test_every_reply_is_a_row(said: list[str]) -> None:
    """The second, the fourth, ... turn, each after all the turns before it."""
    found = [(split_turns(source), target) for source, target in read([(said,)], **DIALOG)]
    assert found == [(said[:n], said[n]) for n in range(1, len(said), 2)]


def test_one_dialog_in_every_format(tmp_path: Path) -> None:
    """JSON lines, Parquet, TSV, CSV and a list in memory give the same rows."""
    wanted = [(join_turns(SAID[:n]), SAID[n]) for n in (1, 3)]
    cell = json.dumps(SAID)
    parquet.write_table(pa.table({"turns": [SAID]}), tmp_path / "d.parquet")
    (tmp_path / "d.tsv").write_text(f"turns\n{cell}\n", encoding="utf-8")
    quoted = cell.replace('"', '""')
    (tmp_path / "d.csv").write_text(f'turns\n"{quoted}"\n', encoding="utf-8")
    named: Options = {**DIALOG, "source": "turns", "target": "turns", "header": "auto"}
    spoken = [{"speaker": "ba"[n % 2], "text": text} for n, text in enumerate(SAID)]
    assert read([(SAID,)], **DIALOG) == wanted
    for name in ("d.parquet", "d.tsv", "d.csv"):
        assert read(tmp_path / name, **named) == wanted, name
    for turns in (SAID, spoken):
        assert read(lines(tmp_path / "d.jsonl", {"id": 7, "turns": turns}), **named) == wanted


def test_speakers_may_say_several_turns(tmp_path: Path) -> None:
    """Replies are those of the second to speak, or of the one who is named."""
    who = ["guide", "guide", "guest", "guide", "guest", "guest"]
    turns = [{"speaker": name, "text": str(n)} for n, name in enumerate(who)]
    path = lines(tmp_path / "d.jsonl", {"turns": turns})
    named: Options = {**DIALOG, "source": "turns", "target": "turns", "header": "auto"}
    assert [target for _, target in read(path, **named)] == ["2", "4", "5"]
    assert [target for _, target in read(path, **named, replies="guide")] == ["1", "3"]


def test_histories_and_several_columns(tmp_path: Path) -> None:
    """A column of lists beside one of replies; or columns that are a turn each."""
    path = lines(tmp_path / "h.jsonl", {"history": ["a", "b"], "reply": "c", "weight": 2})
    options: Options = {"turns": True, "source": "history", "target": "reply"}
    assert read(path, **options) == [(join_turns(["a", "b"]), "c")]
    config = DataConfig.model_validate({**options, "weight": "weight"})
    assert [row.weight for row in read_rows(path, config, Report())] == [2.0]
    table = tmp_path / "c.tsv"
    table.write_text("q\tcontext\ta\nwho?\tI met Ada.\tAda\nwhy?\t\tno\n", encoding="utf-8")
    several: Options = {"turns": True, "source": "q, context", "target": "a", "header": "auto"}
    assert read(table, **several) == [
        (join_turns(["who?", "I met Ada."]), "Ada"),
        (join_turns(["why?", ""]), "no"),
    ]


@pytest.mark.parametrize(
    ("turns", "options", "told"),
    [
        (["hi", 3], {}, 'turn 2 is not text; write turns as ["text", ...]'),
        ([{"said": "hi"}, "x"], {}, "turn 1 is not text"),
        (["hi", "a\0b"], {}, "turn 2 holds a NUL character; remove it"),
        (["hi"], {}, "nobody replies in this dialog"),
        ([], {}, "nobody replies in this dialog"),
        (["hi", ""], {}, "the target is empty; fill it in"),
        (["", "hello"], {}, "the source is empty; fill it in"),
        (["hi", "yes"], {"replies": "bob"}, "its turns have no speakers; leave data.replies out"),
        (
            [{"speaker": "a", "text": "x"}, {"speaker": "b", "text": "y"}],
            {"replies": "c"},
            "'c' replies to nothing; set data.replies to one of a, b",
        ),
    ],
)
def test_what_is_wrong_with_a_dialog(
    tmp_path: Path, turns: list[object], options: dict[str, str], told: str
) -> None:
    """RELIABILITY B1: the place, what is wrong, the cure; or it is counted and left out."""
    path = lines(tmp_path / "d.jsonl", {"turns": SAID}, {"turns": turns})
    named: Options = {**DIALOG, "source": "turns", "target": "turns", **options}
    if not options:
        assert sentence(path, **named).startswith(f"{path}:2: {told}")
        report = Report()
        config = DataConfig.model_validate({**named, "skip_bad": True})
        assert len(list(read_rows(path, config, report))) == 2
        assert report.total_dropped == 1
    else:
        path = lines(path, {"turns": turns})
        assert sentence(path, **named).startswith(f"{path}:1: {told}")


def test_a_dialog_is_held_out_whole() -> None:
    """No reply is learnt from whose dialog is in the held-out part."""
    data: Data = [([f"start {n}", "a", f"more {n}", "b", "bye", "c"],) for n in range(40)]
    config = DataConfig.model_validate({**DIALOG, "valid_share": 0.2})
    split = hold_out(survey(data, config, seed=1), config, seed=1)
    rows = list(read_rows(data, config, Report()))
    held = {split_turns(row.source)[0] for row in split.valid(rows)}
    learnt = {split_turns(row.source)[0] for row in split.train(rows)}
    assert held
    assert not held & learnt
    assert len(list(split.valid(rows))) == 3 * len(held)


def test_what_follows_from_the_source() -> None:
    """Several columns are turns where that is said, and else columns; tags need one text."""
    chosen = {"data": {"source": "a,b", "target": "c"}}
    several = plan({**chosen, "source": {"kind": "turns"}}, FACTS)
    assert isinstance(several.source, TurnsConfig)
    assert (several.data.turns, several.data.columns) == (True, False)
    columns = plan(chosen, FACTS)
    assert columns.source.kind == "columns"
    assert (columns.data.turns, columns.data.columns) == (False, True)
    kept = plan({"data": {"source": "a,b"}, "source": {"kind": "text"}}, FACTS)
    assert (kept.source.kind, kept.data.turns) == ("text", False)
    with pytest.raises(ConfigError, match="a source of kind turns and tags do not go together"):
        plan({"source": "turns", "target": "tags"}, FACTS)
