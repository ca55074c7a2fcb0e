"""The survey counts what a plain count gives, and the split keeps like sources together."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom import hashing
from seqloom.config import DataConfig
from seqloom.data import FileLocation, Row
from seqloom.data.blocks.rows import BlockRows
from seqloom.errors import DataError
from seqloom.hashing import text_hash
from seqloom.surveys import Distribution, Overlap, Survey, hold_out, overlap, survey
from seqloom.surveys.sample import RowSample, SampleCandidates, SampledRow

Pairs = list[tuple[str, str]]
few_words = st.sampled_from(["ja", "nein", "vielleicht morgen", "wer weiß ?"])
pair_lists = st.lists(st.tuples(few_words, few_words), min_size=1, max_size=30)

ONES = np.ones(10)


def look(pairs: Pairs) -> Survey:
    return survey(pairs, DataConfig(), seed=1)


def rows_of(pairs: Pairs) -> list[Row]:
    return [Row(*pair, FileLocation("pairs.tsv", number)) for number, pair in enumerate(pairs, 1)]


@given(pairs=pair_lists)
def test_facts_by_a_plain_count(pairs: Pairs) -> None:
    found = look(pairs)
    assert found.facts.rows == found.report.kept == len(pairs)
    for side, facts in enumerate((found.facts.source, found.facts.target)):
        texts = [pair[side] for pair in pairs]
        split = [text.split() for text in texts]
        assert facts.characters == pytest.approx(np.mean([len(text) for text in texts]))
        assert facts.words == pytest.approx(np.mean([len(words) for words in split]))
        assert facts.distinct_characters == len(set("".join(texts)))
        assert facts.distinct_words == len({word for words in split for word in words})
        assert facts.sample_rows == len(pairs)
    assert found.duplicate_rows == len(pairs) - len(set(pairs))
    assert found.duplicate_sources == len(pairs) - len({source for source, _ in pairs})
    assert sorted(found.sample) == sorted(pairs)


@given(train=pair_lists, valid=pair_lists)
def test_overlap_by_a_plain_count(train: Pairs, valid: Pairs) -> None:
    sources = {source for source, _ in train}
    expected = Overlap(
        sum(pair in train for pair in valid), sum(source in sources for source, _ in valid)
    )
    assert overlap(look(train), look(valid)) == expected


@given(lengths=st.lists(st.integers(0, 50), min_size=1))
def test_quantiles_are_those_of_numpy(lengths: list[int]) -> None:
    found = Distribution.of(Counter(lengths))
    quantiles = np.quantile(lengths, [0, 0.5, 0.95, 0.99, 1], method="inverted_cdf")
    assert [
        found.minimum,
        found.median,
        found.percentile_95,
        found.percentile_99,
        found.maximum,
    ] == list(quantiles)
    assert found.mean == pytest.approx(np.mean(lengths))


def test_sample_is_bounded_fair_and_seeded() -> None:
    """Each row is as likely as another to be in it, wherever it stands."""

    def sample(seed: int) -> Pairs:
        found, candidates = RowSample(50), SampleCandidates(50, seed=seed)
        for start in range(0, 500, 100):
            numbers = range(start, start + 100)
            lines, texts = np.array(numbers), [f"{number}" for number in numbers]
            block = BlockRows(texts, ["t"] * 100, lines, np.ones(100), "f")
            found.add(candidates.choose(block))
        return found.pairs()

    chosen = [sample(seed) for seed in range(40)]
    assert all(len(rows) == len(set(rows)) == 50 for rows in chosen)
    assert chosen[3] == sample(3)
    late = sum(int(source) >= 250 for rows in chosen for source, _ in rows)
    assert abs(late - 1_000) < 5 * np.sqrt(2_000 * 0.25)


def test_a_sample_of_long_rows_has_fewer_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first by rank until the characters of the next would be too many, whatever the order and
    the blocks in which rows come; a single row that is too long stays."""
    monkeypatch.setattr("seqloom.surveys.sample.MOST_CHARACTERS", 1_000)
    chance = np.random.default_rng(1)
    rows = [
        SampledRow(int(rank), line, "s" * int(chance.integers(1, 40)), "t" * 20)
        for line, rank in enumerate(chance.permutation(300))
    ]
    ranked = sorted(rows)
    most = max(n for n in range(300) if sum(len(r.source + r.target) for r in ranked[:n]) <= 1_000)
    expected = [(row.source, row.target) for row in rows if row in ranked[:most]]
    assert 20 < most < 45
    for size in (1, 7, 300):
        for order in (rows, rows[::-1]):
            sample = RowSample(100)
            for start in range(0, 300, size):
                sample.add(order[start : start + size])
            assert sample.pairs() == expected
    alone = RowSample(100)
    assert alone.pairs() == []
    alone.add([SampledRow(1, 1, "s" * 2_000, "t")])
    assert len(alone.pairs()) == 1


