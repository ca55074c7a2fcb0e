"""The text field as a whole: laws that hold in every unit (S1.3, RELIABILITY B2, B3)."""

import os
import random
import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.config import TextConfig
from seqloom.errors import ConfigError, DataError
from seqloom.fields import EMPTY, END, SPECIAL_SYMBOLS, START, UNK, TextField
from seqloom.tokenizers.normalization import normalize
from tests.counts import count

STRINGS = count(500, 10_000)

SENTENCES = [
    "The cat sat on the mat, didn't it?",
    "It's raining cats and dogs; the dogs lap water.",
    "Elle était seule dans la maison aujourd'hui.",
    "L'homme qu'il a vu n'est pas d'accord !",
    "Die Straßenbahn kommt um 10:30 Uhr und kostet 1.000,50 Euro.",
    "我喜欢学习。",
    "مرحبا بالعالم",
    "A\ttab, a  double space, a U+2581 \u2581 and an emoji 👍🏽.",
    "<start> <unk> </s> <0x0A> are words like any other.",
    "Numbers such as 3.14 and 42 stay whole.",
]

CONFIGS = {
    "byte": TextConfig(unit="byte"),
    "character": TextConfig(unit="character"),
    "word": TextConfig(unit="word"),
    "unigram": TextConfig(unit="subword", algorithm="unigram"),
    "bpe": TextConfig(unit="subword", algorithm="bpe"),
    "small BPE": TextConfig(unit="subword", algorithm="bpe", size=300),
    "lower-case unigram": TextConfig(unit="subword", lowercase=True, normalize="NFKC"),
    "bare word": TextConfig(unit="word", normalize="none"),
}
LEARNT = {name: TextField.learn(config, SENTENCES, seed=1) for name, config in CONFIGS.items()}
LOSSLESS = ("byte", "unigram", "bpe", "small BPE", "lower-case unigram")

AWKWARD = [
    *SPECIAL_SYMBOLS,
    *("<s>", "</s>", "<pad>", "<0x0A>", "<0xE2>", "\u2581", "\u2581the", "\u2585", "\ue000"),
    *("\ue0000", "\ue0001", "\ue0002", "\uffed", "\u2423", "\ufffd", "\0", "\n", "\r\n", "\t"),
    *(" ", "  ", "\u00a0", "\u202f", "\u2028", "\x85", "\x1f", "\ufeff", "\u200d", "\u200b"),
    *("é", "e\u0301", "\u0301", "\u0315\u0300", "\u0f73", "ﬁ", "\u1e9e", "İ", "Σ", "ας", "ﾞ"),
    *(
        "👨‍👩‍👧‍👦",
        "👍🏽",
        "🇫🇷",
        "\U0001f3fd",
        "日本",
        "コンピュータ",
        "สวัสดี",
        "नमस्ते",
        "שלום",
        "\u202eabc",
    ),
    *("the", "The", "cat", "'", "’", "l'", "'s", "-", "-moi", ".", "...", "!", "?", '"', "(", ")"),
    *("3.14", "1,000", "_", "\U0010ffff", "\uffff", "\ud800", "\udfff"),
]


def _unknown_apart(field: TextField, text: str) -> bool:
    """Whether decoding gives the text back with something in it replaced by each `<unk>`."""
    known = field.decode(field.encode(text)).split("<unk>")
    pattern = "(?s:.+?)".join(map(re.escape, known))
    return re.fullmatch(pattern, field.normalize(text)) is not None


def _fuzzed() -> Iterator[str]:
    """Strings of awkward parts and of any code points, the same ones each time."""
    draw = random.Random(7)
    for _ in range(STRINGS):
        parts = draw.choices(AWKWARD, k=draw.randrange(8))
        parts += [chr(draw.randrange(0x110000)) for _ in range(draw.randrange(4))]
        parts += draw.choices(SENTENCES, k=draw.randrange(2))
        draw.shuffle(parts)
        yield "".join(parts)


@pytest.mark.parametrize("name", LEARNT)
def test_fuzzed_strings_come_back(name: str) -> None:
    """RELIABILITY B2: lossless for bytes and subwords, otherwise up to unknown symbols."""
    field = LEARNT[name]
    for text in _fuzzed():
        ids = field.encode(text)
        assert ids.dtype == np.int32
        assert not set(ids.tolist()) & {EMPTY, START, END}
        assert ids.max(initial=0) < field.size
        if name in LOSSLESS or UNK not in ids:
            assert UNK not in ids
            assert field.decode(ids) == field.normalize(text)
        else:
            assert _unknown_apart(field, text)


@settings(max_examples=100)
@given(text=st.text())
@pytest.mark.parametrize("name", LEARNT)
def test_any_text_comes_back(name: str, text: str) -> None:
    """RELIABILITY B2: the same law for texts that hypothesis shrinks."""
    field = LEARNT[name]
    assert _unknown_apart(field, text)
    assert name not in LOSSLESS or field.decode(field.encode(text)) == field.normalize(text)


