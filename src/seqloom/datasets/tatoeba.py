"""Short French sentences and their English from Tatoeba, limited to a closed vocabulary."""

import hashlib
import io
import re
import tarfile
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from seqloom.datasets.archive import Announce, Archive, announce_on_stderr, fetch
from seqloom.datasets.splits import Splits
from seqloom.errors import DataError

__all__ = ["ARCHIVE", "SentencePair", "filter_pairs", "tatoeba", "tokens"]

ARCHIVE = Archive(
    project="nmt",
    file="nmt-0.0.6.tar.gz",
    sha256="65db964c0afd5b0dbc4baecdce736f53222f63b791958176b5771db78a005096",
    size=15_744_217,
    contents="French-English sentence pairs of tatoeba.org, CC BY 2.0 FR",
)
MEMBER, TABLE = "data/fra-eng.zip", "fra.txt"
LARGEST_MEMBER = 64_000_000

ATTRIBUTION = """\
French-English sentence pairs from tatoeba.org, collected by www.manythings.org/anki (2020-08-23).
Licence: CC BY 2.0 FR, https://creativecommons.org/licenses/by/2.0/fr/
Each pair's sentence numbers and authors stand in its attribution column.
Changes: lower-cased, white space and apostrophes unified, cut to short sentences of frequent words.
"""

TOKEN = re.compile(r"\w+'?|[^\w\s]")
APOSTROPHES = str.maketrans("’ʼ", "''")


class SentencePair(NamedTuple):
    """A French sentence, its English translation and their authors."""

    french: str
    english: str
    credit: str


def tatoeba(
    cache: Path | None = None,
    *,
    archive: Archive = ARCHIVE,
    announce: Announce = announce_on_stderr,
) -> Splits:
    """French to English over 500 words per side; downloaded once, DataError if that fails."""
    path = fetch(archive, cache, announce=announce)
    return filter_pairs(_read(path))


def tokens(text: str) -> tuple[str, ...]:
    """Split a sentence into words and punctuation; an elision keeps its apostrophe."""
    return tuple(TOKEN.findall(text))


def filter_pairs(rows: Iterable[SentencePair], *, words: int = 500, longest: int = 8) -> Splits:
    """Select pairs within the most frequent words and the maximum length, one for each French
    sentence.

    A hash of the English determines the split, so splits share no English sentence.
    """
    few = (row for row in rows if len(row.english.split()) <= longest)
    tidy = (SentencePair(_tidy(row.french), _tidy(row.english), row.credit) for row in few)
    short = [row for row in tidy if len(tokens(row.english)) <= longest]
    french = _frequent([row.french for row in short], words)
    english = _frequent([row.english for row in short], words)
    kept: dict[tuple[str, ...], SentencePair] = {}
    for row in short:
        spelt = tokens(row.french)
        if spelt and french.issuperset(spelt) and english.issuperset(tokens(row.english)):
            kept.setdefault(spelt, row)
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "valid": [], "test": []}
    for row in kept.values():
        parts[_part(row.english)].append((row.french, row.english))
    return Splits(
        "tatoeba",
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
        columns=("French", "English"),
        attribution=ATTRIBUTION,
        credits={row.french: row.credit for row in kept.values()},
    )


def _tidy(text: str) -> str:
    """Normalize case, apostrophes and spaces."""
    plain = unicodedata.normalize("NFC", text).translate(APOSTROPHES)
    return " ".join(plain.lower().split())


def _frequent(texts: Sequence[str], words: int) -> set[str]:
    """The most frequent tokens; ties in alphabetical order."""
    counts = Counter(token for text in texts for token in tokens(text))
    return set(sorted(counts, key=lambda token: (-counts[token], token))[:words])


def _part(english: str) -> str:
    """The split of an English sentence, by its hash: 4 % test and 4 % validation."""
    spelt = " ".join(tokens(english))
    place = int(hashlib.md5(spelt.encode(), usedforsecurity=False).hexdigest(), 16) % 100
    return "test" if place < 4 else "valid" if place < 8 else "train"


def _read(path: Path) -> list[SentencePair]:
    """Read the table from the zip in the source distribution, in memory."""
    try:
        with tarfile.open(path, "r:gz") as outer:
            packed = outer.extractfile(_member(outer))
            inner = zipfile.ZipFile(io.BytesIO(packed.read() if packed else b""))
        if inner.getinfo(TABLE).file_size > LARGEST_MEMBER:
            raise DataError(
                f"{TABLE} is larger than {LARGEST_MEMBER:,} bytes", place=path, remedy="not read"
            )
        text = inner.read(TABLE).decode("utf-8")
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, KeyError, ValueError) as error:
        raise DataError(
            f"is not the archive described ({error})", place=path, remedy="remove it and try again"
        ) from error
    lines = text.rstrip("\n").split("\n")
    return [_sentences(line, f"{path}:{TABLE}:{n}") for n, line in enumerate(lines, 1)]


def _member(outer: tarfile.TarFile) -> tarfile.TarInfo:
    for member in outer:
        if member.isfile() and member.name.endswith("/" + MEMBER) and member.size < LARGEST_MEMBER:
            return member
    raise KeyError(f"{MEMBER} is missing")


def _sentences(line: str, place: str) -> SentencePair:
    cells = line.split("\t")
    if len(cells) != 3:
        raise DataError(
            f"expected 3 columns, found {len(cells)}", place=place, remedy="use the known archive"
        )
    english, french, credit = cells
    return SentencePair(french, english, credit)