def test_few_of_many_long_rows_are_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that belong to the sample, and not many others, of which each would be stored."""
    monkeypatch.setattr("seqloom.surveys.sample.MOST_CHARACTERS", 1_000)
    chance = np.random.default_rng(1)
    texts = ["s" * int(length) for length in chance.integers(1, 40, 5_000)]
    blocks = [
        BlockRows(texts[start : start + 10], ["t"] * 10, np.arange(start, start + 10), ONES, "f")
        for start in range(0, 5_000, 10)
    ]
    few, every = SampleCandidates(100, seed=1), []
    chosen = [few.choose(block) for block in blocks]
    for block in blocks:
        every += SampleCandidates(100, seed=1).choose(block)
    expected = RowSample(100)
    expected.add(every)
    found = RowSample(100)
    for rows in chosen:
        found.add(rows)
    assert found.pairs() == expected.pairs()
    assert sum(map(len, chosen)) < 600


def test_lines_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("ein Haus\ta house\nein Haus\ta house\nja\n\tno\nja\tyes\n", encoding="utf-8")
    found = survey(path, DataConfig(skip_bad=True), seed=1)
    assert found.lines() == [
        "rows kept: 3",
        "rows dropped: 2",
        f"  1 × empty source, first at {path}:4",
        f"  1 × wrong number of columns, first at {path}:3",
        "repeated rows: 1",
        "repeated sources: 1",
        "source characters: mean 6.0, from 2 to 8, half up to 8, 95 % up to 8, 99 % up to 8",
        "source words: mean 1.7, from 1 to 2, half up to 2, 95 % up to 2, 99 % up to 2",
        "target characters: mean 5.7, from 3 to 7, half up to 7, 95 % up to 7, 99 % up to 7",
        "target words: mean 1.7, from 1 to 2, half up to 2, 95 % up to 2, 99 % up to 2",
    ]


def test_a_strict_survey_stops_at_the_first_fault(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\nc\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"pairs\.tsv:2: expected 2 columns, found 1"):
        survey(path, DataConfig(), seed=1)


@given(pairs=pair_lists, seed=st.integers(0, 5), share=st.sampled_from([0.05, 0.3, 0.9]))
def test_split_keeps_like_sources_together(pairs: Pairs, seed: int, share: float) -> None:
    """Each row falls on one side, some are left, and no source is on both unless each has more than
    a quarter of the rows; then rows that are wholly alike stay together."""
    config = DataConfig(valid_share=share)
    split = hold_out(look(pairs), config, seed=seed)
    train, valid = list(split.train(rows_of(pairs))), list(split.valid(rows_of(pairs)))
    assert sorted(train + valid) == sorted(rows_of(pairs))
    most = max(1, int(share * len(pairs)), len(pairs) / 4)
    sources = Counter(source for source, _ in pairs)
    rarest = min(sources.values()), min(Counter(pairs).values())
    by_row = rarest[0] > most
    assert not {row[: 1 + by_row] for row in train} & {row[: 1 + by_row] for row in valid}
    assert train
    assert len(valid) <= most
    assert bool(valid) == (len(sources) >= 2 and rarest[by_row] <= most)


def test_few_sources_do_not_cost_half_of_the_rows() -> None:
    """Of two sources in all rows neither is held out, but rows of both; of two rows, none."""
    pairs = [(f"s{n % 2}", f"t{n}") for n in range(100)]
    split = hold_out(look(pairs), DataConfig(), seed=1)
    valid = list(split.valid(rows_of(pairs)))
    assert len(valid) == 5
    assert not {row[:2] for row in split.train(rows_of(pairs))} & {row[:2] for row in valid}
    assert not hold_out(look(pairs[:2] * 50), DataConfig(), seed=1).holdout


def test_hashes_of_a_source_in_all_rows_take_no_more_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its hash is so small that it is among the stored ones after two halvings, not after three."""
    monkeypatch.setattr(hashing, "MOST_HASHES", 150)
    source = next(f"s{number}" for number in range(1_000) if text_hash(f"s{number}") >> 61 == 1)
    found = look([(source, f"t{number}") for number in range(200)])
    assert found.halvings == 3
    assert len(found.source_hashes) == len(found.input_hashes) == 0
    assert 0 < len(found.row_hashes) < 60


