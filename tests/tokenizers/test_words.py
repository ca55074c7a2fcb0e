"""Words and marks: natural tokens, exact spacing (S1.3)."""

import random
from collections import Counter

import pytest

from seqloom.config import TextConfig
from seqloom.fields import UNK, TextField, split_words
from seqloom.tokenizers import prune_counts
from seqloom.tokenizers.words import WordTokenizer

BY_HAND = {
    "Don't stop! It's Tom's.": "Don't|stop|!|It|'s|Tom|'s|.",
    "l'homme, d'accord, qu'il était": "l'|homme|,|d'|accord|,|qu'|il|était",
    "aujourd'hui jusqu'à quelqu'un": "aujourd'hui|jusqu'|à|quelqu'un",
    "L’été ? I’m": "L’|été|?|I|’m",
    "Est-ce peut-être lui ? Va-t-il ?": "Est|-ce|peut-être|lui|?|Va|-t|-il|?",
    "Die E-Mail über Straßenbahnen.": "Die|E-Mail|über|Straßenbahnen|.",
    "3.14, 1,000 and 10:30 on 2024-01-02": "3.14|,|1,000|and|10:30|on|2024|-|01|-|02",
    "a 21st $5 50%": "a|21st|$|5|50|%",
    "我喜欢コンピュータ。": "我|喜|欢|コンピュータ|。",
    "한국어 공부": "한국어|공부",
    "नमस्ते दुनिया": "नमस्ते|दुनिया",
    "cafe\u0301s": "cafe\u0301s",
    "👨‍👩‍👧👍🏽🇫🇷": "👨‍👩‍👧|👍🏽|🇫🇷",
    "do n't l' ami it 's": "do|n't|l'|ami|it|'s",
    'He said: "(wait)..."': 'He|said|:|"|(|wait|)|...|"',
    "<unk> a_b": "<|unk|>|a_b",
    "\u0301x \0": "\u0301|x|\0",
    "": "",
}


@pytest.mark.parametrize(("text", "words"), BY_HAND.items(), ids=range(len(BY_HAND)))
def test_words_are_cut_as_a_reader_would(text: str, words: str) -> None:
    """Examples in English, French, German, Han, Hangul, Devanagari, numbers, emoji."""
    assert split_words(text) == (words.split("|") if words else [])


@pytest.mark.parametrize(
    "texts",
    [
        ["elle était seule.", "elle est là, seule."],
        ["elle était seule .", "elle est là , seule ."],
        ["Quoi\u202f?", "Qui\u202f?", "Elle est là\u202f!"],
        ["l'homme", "l'amie", "it's", "Tom's dog"],
        ["我喜欢学习。", "学习我。"],
        ["a (small) one", "the (large) one"],
    ],
    ids=["attached", "apart", "narrow space", "apostrophes", "Han", "brackets"],
)
def test_usual_spacing_needs_no_tokens(texts: list[str]) -> None:
    """Whatever spacing is the rule in the data, the tokens are just the words and marks."""
    field = TextField.learn(TextConfig(unit="word"), texts, seed=1)
    for text in texts:
        assert field.tokens(field.encode(text).tolist()) == split_words(text)
        assert field.decode(field.encode(text)) == text


def test_unusual_spacing_is_written_out() -> None:
    """A gap that breaks the rule is a token: U+2423 for a space, U+FFED for a missing one."""
    field = TextField.learn(TextConfig(unit="word"), ["one two.", "two one.", "\tone"], seed=1)
    shown = {
        "one .": ["one", "␣", "."],
        ".one": [".", "\uffed", "one"],
        " one  two": ["␣", "one", "␣", "␣", "two"],
        "one\ttwo ": ["one", "\\t", "two", "␣"],
        "one\ntwo": ["one", "\uffed", "<unk>", "\uffed", "two"],
    }
    for text, tokens in shown.items():
        assert field.tokens(field.encode(text).tolist()) == tokens
    assert field.decode(field.encode("one\ntwo")) == "one<unk>two"


def test_spacing_beside_unknown_words_is_kept() -> None:
    """Only the unknown word itself is lost (RELIABILITY B2)."""
    field = TextField.learn(TextConfig(unit="word"), ["(one) two.", "two (one)."], seed=1)
    for text in ("[one] two.", "one[two", "(three)", "two  [ one", "three."):
        expected = text.replace("[", "<unk>").replace("]", "<unk>").replace("three", "<unk>")
        assert field.decode(field.encode(text)) == expected


def test_commonest_words_are_kept() -> None:
    """By count, then by code point; rarer than `min_count` or beyond `size` is unknown."""
    texts = ["c c c b b a a d"]
    few = TextField.learn(TextConfig(unit="word", size=8), texts, seed=1)
    assert few.tokens(range(4, few.size)) == ["\uffed", "␣", "c", "a"]
    frequent = TextField.learn(TextConfig(unit="word", min_count=2), texts, seed=1)
    assert frequent.tokens(range(6, frequent.size)) == ["c", "a", "b"]
    assert frequent.encode("d").tolist() == [UNK]


def test_lower_case_french_reads_naturally() -> None:
    """Attention pictures show these tokens."""
    config = TextConfig(unit="word", lowercase=True)
    field = TextField.learn(config, ["Elle ÉTAIT seule.", "L'été est là."], seed=1)
    ids = field.encode("Elle était seule.").tolist()
    assert field.tokens(ids) == ["elle", "était", "seule", "."]
    assert field.decode(ids) == "elle était seule."


def test_the_order_of_texts_does_not_matter() -> None:
    """A vocabulary is a function of the set of texts."""
    texts = [f"word{number % 7} is here, number {number}." for number in range(50)]
    shuffled = random.Random(1).sample(texts, k=len(texts))
    one, two = (TextField.learn(TextConfig(unit="word"), t, seed=1) for t in (texts, shuffled))
    assert one.fingerprint == two.fingerprint


def test_counting_is_bounded() -> None:
    """Too many different symbols to hold: the rarest go first."""
    counts = Counter({f"rare{number}": 1 for number in range(100)} | {"common": 5, "usual": 3})
    assert prune_counts(counts, limit=50) == Counter({"common": 5, "usual": 3})
    assert prune_counts(counts, limit=200) == counts


def test_texts_with_plain_spaces_are_cut_as_all_others() -> None:
    """What stands between spaces is cut once and remembered, which changes neither ids nor
    places: other white space, and an apostrophe before a space, take the long way."""
    draw = random.Random(3)
    parts = ("l'", "it's", "dis-moi", "3.5", "a", "B", "!", ".", "(", "...", "--", "x-y", "\u4e2d")
    rare = ("", "\t", "'", "\u2019", "t' ", "  ")
    texts = [
        " ".join(draw.choice(parts if draw.random() < 0.95 else rare) for _ in range(6))
        for _ in range(1_000)
    ]
    tokenizer = WordTokenizer.learn(TextConfig(unit="word", size=16), texts[:200], seed=1)
    for text in texts:
        expected = tokenizer._tokens(text)
        (ids,) = tokenizer.encode_many([text])
        assert list(zip(ids.tolist(), tokenizer.offsets(text), strict=True)) == expected
    assert any(tokenizer._chunks(text) is None for text in texts)
    assert any(tokenizer._chunks(text) is not None for text in texts)
