"""A text as one stream: its lanes and chunks, its lines, and the end that is held out."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig, NoColumnConfig, TextConfig
from seqloom.data import Columns, Corpus, Report, StreamBatches, is_stream, read_rows
from seqloom.errors import DataError
from seqloom.fields import TextField, learn_field
from seqloom.surveys import hold_out, survey

STREAM = DataConfig(source="", target="1", lines="stream")
TEXT = "First line\n\n  and, after a blank one,\nthe end"


@given(st.integers(1, 500), st.integers(1, 20), st.integers(1, 60))
def test_an_epoch_holds_every_token_once(tokens: int, lanes: int, steps: int) -> None:
    """And the chunks of a lane follow one another, within and never across its bounds."""
    read = StreamBatches(tokens, lanes=lanes, steps=steps)
    seen: list[list[int]] = [[] for _ in range(read.count)]
    for number in range(read.per_epoch):
        starts, ends, first = read.chunk(number)
        assert first == (number == 0)
        assert (ends - starts).max() <= steps
        for lane, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            seen[lane] += range(start, end)
    assert [token for lane in seen for token in lane] == list(range(tokens))
    assert max(map(len, seen)) - min(map(len, seen)) <= 1
    again = read.chunk(read.per_epoch)
    assert again.first
    assert (again.starts == read.chunk(0).starts).all()


@given(st.integers(1, 500), st.integers(1, 20), st.integers(1, 60), st.integers(0, 5))
def test_every_pass_cuts_the_text_elsewhere(tokens: int, lanes: int, steps: int, seed: int) -> None:
    """With a seed the text is a ring that each pass turns; it still holds every token once, and
    which chunk comes when follows from seed and number alone."""
    read = StreamBatches(tokens, lanes=lanes, steps=steps, seed=seed)
    for epoch in range(3):
        numbers = range(epoch * read.per_epoch, (epoch + 1) * read.per_epoch)
        chunks = [read.chunk(number) for number in numbers]
        lane = [[*zip(c.starts, c.ends, strict=True)] for c in chunks]
        order = [
            p for row in zip(*lane, strict=True) for start, end in row for p in range(start, end)
        ]
        assert [p % tokens for p in order] == [(order[0] + p) % tokens for p in range(tokens)]
        assert [chunk.first for chunk in chunks] == [True] + [False] * (read.per_epoch - 1)
    other = StreamBatches(tokens, lanes=lanes, steps=steps, seed=seed).chunk(2 * read.per_epoch)
    assert (other.starts == read.chunk(2 * read.per_epoch).starts).all()
    turned = StreamBatches(1_000, lanes=4, steps=10, seed=1)
    assert len({turned.chunk(number).starts[0] for number in (0, 25, 50, 75)}) == 4


def test_lines_are_read_with_their_ends(tmp_path: Path) -> None:
    """S1.2: every line of a text file, blank ones too; what they say one after another is the
    text."""
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    rows = list(read_rows(path, STREAM, Report()))
    assert "".join(row.target for row in rows) == f"{TEXT}\n"
    assert [row.place.line for row in rows] == [1, 2, 3, 4]
    rows = list(read_rows(path, STREAM.model_copy(update={"lines": "rows"}), Report()))
    assert [row.target for row in rows] == [line for line in TEXT.split("\n") if line]
    table = list(read_rows([["one"], ["two"]], STREAM, Report()))
    assert [row.target for row in table] == ["one\n", "two\n"]
    assert is_stream(str(path))
    assert is_stream("text.TXT.gz")
    assert not is_stream([["a"]])
    assert not is_stream("a.txt,b.txt")


def test_a_bad_line_is_named_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"good\nb\xffd\nfine\n")
    with pytest.raises(DataError, match="text.txt:2: byte 2 of the line"):
        list(read_rows(path, STREAM, Report()))
    report = Report()
    lenient = STREAM.model_copy(update={"skip_bad": True})
    assert [row.target for row in read_rows(path, lenient, report)] == ["good\n", "fine\n"]
    assert report.total_dropped == 1


@pytest.mark.parametrize("unit", ["character", "byte", "word", "symbol"])
def test_the_corpus_is_one_text(unit: str, tmp_path: Path) -> None:
    """Nothing stands between the lines but their ends, nothing is dropped for its length, and each
    token knows its line."""
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    field = learn_field(TextConfig.model_validate({"unit": unit}), [f"{TEXT}\n"], seed=1)
    assert isinstance(field, TextField)
    nothing = learn_field(NoColumnConfig(), [], seed=1)
    columns = Columns(nothing, field, STREAM.model_copy(update={"max_target": 3}))
    corpus = Corpus.build(
        read_rows(path, columns.config, Report()),
        columns,
        directory=tmp_path / "corpus",
        report=Report(),
        fingerprint="x",
    )
    tokens = np.asarray(corpus.targets)
    assert field.decode(tokens) == field.normalize(f"{TEXT}\n")
    lines = [corpus.place_of(position).line for position in range(len(tokens))]
    assert lines == sorted(lines)
    assert lines.count(2) == 1
    assert (lines[0], lines[-1]) == (1, 4)


def test_the_end_of_a_stream_is_held_out(tmp_path: Path) -> None:
    """The last share of the lines and no others, whatever they say; one at least stays."""
    path = tmp_path / "text.txt"
    path.write_text("same\n" * 20, encoding="utf-8")
    for share, rows, held in ((0.25, 100, 5), (0.25, 3, 3), (0.0, 100, 0), (0.01, 100, 1)):
        config = STREAM.model_copy(update={"valid_share": share, "valid_rows": rows})
        split = hold_out(survey(path, config, seed=1), config, seed=1)
        train = [row.place.line for row in split.train(read_rows(path, config, Report()))]
        valid = [row.place.line for row in split.valid(read_rows(path, config, Report()))]
        assert train + valid == list(range(1, 21))
        assert len(valid) == len(split.holdout) == held
