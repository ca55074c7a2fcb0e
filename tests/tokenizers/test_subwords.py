"""Subwords: small data, large data, long lines, many characters, escapes (S1.3)."""

import random
import time
from typing import Literal

import pytest

from seqloom.config import TextConfig
from seqloom.fields import UNK, TextField
from seqloom.tokenizers import subwords

Algorithm = Literal["unigram", "bpe"]
ALGORITHMS: tuple[Algorithm, ...] = ("unigram", "bpe")
each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def _learn(algorithm: Algorithm, texts: list[str], *, size: int = 8_000) -> TextField:
    return TextField.learn(TextConfig(algorithm=algorithm, size=size), texts, seed=1)


@each_algorithm
@pytest.mark.parametrize(
    "texts",
    [
        [f"sentence number {number} of ten" for number in range(10)],
        ["a"],
        [" "],
        ["\n"],
        ["\t\0\u2585"],
        ["<unk> <end> <0x0A> <s> </s>"] * 50,
        ["\u2581", "\ue000"],
        ["日本語"],
    ],
)
def test_small_data_gives_a_small_vocabulary(algorithm: Algorithm, texts: list[str]) -> None:
    """A size that the data cannot fill is not an error."""
    field = _learn(algorithm, texts)
    assert 260 < field.size < 400
    for text in [*texts, "<unk>\u2581 日本\0\n"]:
        ids = field.encode(text)
        assert UNK not in ids
        assert field.decode(ids) == text


@each_algorithm
def test_names_of_symbols_in_text_stay_text(algorithm: Algorithm) -> None:
    """RELIABILITY B2: even a text made of nothing else gives neither specials nor that byte."""
    text = "<unk><start><end><empty><0x0A>"
    field = _learn(algorithm, [text] * 100)
    ids = field.encode(text).tolist()
    assert min(ids) > 3
    assert field.encode("\n").tolist()[-1] not in ids
    assert field.decode(ids) == text


@each_algorithm
def test_the_size_is_a_bound(algorithm: Algorithm) -> None:
    """Never more ids than the configuration says, with more characters than ids too."""
    draw = random.Random(2)
    words = ["".join(draw.choices("abcdefghij", k=5)) for _ in range(3_000)]
    han = ["".join(chr(draw.randrange(0x4E00, 0x5E00)) for _ in range(20)) for _ in range(300)]
    for texts in ([" ".join(words[i : i + 10]) for i in range(0, 3_000, 10)], han):
        field = _learn(algorithm, texts, size=500)
        assert 400 < field.size <= 500
        assert all(field.decode(field.encode(text)) == text for text in texts[:20])


@each_algorithm
@pytest.mark.parametrize(
    "texts",
    [
        ["elephant giraffe " * 8_000],
        ["abcdefghijklmnopq" * 8_000],
        ["a" * 100_000],
        ["0 " * length for length in range(10, 410)],
        ["the same sentence again and again"] * 5_000,
    ],
    ids=["words", "letters", "one letter", "zeros", "sentences"],
)
def test_long_and_repeated_text_is_learnt_from_in_time(
    algorithm: Algorithm, texts: list[str]
) -> None:
    """RELIABILITY B3: neither a long line nor a repeated one is left out or holds training up."""
    start = time.process_time()
    field = _learn(algorithm, texts)
    assert time.process_time() - start < 10
    assert len(field.encode(texts[-1])) <= len(texts[-1]) // 2 + 1


@each_algorithm
def test_a_first_word_is_the_same_piece_as_a_later_one(algorithm: Algorithm) -> None:
    """`the` at the start and in the middle has one id."""
    field = _learn(algorithm, ["the house and the garden"] * 20)
    assert field.encode("the").tolist() * 2 == field.encode("the the").tolist()


def test_a_large_stream_is_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound a random part is kept, from the beginning to the end, for the seed alone."""
    monkeypatch.setattr(subwords, "_SAMPLE", 10_000)
    texts = [f"{number:010d}" for number in range(20_000)]
    kept = subwords._sample(iter(texts), seed=1)
    assert 2_500 <= sum(map(len, kept)) <= 10_000
    assert set(kept) <= set(texts)
    assert 0.3 < sum(int(text) < 10_000 for text in kept) / len(kept) < 0.7
    assert kept == subwords._sample(iter(texts), seed=1)
    assert kept != subwords._sample(iter(texts), seed=2)
    assert sum(map(len, subwords._sample(["x" * 100_000], seed=1))) <= 10_000
