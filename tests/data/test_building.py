"""Corpora built in blocks, on several cores and after a break, are those built row by row."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from seqloom.config import Config, DataConfig, TextConfig
from seqloom.data import (
    Columns,
    Corpus,
    CorpusPlan,
    Recasing,
    Report,
    Split,
    build_corpora,
    read_rows,
)
from seqloom.data.blocks import building
from seqloom.data.blocks.rows import BlockRows
from seqloom.errors import Interrupted
from seqloom.fields import Field, learn_field
from seqloom.readers import blocks
from seqloom.surveys import hold_out, survey

CONFIGS: dict[str, dict[str, Any]] = {
    "usual": {},
    "dropped": {"max_source": 6, "max_target": 8},
    "truncated": {"max_source": 6, "max_target": 8, "overlong": "truncate"},
    "split": {"max_source": 14, "max_target": 14, "overlong": "split"},
    "recased": {"recased": 0.5, "max_source": 9},
    "bad rows": {"skip_bad": True},
}


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 700)


@pytest.fixture
def table(tmp_path: Path) -> str:
    chance, words = Random(1), ["One", "two,", "three", "four."]
    path = tmp_path / "table.tsv"
    lines = []
    for number in range(400):
        texts = (" ".join(chance.choices(words, k=chance.randrange(1, 9))) for _ in range(2))
        lines.append("\t".join(texts) if number % 97 or not number else "no target")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def fields(table: str) -> tuple[Field, Field]:
    config = DataConfig(skip_bad=True)
    rows = list(read_rows(table, config, Report()))
    kind = TextConfig(unit="word")
    source = learn_field(kind, [row.source for row in rows], seed=1)
    return source, learn_field(kind, [row.target for row in rows], seed=1)


def contents(corpus: Corpus) -> list[list[Any]]:
    batch = corpus.batch(np.arange(len(corpus)))
    lines = [corpus.place(index).line for index in range(len(corpus))]
    return [batch.source.tolist(), batch.target.tolist(), lines, corpus.weights.tolist()]


def plans(table: str, folder: Path, options: dict[str, Any]) -> tuple[list[CorpusPlan], Split]:
    config = DataConfig(**{"skip_bad": True, **options})
    source, target = fields(table)
    recasing = Recasing.from_config(Config(data=config)) if config.recased else None
    split = hold_out(survey(table, config, seed=1), config, seed=1)
    assert isinstance(split, Split)
    train = Columns(source, target, config, recasing=recasing)
    return [
        CorpusPlan(folder / "train", train, "t" * 20, split.train_mask),
        CorpusPlan(folder / "valid", Columns(source, target, config), "v" * 20, split.valid_mask),
    ], split


@pytest.mark.parametrize("name", CONFIGS)
def test_one_pass_builds_what_two_did(name: str, table: str, tmp_path: Path) -> None:
    made, split = plans(table, tmp_path / "cache", CONFIGS[name])
    built = build_corpora(table, made)
    for plan, corpus, choose in zip(made, built, (split.train, split.valid), strict=True):
        report = Report()
        rows = choose(read_rows(table, plan.columns.config, report))
        place = tmp_path / "rows" / plan.directory.name
        alone = Corpus.build(
            rows, plan.columns, directory=place, report=report, fingerprint=plan.fingerprint
        )
        assert contents(corpus) == contents(alone)
        assert plan.report == report
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"train", "valid"}


def test_a_break_goes_on_where_it_was(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done is not encoded again, and the result is the same."""
    monkeypatch.setattr(building, "DURABLE_EVERY", 0.0)
    monkeypatch.setattr("seqloom.parallel.core_count", lambda: 1)
    whole, _ = plans(table, tmp_path / "whole", {})
    expected = [contents(corpus) for corpus in build_corpora(table, whole)]
    broken, _ = plans(table, tmp_path / "cache", {})

    def stop(share: float) -> None:
        if share > 0.5:
            raise Interrupted("stopped")

    with pytest.raises(Interrupted):
        build_corpora(table, broken, tell=stop)
    again, _ = plans(table, tmp_path / "cache", {})
    seen: list[int] = []
    choose = again[0].choose

    def count(rows: BlockRows) -> Any:
        seen.append(len(rows))
        return choose(rows) if choose is not None else None

    again[0].choose = count
    assert [contents(corpus) for corpus in build_corpora(table, again)] == expected
    assert 0 < sum(seen) < 300
    assert [plan.report for plan in again] == [plan.report for plan in whole]


def test_another_build_begins_anew(table: str, tmp_path: Path) -> None:
    """What was left of other rows is cleared away."""
    left = tmp_path / "cache" / ".train-old"
    left.mkdir(parents=True)
    (tmp_path / "cache" / building.STATE).write_text('{"marks": ["x", "y"]}')
    made, _ = plans(table, tmp_path / "cache", {})
    build_corpora(table, made)
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"train", "valid"}


def test_an_error_leaves_nothing(table: str, tmp_path: Path) -> None:
    def failing(share: float) -> None:
        raise ValueError("refused")

    made, _ = plans(table, tmp_path / "cache", {})
    with pytest.raises(ValueError, match="refused"):
        build_corpora(table, made, tell=failing)
    assert list((tmp_path / "cache").iterdir()) == []
