"""A column of text as token ids and back (SPEC S1.3)."""

import hashlib
import json
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import ValidationError

from seqloom.config.schema import TextConfig
from seqloom.errors import RunError
from seqloom.fields.normal import normalise
from seqloom.fields.specials import END, SPECIAL_SYMBOLS, UNK
from seqloom.fields.subwords import SubwordTokenizer
from seqloom.fields.tokenizers import (
    ByteTokenizer,
    CharacterTokenizer,
    Ids,
    Saved,
    Tokenizer,
)
from seqloom.fields.words import WordTokenizer

__all__ = ["TextField"]

_TOKENIZERS: dict[str, type[Tokenizer]] = {
    "byte": ByteTokenizer,
    "character": CharacterTokenizer,
    "word": WordTokenizer,
    "subword": SubwordTokenizer,
}
_FACTS, _MODEL = "field.json", "tokenizer.model"
_FORMAT = 1
_LARGEST_FILE = 64 * 2**20


class TextField:
    """Text cut into the units of its configuration; it never changes once it is learnt."""

    def __init__(self, config: TextConfig, tokenizer: Tokenizer) -> None:
        """Use `learn` or `load`."""
        self.config = config
        self._tokenizer = tokenizer

    @classmethod
    def learn(cls, config: TextConfig, texts: Iterable[str], *, seed: int) -> Self:
        """Make the vocabulary from a stream of texts; the same texts and seed give the same."""
        clean = (_normalise(config, text) for text in texts)
        return cls(config, _TOKENIZERS[config.unit].learn(config, clean, seed=seed))

    def extended(self, texts: Iterable[str]) -> Self:
        """This field with further ids for what it does not know in the texts; the old ones stay."""
        clean = (_normalise(self.config, text) for text in texts)
        tokenizer = self._tokenizer.extended(self.config, clean)
        size = max(self.config.size, tokenizer.size)
        return type(self)(self.config.model_copy(update={"size": size}), tokenizer)

    @property
    def size(self) -> int:
        """Number of ids, the four special ones included."""
        return self._tokenizer.size

    @property
    def fingerprint(self) -> str:
        """Differs wherever two fields differ in what they make of a text."""
        return str(self._facts()["sha256"])

    def normalise(self, text: str) -> str:
        """The stated normalisation: `decode(encode(text))` equals it where nothing is unknown.

        It is the Unicode form and the case of the configuration, and U+FFFD for a lone surrogate;
        white space is kept as it is in every unit.
        """
        return _normalise(self.config, text)

    def encode(self, text: str) -> Ids:
        """The ids of a text, without `<start>` and `<end>`; no special id but `<unk>` arises."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Sequence[str]) -> list[Ids]:
        """`encode` of each text, faster than one by one."""
        return self._tokenizer.encode_many([self.normalise(text) for text in texts])

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """The text of the ids; `<empty>`, `<start>` and `<end>` are left out, `<unk>` is shown."""
        return self._tokenizer.decode([token for token in _integers(ids) if _is_text(token)])

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        """A readable form of each id, for tables and the axes of pictures."""
        return [
            SPECIAL_SYMBOLS[token] if token <= END else self._tokenizer.show(token)
            for token in _integers(ids)
        ]

    def save(self, directory: Path) -> None:
        """Write the field's files into a directory, which is made if it is not there."""
        facts, model = self._facts(), self._tokenizer.saved().model
        text = json.dumps(facts, ensure_ascii=True, indent=0)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if model:
                (directory / _MODEL).write_bytes(model)
            (directory / _FACTS).write_text(text + "\n", encoding="ascii")
        except OSError as error:
            raise RunError(
                f"{directory}: cannot be written ({error.strerror}); "
                "free space or choose another place"
            ) from None

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The field that was saved there; RunError where its files are not whole."""
        place = directory / _FACTS
        facts = _read_facts(place)
        try:
            config = TextConfig.model_validate(facts.get("config"))
        except ValidationError as error:
            name = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise RunError(
                f"{place}: its configuration is damaged at {name or 'the top'}; "
                "restore it from a copy"
            ) from None
        if config.unit == "subword":
            place = directory / _MODEL
        model = _read(place) if config.unit == "subword" else b""
        try:
            field = cls(config, _TOKENIZERS[config.unit].restore(config, Saved(facts, model)))
        except RunError as error:
            raise RunError(f"{place}: {error}") from None
        if field.fingerprint != facts.get("sha256"):
            raise RunError(f"{place}: was changed after it was saved; restore it from a copy")
        return field

    def _facts(self) -> dict[str, Any]:
        """What goes into the JSON file, with a hash over everything."""
        saved = self._tokenizer.saved()
        facts = {"format": _FORMAT, "config": self.config.model_dump(mode="json"), **saved.facts}
        content = json.dumps(facts, ensure_ascii=True, sort_keys=True).encode() + saved.model
        return {**facts, "sha256": hashlib.sha256(content).hexdigest()}


def _normalise(config: TextConfig, text: str) -> str:
    return normalise(text, form=config.normalize, lowercase=config.lowercase)


def _integers(ids: Sequence[int] | Ids) -> Iterator[int]:
    yield from np.asarray(ids, dtype=np.int64).tolist()


def _is_text(token: int) -> bool:
    return token > END or token == UNK


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(_read(path))
    except (ValueError, RecursionError):
        raise RunError(f"{path}: is not JSON text; restore it from a copy") from None
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise RunError(
            f"{path}: is not a field of format {_FORMAT}; "
            "restore it from a copy or use the release that wrote it"
        )
    return facts


def _read(path: Path) -> bytes:
    """The content of an ordinary file of bounded size."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
            raise RunError(
                f"{path}: is not an ordinary file of at most 64 MB; restore it from a copy"
            )
        return path.read_bytes()
    except OSError as error:
        raise RunError(
            f"{path}: cannot be read ({error.strerror}); restore it from a copy"
        ) from None
