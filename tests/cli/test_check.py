"""`check` judges: what a person should see before training, and a verdict at the end."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.support import Command
from tests.cli.tables import WORDS, labelled, sentences, table

QUICK = ["--set=training.batch_tokens=128", "--set=training.workers=1"]


def judge(command: Command, *arguments: object) -> str:
    """The verdict, which is the last part of what is told."""
    told = command("check", *arguments, *QUICK)
    assert told.code == 0, told.err
    return told.out[told.out.index("verdict: ") :]


def test_sound_data_is_ready(command: Command, tmp_path: Path) -> None:
    texts = sentences(600)
    data = table(tmp_path / "d.tsv", [(each, each[::-1]) for each in texts])
    assert judge(command, data) == "verdict: ready to train; nothing stands against it\n"


def test_a_stream_whose_gradients_go_back_to_the_beginning(
    command: Command, tmp_path: Path
) -> None:
    """It is read in chunks all the same, for which `check` estimates the time."""
    (tmp_path / "text.txt").write_text("\n".join(sentences(600)) + "\n")
    stream = ["--source", "none", "--set=data.lines=stream", "--set=training.truncate=0"]
    told = command("check", tmp_path / "text.txt", *stream, *QUICK)
    assert told.code == 0, told.err
    assert "training would take" in told.out


def test_columns_that_are_not_read(command: Command, tmp_path: Path) -> None:
    """By position without a header, by name with one; in JSONL by key."""
    rows = [(each, each[::-1], 7, "x") for each in sentences(600)]
    told = judge(command, table(tmp_path / "a.tsv", rows))
    assert "columns 3, 4 are not read" in told
    named = table(tmp_path / "b.csv", [("text", "label", "who"), *(row[:3] for row in rows)], ",")
    assert "column 3 ('who') is not read; name it with --source" in judge(command, named)
    lines = [json.dumps({"x": row[0], "y": row[1], "z": row[2]}) for row in rows]
    (tmp_path / "c.jsonl").write_text("\n".join(lines) + "\n")
    told = judge(command, tmp_path / "c.jsonl", "--source", "x", "--target", "y")
    assert "column 3 ('z') is not read" in told


@pytest.mark.parametrize("header", [("de", "en"), ("Sentence", "Price")])
def test_a_first_row_that_looks_like_a_header(
    header: tuple[str, str], command: Command, tmp_path: Path
) -> None:
    rows = [(each, number) for number, each in enumerate(sentences(600))]
    data = table(tmp_path / "d.tsv", [header, *rows])
    told = judge(command, data)
    assert told.startswith("verdict: look at this before training\n  1. the first row (")
    assert "looks like a header and is read as a row; write --set data.header=yes" in told
    assert "looks like a header" not in judge(command, data, "--set", "data.header=yes")
    assert "looks like a header" not in judge(command, table(tmp_path / "e.tsv", rows))


def test_a_header_above_dates_or_numbered_files(command: Command, tmp_path: Path) -> None:
    """It is the only cell of its column without a digit."""
    dates = [
        (f"{day}.3.{year}", f"{year}-03-{day:02d}") for year in range(1980, 2005) for day in (5, 9)
    ]
    data = table(tmp_path / "d.tsv", [("written", "ISO"), *dates])
    assert "the first row ('written', 'ISO') looks like a header" in judge(command, data)
    assert "looks like a header" not in judge(command, table(tmp_path / "e.tsv", dates))
    words = [text.rpartition(" ")[0] for text in sentences(60)]
    mixed = [(f"x {number}" if number % 2 else "none", text) for number, text in enumerate(words)]
    assert "looks like a header" not in judge(command, table(tmp_path / "f.tsv", mixed))


@pytest.mark.parametrize(
    ("ending", "kind"), [("png", "picture"), ("JPG", "picture"), ("wav", "sound")]
)
def test_names_of_files_that_are_read_as_text(
    ending: str, kind: str, command: Command, tmp_path: Path
) -> None:
    rows = [(f"shots/{number}.{ending}", text) for number, text in enumerate(sentences(60))]
    told = judge(command, table(tmp_path / "d.tsv", rows))
    assert (
        f"the sources are names of {kind} files and are read as text; write --source 1:{kind}"
        in told
    )
    assert "names of" not in judge(command, table(tmp_path / "e.tsv", [(b, a) for a, b in rows]))


def test_labels_are_counted_and_slips_named(command: Command, tmp_path: Path) -> None:
    rows = [(each, "atis_flight") for each in sentences(400)]
    rows += [(each, "atis_fare") for each in sentences(200, seed=2)]
    data = table(tmp_path / "d.tsv", rows)
    told = judge(command, data, "--target", "2:label")
    assert told.startswith("verdict: ready to train; worth knowing\n")
    assert "2 labels: atis_flight 400, atis_fare 200" in told
    rows[3] = (rows[3][0], "atis_fligth")
    rows[4] = (rows[4][0], "Atis_Flight")
    told = judge(command, table(tmp_path / "e.tsv", rows), "--target", "2:label")
    assert "verdict: look at this" in told
    assert "'atis_fligth' (1) and 'atis_flight' (398)" in told
    assert "'Atis_Flight' (1) and 'atis_flight' (398)" in told
    assert "'atis_fare'" not in told


def test_labels_nearly_as_many_as_rows(command: Command, tmp_path: Path) -> None:
    rows = [(each, f"answer {number % 450}") for number, each in enumerate(sentences(600))]
    told = judge(command, table(tmp_path / "d.tsv", rows), "--target", "2:label")
    assert "450 different labels in 600 rows: most come once; write --target 2:text or" in told
    told = judge(command, table(tmp_path / "e.tsv", labelled(600, "a")), "--target", "2:label")
    assert "all rows have the label 'a': nothing is to learn" in told


def test_a_target_that_is_something_else_than_text(command: Command, tmp_path: Path) -> None:
    """With the option to write."""
    told = judge(command, table(tmp_path / "l.tsv", labelled(600)))
    assert "only 3 different targets ('a', 'b', 'c'); write --target 2:label if they are" in told
    texts = sentences(600)
    numbers = [(each, number / 4) for number, each in enumerate(texts)]
    told = judge(command, table(tmp_path / "n.tsv", numbers))
    assert "write --target 2:number if their size is meant" in told
    tags = [(each, " ".join("NV"[len(word) % 2] for word in each.split())) for each in texts]
    told = judge(command, table(tmp_path / "t.tsv", tags))
    assert "one word for each word of the source, of 2 kinds; write --target 2:tags" in told
    told = judge(command, table(tmp_path / "t.tsv", tags), "--target", "2:tags")
    assert "write --target" not in told


def test_too_few_rows(command: Command, tmp_path: Path) -> None:
    texts = sentences(5)
    told = judge(command, table(tmp_path / "d.tsv", [(each, each[::-1]) for each in texts]))
    assert re.search(r"5 rows are too few to learn from: [\d,]+ updates would learn them by", told)


def test_separators_are_guessed(command: Command, tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(each, each[::-1]) for each in sentences(9)]
    for name, separator, part in (
        ("a.tsv", ";", "set apart by semicolons, so put tabs in their place"),
        ("b.tsv", "   ", "set apart by several spaces, so put one tab in their place"),
        ("c.tsv", ",", "it holds commas, so name the file .csv"),
    ):
        told = command("check", table(tmp_path / name, rows, separator))
        assert (told.code, part in told.sentence) == (3, True), told.err


def test_a_spreadsheet_may_write_semicolons(command: Command, tmp_path: Path) -> None:
    """With a byte order mark, Windows line ends, quoted texts and decimal commas; `check` says so,
    and training reads the same columns."""
    texts = [f'"{each}; ""and"" so on"' for each in sentences(600)]
    lines = ["text;label;price", *(f"{each};{'xyz'[n % 3]};{n},5" for n, each in enumerate(texts))]
    data = tmp_path / "d.csv"
    data.write_bytes("\ufeff".encode() + "\r\n".join(lines).encode() + b"\r\n")
    told = judge(command, data, "--source", "text", "--target", "label:label")
    assert "its columns are set apart by semicolons" in told
    assert "3 labels: x 200, y 200, z 200" in told
    assert "column 3 ('price') is not read" in told


def test_a_separator_inside_of_cells_is_doubted(command: Command, tmp_path: Path) -> None:
    """Names with a comma in each, in a file whose columns semicolons part."""
    rows = [(f"{each}, Dr;{each[::-1]}",) for each in sentences(600)]
    told = judge(command, table(tmp_path / "d.csv", rows))
    assert "nearly every row has semicolons in it; if they part the columns, put one tab in" in told


@pytest.mark.parametrize("separator", ["\t", ","])
def test_marks_between_features_part_no_columns(
    separator: str, command: Command, tmp_path: Path
) -> None:
    """As many features in every row, which come back."""
    rows = [(f"{each}a", f"{'NV'[n % 2]};{'XYZ'[n % 3]}", each) for n, each in enumerate(WORDS * 3)]
    data = table(tmp_path / ("d.tsv" if separator == "\t" else "d.csv"), rows, separator)
    assert "semicolons" not in judge(command, data, "--source", "1,2", "--target", "3")


def test_sources_are_compared_over_all_their_columns(command: Command, tmp_path: Path) -> None:
    """A lemma comes with many features: none of the rows repeats the source of another."""
    rows: list[tuple[object, ...]] = [
        (f"lemma{number % 60}", f"{number}", f"{f};x{number}") for number in range(60) for f in "ab"
    ]
    pairs = [(a, c, b) for a, b, c in rows]
    data = table(tmp_path / "d.tsv", pairs)
    other = table(tmp_path / "v.tsv", [(a, f"{b}z", c) for a, b, c in pairs])
    asked = [data, "--source", "1,2", "--target", "3", "--valid", other]
    told = command("check", *asked, *QUICK)
    assert told.code == 0, told.err
    assert "repeated sources: 0" in told.out
    assert "held-out sources that are also in the training data: 0" in told.out


def test_held_out_rows_that_are_learnt_from(command: Command, tmp_path: Path) -> None:
    pairs: list[tuple[object, ...]] = [(each, each[::-1]) for each in sentences(600)]
    data = table(tmp_path / "d.tsv", pairs)
    told = judge(command, data, "--valid", table(tmp_path / "v.tsv", pairs[:7]))
    assert "7 of 7 held-out rows are also in the training data; take them out of one" in told


def test_bad_rows_are_in_the_verdict(command: Command, tmp_path: Path) -> None:
    texts = sentences(600)
    data = table(tmp_path / "d.tsv", [*((each, each[::-1]) for each in texts), ("no target", "")])
    told = command("check", data, *QUICK)
    assert told.code == 3
    assert "verdict: 1 row cannot be used; mend it first" in told.out
    assert "1 row cannot be used" in told.sentence


def test_times_are_told_for_series_too(command: Command, tmp_path: Path) -> None:
    days = [(f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}", day % 7) for day in range(280)]
    moved = [(f"{number}", value) for number, (_, value) in enumerate(days)]
    data = table(tmp_path / "s.csv", [("t", "x"), *moved], ",")
    told = command("check", data, "--target", "x:series", "--set=target.horizon=7")
    assert told.code == 0, told.err
    assert re.search("training would take (less than a|about [0-9]+) minutes? here and", told.out)
    assert "season: 7 steps" in told.out
    assert "verdict: ready to train" in told.out
    assert "about 1 minutes" not in told.out
