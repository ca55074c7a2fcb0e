"""Saved fields: what is loaded is what was saved, and damage is refused (RELIABILITY A7, B4)."""

import json
import os
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from seqloom.config import TextConfig
from seqloom.errors import RunError
from seqloom.fields import TextField, load_text
from tests.counts import count

TEXTS = ["The cat's here.", "Elle était là, l'été !", "a\tb  c", "日本語 \u2581 👍🏽"] * 3
CONFIGS = {
    "byte": TextConfig(unit="byte", lowercase=True),
    "character": TextConfig(unit="character", normalize="NFKC"),
    "word": TextConfig(unit="word"),
    "unigram": TextConfig(unit="subword"),
    "bpe": TextConfig(unit="subword", algorithm="bpe", size=400),
}
LEARNT = {name: TextField.learn(config, TEXTS, seed=1) for name, config in CONFIGS.items()}
MUTATIONS = count(60, 600)


def _refused(directory: Path) -> str:
    """The one sentence with which loading is refused."""
    with pytest.raises(RunError) as caught:
        load_text(directory)
    message = str(caught.value)
    assert message.startswith(str(directory))
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", LEARNT)
def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    """`load(save(field))` is the field: same ids, same tokens, same files when saved again."""
    field = LEARNT[name]
    field.save(tmp_path / "one")
    loaded = load_text(tmp_path / "one")
    loaded.save(tmp_path / "two")
    assert (loaded.config, loaded.size) == (field.config, field.size)
    assert loaded.fingerprint == field.fingerprint
    everything = range(field.size)
    assert loaded.tokens(everything) == field.tokens(everything)
    for text in TEXTS:
        assert loaded.encode(text).tolist() == field.encode(text).tolist()
        assert loaded.decode(field.encode(text)) == field.decode(field.encode(text))
    for file in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / file.name).read_bytes() == file.read_bytes()


def test_fingerprints_differ_where_fields_differ() -> None:
    """A cache made with one field is never taken for that of another."""
    assert len({field.fingerprint for field in LEARNT.values()}) == len(LEARNT)


@pytest.mark.parametrize("name", LEARNT)
def test_flipped_and_cut_files_are_refused(name: str, tmp_path: Path) -> None:
    """Each byte matters, except white space between JSON values."""
    LEARNT[name].save(tmp_path)
    draw = random.Random(11)
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        for _ in range(MUTATIONS):
            place = draw.randrange(len(whole) - 1)
            damaged = bytearray(whole)
            damaged[place] ^= 1 << draw.randrange(8)
            file.write_bytes(damaged)
            with suppress(RunError):
                assert load_text(tmp_path).fingerprint == LEARNT[name].fingerprint
            file.write_bytes(whole[:place])
            _refused(tmp_path)
        file.write_bytes(whole)
    load_text(tmp_path)


@pytest.mark.parametrize("name", LEARNT)
def test_missing_files_are_named(name: str, tmp_path: Path) -> None:
    """Each missing file, or a folder or a pipe in its place."""
    LEARNT[name].save(tmp_path)
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        file.unlink()
        assert file.name in _refused(tmp_path)
        file.mkdir()
        assert file.name in _refused(tmp_path)
        file.rmdir()
        os.mkfifo(file)
        assert file.name in _refused(tmp_path)
        file.unlink()
        file.write_bytes(whole)


