"""Word vectors: learnt from texts, and put into a model that keeps or improves them."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.api.vectors import Word2VecOptions, WordCorpus, learn_vectors
from seqloom.config import merge
from seqloom.data import WordVectors, write_vectors
from seqloom.errors import ConfigError, DataError
from seqloom.model import token_table
from seqloom.runs.learner import new_network
from seqloom.runs.progress import SilentObserver
from seqloom.store import RunDirectory
from tests.runs.support import PAIRS, Crash, assert_same, at, crash, last, options, tensors

ANIMALS, COLOURS = ("cat", "dog", "cow", "pig"), ("red", "blue", "green", "pink")
SIDES = [
    ("source", "lstm"),
    ("target", "lstm"),
    ("source", "transformer"),
    ("target", "transformer"),
]


def texts(count: int) -> list[tuple[str]]:
    """Sentences of two kinds: animals stand among some words, colours among others."""
    chance = random.Random(5)
    return [
        (f"the {chance.choice(ANIMALS)} eats its grass",)
        if chance.random() < 0.5
        else (f"this {chance.choice(COLOURS)} car was sold",)
        for _ in range(count)
    ]


@pytest.mark.parametrize("kind", ["skip-gram", "cbow"])
def test_words_that_stand_alike_are_near(kind: str) -> None:
    """The three words nearest to an animal are the other animals, and so with colours
    (S1.5)."""
    told: list[str] = []
    learning = Word2VecOptions(kind, size=8, least=1, passes=60, window=2, seed=3)
    found = learn_vectors(WordCorpus.of(texts(600), "1"), learning, told.append)
    assert told == ["600 texts, 3,000 words, 16 different ones; 16 come 1 times or more"]
    for group in (ANIMALS, COLOURS):
        for word in group:
            assert {near for near, _ in found.nearest(word, 3)} == set(group) - {word}


def test_a_seed_settles_the_vectors() -> None:
    corpus = WordCorpus.of(texts(50), "1")
    tables = [
        learn_vectors(
            corpus, Word2VecOptions(size=4, least=1, passes=2, seed=seed), lambda _: None
        ).table
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(tables[0], tables[1])
    assert not np.array_equal(tables[0], tables[2])


def test_what_cannot_be_learnt() -> None:
    with pytest.raises(DataError, match="<pairs>: no word comes 5,000 times or more; lower least="):
        learn_vectors(WordCorpus.of(texts(9), "1"), Word2VecOptions(least=5_000), print)
    with pytest.raises(
        ConfigError, match="kind='glove': there is no such kind; choose skip-gram or cbow"
    ):
        learn_vectors(WordCorpus.of(texts(9), "1"), Word2VecOptions("glove"), print)


def vectors_of(path: Path, letters: str, size: int = 8) -> WordVectors:
    table = np.random.default_rng(2).standard_normal((len(letters), size)).astype(np.float32)
    vectors = WordVectors(tuple(letters), 7 * table)
    write_vectors(path, vectors)
    return vectors


def with_vectors(side: str, preset: str, path: Path, **model: Any) -> dict[str, Any]:
    chosen = options(preset, updates=6, validate_every=3, average="none")
    given = {f"{side}_vectors": str(path), "share_vocabulary": False, "tie_output": False}
    return merge(chosen, {"model": {**given, **model}})


class Noting(SilentObserver):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def on_message(self, sentence: str) -> None:
        self.said.append(sentence)


def table_of(run: Path, side: Any, weights: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """A side's table of token vectors among a step's weights."""
    model = load(run)
    network = new_network(model.config, model.source, model.target)
    found = token_table(network, side)
    (name,) = [name for name, value in network.named_parameters() if value is found.table]
    return weights[name]


@pytest.mark.parametrize(("side", "preset"), SIDES)
def test_given_vectors_are_where_training_begins(tmp_path: Path, side: str, preset: str) -> None:
    """Step 0 has them, all times one number, and a new table's vectors elsewhere; the share found
    is told. The file is needed no more once there is a step."""
    path = tmp_path / "v.txt"
    given = vectors_of(path, "abcdefg")
    watch = Noting()
    train(PAIRS, tmp_path / "run", options=with_vectors(side, preset, path), watch=watch, until=3)
    assert f"begins from the vectors of {path} (7 of 12 {side} symbols, 58.3 %)" in watch.said
    path.unlink()
    steps = {step.number: step for step in RunDirectory(tmp_path / "run").checkpoints()}
    model = load(tmp_path / "run")
    field = getattr(model, side)
    ids = torch.tensor([int(field.encode(word)[0]) for word in given.words])
    table = table_of(tmp_path / "run", side, steps[0].load("model"))
    ratios = table[ids] / torch.from_numpy(given.table)
    assert torch.allclose(ratios, ratios[0, 0].expand_as(ratios), rtol=1e-4)
    new = dict(new_network(model.config, model.source, model.target).named_parameters())
    others = [token for token in range(field.size) if token not in ids.tolist()]
    assert torch.equal(table[others], table_of(tmp_path / "run", side, new)[others])
    done = train(PAIRS, tmp_path / "run", options=with_vectors(side, preset, path))
    assert done.steps == 6


@pytest.mark.parametrize("frozen", [False, True])
def test_frozen_vectors_stay_and_others_learn(tmp_path: Path, *, frozen: bool) -> None:
    path = tmp_path / "v.bin"
    vectors_of(path, "abcdefg")
    train(
        PAIRS,
        tmp_path / "run",
        options=with_vectors("source", "lstm", path, frozen_vectors=frozen),
    )
    steps = {
        step.number: step.load("model") for step in RunDirectory(tmp_path / "run").checkpoints()
    }
    before, after = (table_of(tmp_path / "run", "source", steps[number]) for number in (3, 6))
    assert torch.equal(before, after) == frozen
    other = [table_of(tmp_path / "run", "target", steps[number]) for number in (3, 6)]
    assert not torch.equal(*other)


def test_a_run_goes_on_to_the_same_bits_without_the_file(tmp_path: Path) -> None:
    """RELIABILITY A3, with vectors that stay."""
    path = tmp_path / "v.txt"
    vectors_of(path, "abcdefg")
    chosen = with_vectors("source", "lstm", path, frozen_vectors=True)
    train(PAIRS, tmp_path / "whole", options=chosen)
    with pytest.raises(Crash):
        train(PAIRS, tmp_path / "broken", options=chosen, watch=at(5, crash))
    path.unlink()
    train(PAIRS, tmp_path / "broken", options=chosen)
    assert_same(tmp_path / "whole", tmp_path / "broken")
    assert tensors(last(tmp_path / "whole"))


def test_vectors_settle_their_size(tmp_path: Path) -> None:
    """model.embedding follows from the file, unless it is set; then both must agree."""
    path = tmp_path / "v.txt"
    vectors_of(path, "abc", size=10)
    chosen = with_vectors("source", "lstm", path)
    with pytest.raises(ConfigError, match="its vectors have 10 numbers, and model.embedding is 8"):
        train(PAIRS, tmp_path / "run", options=chosen)
    del chosen["model"]["embedding"]
    train(PAIRS, tmp_path / "run", options=chosen, until=1)
    assert load(tmp_path / "run").config.model.embedding == 10


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"source_vectors": "nowhere.txt"}, "nowhere.txt: no such file"),
        ({"one_hot": True}, "model.source_vectors: the source has no table of token vectors here"),
    ],
)
def test_vectors_that_cannot_be_used(tmp_path: Path, change: dict[str, Any], wrong: str) -> None:
    """Refused before anything is made of the run."""
    path = tmp_path / "v.txt"
    vectors_of(path, "abc")
    with pytest.raises((ConfigError, DataError), match=wrong):
        train(PAIRS, tmp_path / "run", options=with_vectors("source", "lstm", path, **change))
    assert not (tmp_path / "run" / "config.toml").exists()


def test_vectors_of_other_words_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    vectors_of(path, "xyz")
    with pytest.raises(ConfigError, match="it has none of the source's symbols, which are charac"):
        train(PAIRS, tmp_path / "run", options=with_vectors("source", "lstm", path))


def test_a_run_begun_from_another_needs_no_file_either(tmp_path: Path) -> None:
    """Its weights hold the vectors, and they stay frozen where they were (S6.7)."""
    path = tmp_path / "v.txt"
    vectors_of(path, "abcdefg")
    chosen = with_vectors("source", "lstm", path, frozen_vectors=True)
    train(PAIRS, tmp_path / "old", options=chosen)
    path.unlink()
    short = {"training": chosen["training"], "data": chosen["data"]}
    train(PAIRS, tmp_path / "new", base=tmp_path / "old", options=short)
    tables = [
        table_of(tmp_path / name, "source", last(tmp_path / name).load("model"))
        for name in ("old", "new")
    ]
    assert torch.equal(*tables)
