"""Batches: every row once a pass, within the budget, a function of (seed, step) alone."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig, TextConfig
from seqloom.data import (
    Batches,
    Columns,
    Corpus,
    Lengths,
    Report,
    batches_by_length,
    even_indices,
    padding_share,
    read_rows,
)
from seqloom.errors import ConfigError
from seqloom.fields import TextField

sizes = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60)


def lengths_of(pairs: list[tuple[int, int]]) -> Lengths:
    source, target = np.array(pairs, dtype=np.int32).T
    return Lengths(source, target)


def like_multi30k() -> Lengths:
    """Targets of mean 15 and deviation 5, and sources about as long as they are."""
    generator = np.random.default_rng(0)
    target = np.rint(generator.normal(15, 5, 29_000)).clip(3, 45)
    source = np.rint(target * 1.05 + generator.normal(0, 3, 29_000)).clip(3, 50)
    return Lengths(source.astype(np.int32), target.astype(np.int32))


@given(pairs=sizes, tokens=st.integers(1, 200), most=st.integers(0, 5), seed=st.integers(0, 9))
def test_every_row_once_and_the_budget_kept(
    pairs: list[tuple[int, int]], tokens: int, most: int, seed: int
) -> None:
    """Over two passes, and for held-out data; one row alone may break the budget, and there may be
    a limit of rows, of one for incremental training (S6.6)."""
    lengths = lengths_of(pairs)
    batches = Batches(lengths, tokens=tokens, rows=most, seed=seed)
    first, second = batches.per_epoch(0), batches.per_epoch(1)
    passes = [
        [batches.indices(step) for step in range(first)],
        [batches.indices(step) for step in range(first, first + second)],
        batches_by_length(lengths, tokens=tokens),
    ]
    for each in passes:
        assert sorted(np.concatenate(each).tolist()) == list(range(len(pairs)))
        for rows in each:
            longest = max(int(side[rows].max()) for side in lengths)
            assert len(rows) == 1 or len(rows) * longest <= tokens
    assert not most or all(len(rows) <= most for each in passes[:2] for rows in each)


@given(pairs=sizes, seed=st.integers(0, 9), steps=st.lists(st.integers(0, 40), max_size=6))
def test_a_batch_depends_on_seed_and_step_alone(
    pairs: list[tuple[int, int]], seed: int, steps: list[int]
) -> None:
    """Whatever was asked before, in whatever order."""
    lengths = lengths_of(pairs)
    asked = Batches(lengths, tokens=60, seed=seed)
    for step in steps:
        fresh = Batches(lengths, tokens=60, seed=seed)
        assert asked.indices(step).tolist() == fresh.indices(step).tolist()
        assert asked.epoch(step) == fresh.epoch(step)


@given(pairs=sizes, world=st.integers(1, 4), step=st.integers(0, 5))
def test_shares_part_the_batch(pairs: list[tuple[int, int]], world: int, step: int) -> None:
    """Rank r takes every n-th sentence of the batch, which is sorted by length."""
    batches = Batches(lengths_of(pairs), tokens=120, seed=3)
    whole = batches.indices(step)
    longer = lengths_of(pairs).longer[whole]
    assert (np.diff(longer) >= 0).all()
    shares = [batches.share(step, rank=rank, world=world) for rank in range(world)]
    assert sorted(np.concatenate(shares).tolist()) == sorted(whole.tolist())
    for rank, share in enumerate(shares):
        assert share.tolist() == whole[rank::world].tolist()


def test_passes_differ() -> None:
    """Other neighbours and another order in each pass, and for each seed."""
    lengths = like_multi30k()
    batches = Batches(lengths, tokens=4_096, seed=1)
    other = Batches(lengths, tokens=4_096, seed=2)
    first = {tuple(sorted(batches.indices(step))) for step in range(batches.per_epoch(0))}
    start = batches.per_epoch(0)
    second = {tuple(sorted(batches.indices(start + n))) for n in range(batches.per_epoch(1))}
    assert not first & second
    assert not first & {tuple(sorted(other.indices(step))) for step in range(other.per_epoch(0))}


def test_epochs_are_numbered() -> None:
    batches = Batches(like_multi30k(), tokens=4_096, seed=1)
    first, second = batches.per_epoch(0), batches.per_epoch(1)
    steps = [0, first - 1, first, first + second - 1, first + second]
    assert [batches.epoch(step) for step in steps] == [0, 0, 1, 1, 2]


def test_padding_is_rare() -> None:
    """At most 8 % of the positions at the default budget, in every pass."""
    lengths = like_multi30k()
    batches = Batches(lengths, tokens=4_096, seed=1)
    assert max(batches.padding(epoch) for epoch in range(6)) <= 0.08
    assert padding_share(batches_by_length(lengths, tokens=4_096), lengths) <= 0.06


def test_padding_share_of_a_case_worked_by_hand() -> None:
    """Sources 2 and 4 padded to 4 and targets 3 and 3: 2 empty positions of 14."""
    lengths = lengths_of([(2, 3), (4, 3)])
    assert padding_share([np.array([0, 1])], lengths) == pytest.approx(2 / 14)


@given(st.integers(1, 500), st.integers(1, 100))
def test_some_rows_are_spread_over_all(count: int, most: int) -> None:
    """From the first on, each once, evenly; all where there are no more, and none of nothing."""
    chosen = even_indices(count, most)
    assert len(chosen) == min(count, most)
    assert chosen[0] == 0
    assert len(chosen) == 1 or chosen[-1] == count - 1
    gaps = np.diff(chosen)
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1
    assert (gaps > 0).all()
    assert len(even_indices(0, most)) == 0


def test_no_rows_is_an_error() -> None:
    nothing = np.zeros(0, dtype=np.int32)
    with pytest.raises(ConfigError):
        Batches(Lengths(nothing, nothing), tokens=10, seed=1)


@pytest.mark.shared_data
def test_padding_on_multi30k(shared_data: Path, tmp_path: Path) -> None:
    """At most 8 % at the default budget, with 8,000 subwords."""
    folder = shared_data / "multi30k"
    rows = list(read_rows(f"{folder}/train.de,{folder}/train.en", DataConfig(), Report()))
    texts = (text for row in rows for text in row[:2])
    field = TextField.learn(TextConfig(unit="subword", size=8_000), texts, seed=1)
    corpus = Corpus.build(
        rows,
        Columns(field, field, DataConfig()),
        directory=tmp_path / "corpus",
        report=Report(),
        fingerprint="",
    )
    batches = Batches(corpus.lengths, tokens=4_096, seed=1)
    assert max(batches.padding(epoch) for epoch in range(3)) <= 0.08


def test_pictures_have_any_mates() -> None:
    """Where sources are all one long and the limit is one of rows, lengths sort nothing; where the
    budget is what limits, or sources differ, mates are of like length."""
    target = np.repeat(np.array([2, 9], dtype=np.int32), 200)
    pictures = Lengths(np.ones_like(target), target)

    def mixed(lengths: Lengths, tokens: int) -> int:
        batches = Batches(lengths, tokens=tokens, rows=20, seed=1)
        each = (batches.indices(step) for step in range(batches.per_epoch(0)))
        return sum(len(set(target[rows].tolist())) > 1 for rows in each)

    assert mixed(pictures, 180) == 20
    assert mixed(pictures, 179) <= 1
    assert mixed(Lengths(target, target), 180) <= 1


def test_very_many_rows_are_sorted_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each epoch still holds every row once, within the budget, and in an order of its own."""
    monkeypatch.setattr("seqloom.data.batches.STRETCH", 100)
    chance = np.random.default_rng(1)
    source, target = (chance.integers(1, 20, 730).astype(np.int32) for _ in range(2))
    lengths = Lengths(source, target)
    batches = Batches(lengths, tokens=200, seed=1)
    epochs = []
    for epoch in range(2):
        first = sum(batches.per_epoch(earlier) for earlier in range(epoch))
        steps = [batches.indices(first + n) for n in range(batches.per_epoch(epoch))]
        assert sorted(np.concatenate(steps).tolist()) == list(range(730))
        assert all(len(rows) * lengths.longer[rows].max() <= 200 for rows in steps)
        epochs.append(np.concatenate(steps).tolist())
    assert epochs[0] != epochs[1]
