"""What a run is made of, and what it refuses to go on with (S1)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import PRESETS, merge, parse, validate
from seqloom.data import Corpus, Data
from seqloom.errors import ConfigError, DataError
from seqloom.fields import load_text
from tests.runs.support import PAIRS, Listening, options, trained, write_pairs


def texts(run: Path, side: str) -> list[tuple[str, str]]:
    """The rows of a part of the data as they are encoded in the run's cache."""
    corpus = Corpus.open(run / "cache" / side)
    batch = corpus.batch(np.arange(len(corpus)))
    source, target = (load_text(run / "fields" / name) for name in ("source", "target"))
    return [
        (source.decode(one), target.decode(two))
        for one, two in zip(batch.source.tolist(), batch.target.tolist(), strict=True)
    ]


def test_a_part_is_held_out_where_none_is_given(tmp_path: Path) -> None:
    """Every row is on one side, about the asked share is held out, and no source is on both."""
    doubled = [*PAIRS, *((source, target + "x") for source, target in PAIRS)]
    train(doubled, tmp_path / "run", options=options(updates=1))
    learnt, held_out = texts(tmp_path / "run", "train"), texts(tmp_path / "run", "valid")
    assert sorted(learnt + held_out) == sorted(doubled)
    assert not {source for source, _ in learnt} & {source for source, _ in held_out}
    assert 1 <= len(held_out) <= 8


def test_held_out_data_that_is_given_is_used_whole(tmp_path: Path) -> None:
    train(PAIRS[10:], tmp_path / "run", valid=PAIRS[:10], options=options(updates=1))
    assert sorted(texts(tmp_path / "run", "valid")) == sorted(PAIRS[:10])
    assert sorted(texts(tmp_path / "run", "train")) == sorted(PAIRS[10:])


def test_nothing_to_hold_out(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing can be held out; give at least two different"):
        train([("a", "b"), ("a", "c")], tmp_path / "run", options=options())


def test_a_file_a_table_and_a_list_give_the_same_run(tmp_path: Path) -> None:
    """Data in memory is data: same rows, same results."""
    pairs = write_pairs(tmp_path / "pairs.tsv")
    (tmp_path / "a.txt").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    (tmp_path / "b.txt").write_text("".join(f"{target}\n" for _, target in PAIRS))
    sides = f"{tmp_path / 'a.txt'},{tmp_path / 'b.txt'}"
    results = [
        train(data, tmp_path / name, options=options(updates=3, validate_every=3)).best
        for name, data in (("list", PAIRS), ("file", pairs), ("name", str(pairs)), ("two", sides))
    ]
    assert results == [results[0]] * 4


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("model", "embedding", 16),
        ("model", "share_vocabulary", True),
        ("source", "unit", "word"),
        ("target", "lowercase", True),
        ("data", "max_source", 9),
    ],
)
def test_options_that_make_another_run_are_refused(
    table: str, name: str, value: object, tmp_path: Path
) -> None:
    """The sentence names the option, what the run was begun with, and what was asked."""
    trained(tmp_path / "run", options(updates=2))
    before = (tmp_path / "run" / "config.toml").read_bytes()
    other = options(updates=2)
    other[table] = {**other.get(table, {}), name: value}
    with pytest.raises(ConfigError, match=rf"was begun with {table}.{name} = ") as caught:
        train(PAIRS, tmp_path / "run", options=other)
    setting = {table: {name: value}}
    assert f"leave options={setting!r} out to go on" in str(caught.value)
    assert (tmp_path / "run" / "config.toml").read_bytes() == before


def test_another_seed_is_refused(tmp_path: Path) -> None:
    trained(tmp_path / "run", options(updates=2))
    with pytest.raises(ConfigError, match="was begun with seed = 1"):
        train(PAIRS, tmp_path / "run", options={**options(updates=2), "seed": 2})


def test_another_preset_is_refused(tmp_path: Path) -> None:
    trained(tmp_path / "run", options("transformer", updates=2))
    with pytest.raises(ConfigError, match="model='lstm'"):
        train(PAIRS, tmp_path / "run", model="lstm")