@given(text=st.text(), lowercase=st.booleans(), form=st.sampled_from(["none", "NFC", "NFKC"]))
def test_normalising_twice_changes_nothing(text: str, lowercase: bool, form: str) -> None:
    """What `normalise` states is a normal form."""
    config = TextConfig.model_validate({"normalize": form, "lowercase": lowercase})
    once = normalize(text, form=config.normalize, lowercase=lowercase)
    assert normalize(once, form=config.normalize, lowercase=lowercase) == once


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_long_runs_of_marks_are_normalised_as_unicode_says(form: Literal["NFC", "NFKC"]) -> None:
    """Sorting the marks beforehand leaves the result alone (RELIABILITY B3)."""
    draw = random.Random(3)
    marks = [chr(code) for code in range(0x300, 0x370)] + list("\u0f73\u0344ﾞ\u1100\u1161aé")
    field = TextField.learn(TextConfig(unit="byte", normalize=form), [], seed=1)
    for _ in range(20):
        text = "".join(draw.choices(marks, k=5_000))
        assert field.normalize(text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("name", LEARNT)
def test_specials_in_ids_are_left_out_and_unknown_is_shown(name: str) -> None:
    """S1.3: decoding ignores `<start>`, `<end>` and `<empty>`."""
    field = LEARNT[name]
    ids = field.encode("the cat").tolist()
    assert field.decode([START, *ids, END, EMPTY, EMPTY]) == "the cat"
    assert "<unk>" in field.decode([*ids, UNK])
    assert field.tokens([EMPTY, UNK, START, END]) == list(SPECIAL_SYMBOLS)


@pytest.mark.parametrize("name", LEARNT)
def test_empty_text_has_no_tokens(name: str) -> None:
    """A blank line in is a blank line out."""
    field = LEARNT[name]
    assert field.encode("").tolist() == []
    assert field.decode([]) == ""


@pytest.mark.parametrize("name", LEARNT)
def test_many_at_once_equal_one_by_one(name: str) -> None:
    """Batches, threads and batch mates change no ids."""
    field = LEARNT[name]
    texts = [*SENTENCES, "", *AWKWARD] * 2
    one_by_one = [field.encode(text).tolist() for text in texts]
    assert [ids.tolist() for ids in field.encode_many(texts)] == one_by_one


@pytest.mark.parametrize("name", LEARNT)
def test_any_ids_can_be_decoded(name: str) -> None:
    """A model may write anything, broken UTF-8 and lone escapes included."""
    field, draw = LEARNT[name], random.Random(5)
    for _ in range(100):
        ids = draw.choices(range(field.size), k=20)
        field.decode(ids).encode()
        assert len(field.tokens(np.array(ids).tolist())) == 20


@pytest.mark.parametrize("name", LEARNT)
def test_learning_again_gives_the_same(name: str) -> None:
    """The same texts and seed, streamed, make the same vocabulary."""
    again = TextField.learn(CONFIGS[name], iter(SENTENCES), seed=1)
    assert again.fingerprint == LEARNT[name].fingerprint


def test_another_process_learns_the_same() -> None:
    """No hash seed and no thread has a say, and nothing is written on the way."""
    program = (
        "from tests.fields.test_text import *\n"
        "print([field.fingerprint for field in LEARNT.values()])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "99", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str([field.fingerprint for field in LEARNT.values()])
    assert done.stderr == ""


def test_learning_writes_nothing_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """sentencepiece's log is kept off both streams."""
    for name in ("unigram", "bpe"):
        TextField.learn(CONFIGS[name], SENTENCES, seed=1)
    assert capfd.readouterr() == ("", "")


def _seconds(field: TextField, text: str) -> float:
    """Processor time for a text there and back."""
    start = time.process_time()
    field.decode(field.encode(text))
    return time.process_time() - start


ADVERSARIAL = {
    "one letter": "a",
    "spaces": " ",
    "marks out of order": "\u0315\u0300",
    "elisions": "l'",
    "hyphens": "a-",
    "numbers": "1,",
    "quotes": "'",
    "emoji": "👨‍",
    "Han": "日",
    "escapes": "\u2581<unk>\ue000",
    "dots": ".",
}


@pytest.mark.parametrize("name", ["character", "word", "unigram", "bpe"])
@pytest.mark.parametrize("part", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_time_is_linear_in_the_length(name: str, part: str) -> None:
    """RELIABILITY B3: a megabyte costs about 16 times a sixteenth of it, far from 256 times."""
    small, large = (part * (size // len(part.encode())) for size in (2**16, 2**20))
    noise = 0.01
    assert _seconds(LEARNT[name], large) < 64 * (_seconds(LEARNT[name], small) + noise)


@pytest.mark.parametrize("unit", ["character", "word", "subword"])
def test_empty_data_is_named(unit: str) -> None:
    """There is no vocabulary to make of nothing."""
    config = TextConfig.model_validate({"unit": unit})
    for texts in ([], ["", ""]):
        with pytest.raises(DataError, match="all texts are empty"):
            TextField.learn(config, texts, seed=1)


@pytest.mark.parametrize(("unit", "size"), [("character", 4), ("word", 6), ("subword", 299)])
def test_a_size_without_room_is_named(unit: str, size: int) -> None:
    """The message has the option, its value and what would do."""
    config = TextConfig.model_validate({"unit": unit, "size": size})
    with pytest.raises(ConfigError, match=f"size = {size}: .* or more"):
        TextField.learn(config, SENTENCES, seed=1)


def test_one_field_serves_both_columns() -> None:
    """A shared vocabulary is one field learnt on both columns."""
    both = [text for pair in [("la maison", "the house")] * 5 for text in pair]
    field = TextField.learn(TextConfig(unit="word"), both, seed=1)
    for text in ("la house", "the maison"):
        assert UNK not in field.encode(text)