@pytest.mark.parametrize("bits", ["00", "01", "11"])
def test_few_sources_among_very_many_rows(bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows beyond those whose hashes all fit, only small hashes are stored: of two sources
    perhaps both, one or none. Rows of both are held out all the same; of two rows, none."""
    monkeypatch.setattr(hashing, "MOST_HASHES", 150)
    words = [f"s{number}" for number in range(20)]
    first = [next(w for w in words if text_hash(w) >> 63 == int(bit)) for bit in bits]
    last = next(w for w in words[::-1] if text_hash(w) >> 63 == int(bits[1]) and w != first[0])
    pairs = [((first[0], last)[n % 2], f"t{n}") for n in range(200)]
    found = look(pairs)
    assert found.halvings > 0
    split = hold_out(found, DataConfig(), seed=1)
    valid = list(split.valid(rows_of(pairs)))
    assert len(valid) == 10
    assert not {row[:2] for row in split.train(rows_of(pairs))} & {row[:2] for row in valid}
    assert not hold_out(look(pairs[:2] * 100), DataConfig(), seed=1).holdout


@pytest.mark.parametrize(
    ("rows", "share", "cap", "expected"),
    [(1_000, 0.05, 2_000, 50), (1_000, 0.5, 70, 70), (10, 0.05, 2_000, 1), (1_000, 0.0, 9, 0)],
)
def test_split_has_the_size_asked_for(rows: int, share: float, cap: int, expected: int) -> None:
    """The share of the rows or the cap, whichever is less, where sources differ."""
    pairs = [(f"s{n}", "t") for n in range(rows)]
    config = DataConfig(valid_share=share, valid_rows=cap)
    split = hold_out(look(pairs), config, seed=1)
    assert len(list(split.valid(rows_of(pairs)))) == expected


def test_split_is_no_larger_than_asked_with_repeated_sources() -> None:
    """One source has half of the rows; it stays in training."""
    pairs = [("often", f"t{n}") for n in range(500)] + [(f"s{n}", "t") for n in range(500)]
    for seed in range(20):
        split = hold_out(look(pairs), DataConfig(valid_share=0.1), seed=seed)
        valid = list(split.valid(rows_of(pairs)))
        assert len(valid) == 100
        assert all(row.source != "often" for row in valid)


def test_split_depends_on_the_seed_and_hardly_on_other_rows() -> None:
    """A row more does not reshuffle the rest."""
    pairs = [(f"s{n}", "t") for n in range(1_000)]
    config = DataConfig(valid_share=0.1)
    before = hold_out(look(pairs), config, seed=1).holdout
    assert hold_out(look(pairs[::-1]), config, seed=1).holdout == before
    assert len(hold_out(look([*pairs, ("new", "t")]), config, seed=1).holdout & before) >= 99
    assert len(hold_out(look(pairs), config, seed=2).holdout & before) < 30


@pytest.mark.parametrize(
    ("rows", "below"),
    [
        ([(f"take {n} now", f"prends {n} là") for n in range(100)], 2),
        ([(f"take {n % 40} now", f"prends {n % 40} là") for n in range(100)], 3),
        ([(f"take {n} now", f"prends nombre{n} là") for n in range(100)], 0),
        ([("one two", "un deux")] * 100, 0),
        ([("one two", "un deux")] * 500 + [("37", "37")], 0),
    ],
    ids=["come once", "come twice or three times", "translated", "none is rare", "too few rows"],
)
def test_rare_words_that_are_copied(rows: list[tuple[str, str]], below: int) -> None:
    """From the least count on below which nearly all words stand in the source too."""
    assert survey(rows, DataConfig(), seed=1).facts.copied_below == below