@pytest.mark.parametrize("preset", ["transformer", "lstm", "gru"])
@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ({"target": {"kind": "label"}}, [(source, source[0]) for source, _ in PAIRS]),
        ({"source": {"kind": "none"}}, [(source,) for source, _ in PAIRS]),
    ],
    ids=["label", "language"],
)
def test_the_same_command_goes_on_whatever_the_columns(
    columns: dict[str, Any], rows: Data, preset: str, tmp_path: Path
) -> None:
    """What the columns ask for is not the preset's to choose; another preset is refused."""
    chosen = merge(columns, {"training": {"updates": 1, "workers": 1, "curves": False}})
    for _ in range(2):
        assert train(rows, tmp_path / "run", model=preset, options=chosen).steps == 1
    with pytest.raises(ConfigError, match="model='elman'"):
        train(rows, tmp_path / "run", model="elman", options=chosen)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_command_goes_on_whatever_the_preset(preset: str, tmp_path: Path) -> None:
    """Also where an option has put another part in place of the preset's."""
    small = {"model": {"encoder": {"layers": 1}, "decoder": {"dropout": 0.0}}}
    chosen = merge(small, {"training": {"updates": 1, "workers": 1, "curves": False}})
    if preset in ("lstm", "elman"):
        chosen = merge(chosen, {"model": {"encoder": {"unit": "gru"}}})
    for _ in range(2):
        assert train(PAIRS, tmp_path / "run", model=preset, options=chosen).steps == 1


@pytest.mark.parametrize("cached", [True, False], ids=["cached", "cache-removed"])
def test_other_data_is_refused(tmp_path: Path, *, cached: bool) -> None:
    """The cache may go at any time, and still a run remembers what it was trained on."""
    trained(tmp_path / "run", options(updates=2))
    if not cached:
        for path in sorted((tmp_path / "run" / "cache").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (tmp_path / "run" / "cache").rmdir()
    with pytest.raises(DataError, match="not the data that .* was trained on so far"):
        train(PAIRS[:40], tmp_path / "run", options=options(updates=2))
    trained(tmp_path / "run", options(updates=2))


def test_other_held_out_rows_are_refused(tmp_path: Path) -> None:
    """Results on other rows do not tell which step is the best, nor when there is no progress."""
    run, chosen = tmp_path / "run", options(updates=4, validate_every=2)
    train(PAIRS[8:], run, valid=PAIRS[:8], options=chosen, until=2)
    with pytest.raises(DataError, match="not the held-out rows that .* was measured on so far"):
        train(PAIRS[8:], run, valid=PAIRS[:6], options=chosen)
    assert train(PAIRS[8:], run, valid=PAIRS[:8], options=chosen).steps == 4


def test_without_options_a_run_goes_on_with_its_own(tmp_path: Path) -> None:
    first = trained(tmp_path / "run", options(updates=2))
    assert train(PAIRS, tmp_path / "run") == first


def test_config_is_complete(tmp_path: Path) -> None:
    """config.toml says everything, so that nothing depends on later defaults."""
    trained(tmp_path / "run", options(updates=2))
    text = (tmp_path / "run" / "config.toml").read_text()
    config = validate(parse(text, place="config.toml"), place="config.toml")
    assert load(tmp_path / "run").config == config
    assert config.training.updates == 2


@pytest.mark.parametrize("data", [[], [("a",)], [("a", None)], "missing.tsv"])
def test_a_failed_start_leaves_no_run(data: object, tmp_path: Path) -> None:
    """What cannot be trained on is said before anything is kept, so the next try starts fresh."""
    with pytest.raises(DataError):
        train(data, tmp_path / "run", options=options())  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()
    trained(tmp_path / "run", options(updates=1))


def test_a_damaged_cache_is_named_and_made_again(tmp_path: Path) -> None:
    """A11: the run goes on as if nothing had happened to the encoded rows."""
    pairs, run = write_pairs(tmp_path / "pairs.tsv"), tmp_path / "run"
    train(pairs, run, options=options(updates=2), until=1)
    path = run / "cache" / "train" / "target.values"
    whole = path.read_bytes()
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    watch = Listening()
    train(pairs, run, options=options(updates=2), watch=watch)
    assert path.read_bytes() == whole
    assert any(f"{path}: its bytes have changed" in sentence for sentence in watch.heard)
