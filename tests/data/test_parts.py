"""Shards, folders and corpora with shares are read as one data set."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow  # type: ignore[import-untyped]
import pytest
from pyarrow import parquet

from seqloom.baselines.labels import TrainingRows, baselines
from seqloom.config import DataConfig, LabelConfig, NumberConfig, TextConfig
from seqloom.data import (
    Batches,
    Columns,
    Corpus,
    CorpusPlan,
    Report,
    build_corpora,
    data_files,
    fingerprint,
    read_rows,
)
from seqloom.data.mixture import Mixture
from seqloom.errors import DataError
from seqloom.fields import learn_field
from seqloom.runs.held_out import number_guess_loss, symbol_guess_loss
from seqloom.surveys import survey

CONFIG = DataConfig()


def table(path: Path, first: int, rows: int, *, header: bool = False) -> list[str]:
    """Write a table of numbered rows; their sources."""
    lines = [f"s{n}\tt{n}" for n in range(first, first + rows)]
    text = "\n".join([*["source\ttarget"] * header, *lines]) + "\n"
    packed = path.suffix == ".gz"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return [line.split("\t")[0] for line in lines]


def sources(data: str, config: DataConfig = CONFIG) -> list[str]:
    return [row.source for row in read_rows(data, config, Report())]


def build(data: str, place: Path, config: DataConfig = CONFIG) -> Corpus:
    field = learn_field(TextConfig(unit="character"), ["st0123456789"], seed=1)
    plan = CorpusPlan(place, Columns(field, field, config), "x", is_mixed=True)
    return build_corpora(data, [plan])[0]


def test_a_pattern_means_its_files_in_order(tmp_path: Path) -> None:
    expected = table(tmp_path / "part-1.tsv.gz", 0, 5, header=True)
    expected += table(tmp_path / "part-2.tsv.gz", 5, 5)
    table(tmp_path / "other.tsv", 90, 2)
    data = f"{tmp_path}/part-*.tsv.gz"
    assert sources(data) == expected
    assert [row.source for row in read_rows(data, CONFIG, Report()) if row.place.line == 3] == [
        "s1",
        "s7",
    ]
    assert survey(data, CONFIG, seed=1).sample == [(s, s.replace("s", "t")) for s in expected]
    corpus = build(data, tmp_path / "corpus")
    assert str(corpus.place(7)) == f"{tmp_path}/part-2.tsv.gz:3"
    assert corpus.weights.tolist() == [1.0] * 10


def test_a_folder_means_its_files_of_rows(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(3):
        columns = {"source": [f"s{number}"], "target": ["t"]}
        parquet.write_table(pyarrow.table(columns), folder / f"{number}.parquet")
    (folder / "README.md").write_text("not rows")
    config = DataConfig(source="source", target="target")
    assert sources(str(folder), config) == ["s0", "s1", "s2"]
    assert len(data_files(str(folder))) == 3


def test_corpora_are_mixed_in_their_shares(tmp_path: Path) -> None:
    """Of shards too, and of a corpus named twice; rows count as they are."""
    table(tmp_path / "a-1.tsv.gz", 0, 20)
    table(tmp_path / "a-2.tsv.gz", 20, 10)
    table(tmp_path / "b.tsv", 50, 10)
    data = f"{tmp_path}/a-*.tsv.gz:6,{tmp_path}/b.tsv:3,{tmp_path}/b.tsv:1"
    corpus = build(data, tmp_path / "corpus")
    assert len(corpus) == 50
    assert corpus.weights.tolist() == [1.0] * 50
    assert corpus.mixture is not None
    assert corpus.mixture.rows == (30, 10, 10)
    assert corpus.mixture.shares == pytest.approx((0.6, 0.3, 0.1))
    assert Corpus.open(tmp_path / "corpus").mixture == corpus.mixture


def test_a_pass_has_each_corpus_in_its_share(tmp_path: Path) -> None:
    """Each row as often as another of its corpus, or once more; which ones changes from pass to
    pass, and depends on the seed and the number of the pass alone."""
    table(tmp_path / "a.tsv", 0, 30)
    table(tmp_path / "b.tsv", 50, 10)
    corpus = build(f"{tmp_path}/a.tsv:0.4,{tmp_path}/b.tsv:0.6", tmp_path / "corpus")

    def batches(seed: int) -> Batches:
        return Batches(corpus.lengths, tokens=40, seed=seed, mixture=corpus.mixture)

    passes = []
    made = batches(1)
    for epoch in range(4):
        steps = range(made.per_epoch(epoch))
        first = sum(made.per_epoch(each) for each in range(epoch))
        drawn = np.concatenate([made.indices(first + step) for step in steps])
        counts = np.bincount(drawn, minlength=40)
        assert counts.sum() == 40
        assert counts[:30].sum() == 16
        assert set(counts[:30].tolist()) == {0, 1}
        assert set(counts[30:].tolist()) == {2, 3}
        passes.append(counts.tolist())
    assert len({tuple(each) for each in passes}) == 4
    again = batches(1)
    assert all((again.indices(step) == made.indices(step)).all() for step in (9, 3, 17))
    assert any(
        len(batches(2).indices(n)) != len(made.indices(n))
        or (batches(2).indices(n) != made.indices(n)).any()
        for n in range(3)
    )


def test_small_shares_have_their_turn() -> None:
    """Over passes each corpus gives its share of the rows, up to two, in each pass up to one."""
    mixture = Mixture.of([50, 10, 8, 4], [0.904, 0.004, 0.092, 0.0])
    assert mixture is not None
    wanted, total = np.array(mixture.shares) * 72, np.zeros(4)
    for epoch in range(300):
        drawn = mixture.draw(np.random.default_rng(epoch), epoch)
        assert len(drawn) == 72
        counts = np.bincount(np.searchsorted([50, 60, 68], drawn, "right"), minlength=4)
        assert (np.abs(counts - wanted) <= 1).all()
        total += counts
        assert (np.abs(total - (epoch + 1) * wanted) <= 2).all()
    assert total[1] > 80
    assert total[3] == 0


def test_a_share_of_nothing(tmp_path: Path) -> None:
    """A corpus of share 0 is not learnt from; rows that are lost leave the others as they are."""
    generator = np.random.default_rng(1)
    mixture = Mixture.of([4, 6, 2], [0.0, 1.0, 3.0])
    assert mixture is not None
    assert np.bincount(mixture.draw(generator, 0), minlength=12).tolist()[:4] == [0, 0, 0, 0]
    assert mixture.shares == (0.0, 0.25, 0.75)
    assert Mixture.of([4, 0], [0.5, 0.5]) is None
    table(tmp_path / "a.tsv", 0, 30)
    (tmp_path / "b.tsv").write_text(f"{'s' * 300}\tt\n")
    with pytest.raises(DataError, match="every row has the share 0; raise the share"):
        build(f"{tmp_path}/a.tsv:0,{tmp_path}/b.tsv:1", tmp_path / "corpus")


def test_guesses_follow_the_shares(tmp_path: Path) -> None:
    """What a model that ignores its source reaches is counted by how often a pass has each row,
    by hand: those of `a` a third of a time, those of `b` three times."""
    table(tmp_path / "a.tsv", 0, 30)
    table(tmp_path / "b.tsv", 50, 10)
    table(tmp_path / "asked.tsv", 40, 5)
    corpus = build(f"{tmp_path}/a.tsv:0.25,{tmp_path}/b.tsv:0.75", tmp_path / "corpus")
    asked = build(f"{tmp_path}/asked.tsv", tmp_path / "asked")
    assert corpus.mixture is not None
    assert corpus.mixture.row_frequencies == pytest.approx([1 / 3] * 30 + [3] * 10)
    kinds = int(corpus.targets.max()) + 1
    counts = np.ones(kinds)
    for row in range(40):
        for symbol in corpus.batch(np.array([row])).target[0]:
            counts[symbol] += 3 if row >= 30 else 1 / 3
    expected = -np.mean([np.log(counts[symbol] / counts.sum()) for symbol in asked.targets])
    assert symbol_guess_loss(corpus, asked, kinds) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["label", "number"])
def test_baselines_learn_from_the_rows_of_a_pass(kind: str, tmp_path: Path) -> None:
    """Not from a corpus of share 0, however many rows it has, and nor does the guess."""
    (tmp_path / "a.tsv").write_text("".join(f"s{n}\t1\n" for n in range(30)))
    (tmp_path / "b.tsv").write_text("".join(f"s{n}\t{2 + n // 7}\n" for n in range(10)))
    (tmp_path / "c.tsv").write_text("s1\t3\n")
    source = learn_field(TextConfig(unit="character"), ["s0123456789"], seed=1)
    config = LabelConfig() if kind == "label" else NumberConfig()
    target = learn_field(config, ["2", "3", "1"], seed=1)
    for name, data in (
        ("mixed", f"{tmp_path}/a.tsv:0,{tmp_path}/b.tsv:1"),
        ("alone", f"{tmp_path}/b.tsv"),
        ("asked", f"{tmp_path}/c.tsv"),
    ):
        plan = CorpusPlan(tmp_path / name, Columns(source, target, CONFIG), "x", is_mixed=True)
        build_corpora(data, [plan])
    mixed, alone = (
        TrainingRows.open(tmp_path / name, source, target) for name in ("mixed", "alone")
    )
    sources = source.rows(["s1", "s2", "t"])
    name = "commonest label" if kind == "label" else "mean"
    assert baselines(mixed, sources)[name] == baselines(alone, sources)[name]
    if kind == "number":
        losses = [
            number_guess_loss(Corpus.open(tmp_path / each), Corpus.open(tmp_path / "asked"))
            for each in ("mixed", "alone")
        ]
        assert losses[0] == pytest.approx(losses[1])


def test_rows_of_share_0_do_not_count(tmp_path: Path) -> None:
    """Where all others have the weight 0, nothing is learnt from."""
    for name, weight in (("a", 1), ("b", 0)):
        rows = "".join(f"s{n}\tt{n}\t{weight}\n" for n in range(5))
        (tmp_path / f"{name}.tsv").write_text(f"source\ttarget\tweight\n{rows}")
    data, config = f"{tmp_path}/a.tsv:{{}},{tmp_path}/b.tsv:1", DataConfig(weight="weight")
    with pytest.raises(DataError, match="every row has the weight 0"):
        build(data.format(0), tmp_path / "corpus", config)
    assert len(build(data.format(1), tmp_path / "corpus", config)) == 10


def test_a_stream_is_not_mixed(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("one\ntwo\n")
    with pytest.raises(DataError, match="one stream cannot be mixed"):
        build(f"{tmp_path}/a.txt:1,{tmp_path}/b.txt:1", tmp_path / "c", DataConfig(lines="stream"))


def test_shares_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    table(tmp_path / "a.tsv", 0, 30)
    table(tmp_path / "b.tsv", 50, 10)
    data = f"{tmp_path}/a.tsv:0.6,{tmp_path}/b.tsv:0.4"
    field = learn_field(TextConfig(unit="character"), ["st"], seed=1)
    used = Columns(field, field, CONFIG)
    other = data.replace("0.6", "0.5")
    assert fingerprint(data, used) != fingerprint(other, used)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none-\\*.tsv: no such file"):
        sources(f"{tmp_path}/none-*.tsv")
    with pytest.raises(DataError, match="is a folder"):
        sources(str(tmp_path))
    table(tmp_path / "a.tsv", 0, 3)
    with pytest.raises(DataError, match="b.tsv: no such file"):
        sources(f"{tmp_path}/a.tsv:1,{tmp_path}/b.tsv:2")
    with pytest.raises(DataError, match="all shares are 0"):
        build(f"{tmp_path}/a.tsv:0", tmp_path / "corpus")


def test_a_comma_or_a_colon_in_a_name_stays_one(tmp_path: Path) -> None:
    odd = tmp_path / "a.tsv:1"
    expected = table(odd, 0, 3)
    assert sources(str(odd)) == expected