def _changed(name: str, change: Callable[[dict[str, Any]], object], directory: Path) -> None:
    """A saved field whose JSON was changed by hand."""
    LEARNT[name].save(directory)
    path = directory / "field.json"
    facts = json.loads(path.read_text())
    change(facts)
    path.write_text(json.dumps(facts))


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.update(format=2),
        lambda facts: facts.pop("config"),
        lambda facts: facts.update(config=[]),
        lambda facts: facts["config"].update(unit="phoneme"),
        lambda facts: facts["config"].update(size=7),
        lambda facts: facts["config"].update(size=10**400),
        lambda facts: facts["config"].update(extra=1),
        lambda facts: facts.pop("symbols"),
        lambda facts: facts.update(symbols="abc"),
        lambda facts: facts["symbols"].append(7),
        lambda facts: facts["symbols"].append(facts["symbols"][5]),
        lambda facts: facts["symbols"].append("new"),
        lambda facts: facts["symbols"].append("\ud800"),
        lambda facts: facts["symbols"].append("x" * 10_000),
        lambda facts: facts["symbols"].pop(0),
        lambda facts: facts["symbols"].reverse(),
        lambda facts: facts.update(gaps=[]),
        lambda facts: facts["gaps"].update({".": "x"}),
        lambda facts: facts["gaps"].update({".": ["x", " "]}),
        lambda facts: facts["gaps"].update({".": [[], {}]}),
        lambda facts: facts["gaps"].update({"absent": ["", ""]}),
        lambda facts: facts["gaps"].clear(),
        lambda facts: facts.update(sha256="0" * 64),
        lambda facts: facts.update(sha256=None),
    ],
)
def test_changed_vocabularies_are_refused(
    change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    """RELIABILITY B4: one clean sentence for each."""
    _changed("word", change, tmp_path)
    _refused(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"{", b"[" * 200_000, b'{"a":' * 200_000, b"\xff\xfe", b"9" * 10_000],
    ids=range(8),
)
def test_files_that_are_no_field_are_refused(content: bytes, tmp_path: Path) -> None:
    """RELIABILITY A7: deep, broken and foreign JSON."""
    (tmp_path / "field.json").write_bytes(content)
    _refused(tmp_path)


def test_huge_files_are_refused_unread(tmp_path: Path) -> None:
    """RELIABILITY A7: a size is checked before a file is read."""
    LEARNT["unigram"].save(tmp_path)
    for name in ("tokenizer.model", "field.json"):
        with (tmp_path / name).open("r+b") as file:
            file.truncate(2**33)
        assert "64 MB" in _refused(tmp_path)


def _message(number: int, content: bytes) -> bytes:
    """A protocol buffers field that holds bytes."""
    length, size = bytearray(), len(content)
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


def _piece(text: bytes, score: float = -1.0) -> bytes:
    return _message(1, _message(1, text) + b"\x15" + struct.pack("<f", score))


@pytest.mark.parametrize(
    "extra",
    [
        _piece(b"again") * 2,
        _piece(b""),
        _piece(b"x" * 1_000),
        _piece(b"not\xffutf8"),
        _piece(b"nul\0"),
        _piece(b"infinite", float("inf")),
        _piece(b"not a number", float("nan")),
        _message(1, _message(1, b"control") + b"\x18\x03"),
        _message(1, _message(1, b"user") + b"\x18\x04"),
        _message(1, b"\x08\x01"),
        _message(3, _message(2, b"program")),
        _message(4, b""),
        _message(9, b"unknown"),
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x0a" + b"\xff" * 20,
        b"\x0b",
        b"\x10\x01",
        b"\x0a",
    ],
)
def test_hostile_models_never_reach_sentencepiece(extra: bytes, tmp_path: Path) -> None:
    """RELIABILITY A7: whatever training does not make is refused before it is loaded."""
    LEARNT["unigram"].save(tmp_path)
    path = tmp_path / "tokenizer.model"
    path.write_bytes(path.read_bytes() + extra)
    assert "tokenizer.model" in _refused(tmp_path)
    assert "changed after" not in _refused(tmp_path)


def test_a_model_of_another_field_is_refused(tmp_path: Path) -> None:
    """Two sound files that do not belong together."""
    LEARNT["unigram"].save(tmp_path / "one")
    LEARNT["bpe"].save(tmp_path / "two")
    os.replace(tmp_path / "two" / "tokenizer.model", tmp_path / "one" / "tokenizer.model")
    _refused(tmp_path / "one")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file where the directory should be."""
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        LEARNT["word"].save(tmp_path / "file")
