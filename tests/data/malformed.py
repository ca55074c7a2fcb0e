"""The twenty malformed kinds of RELIABILITY B1: what lies on the disk, and what must come of it."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.data import Reason

__all__ = ["KINDS", "MAX_LINE", "SKIP", "Kind", "Lines", "Rows", "flagged"]

MAX_LINE = 60
SKIP = ", or pass options={'data': {'skip_bad': True}}"
SKIP_FLAG = ", or pass --skip-bad"  # the same on the command line
GOOD = [("ein Haus", "a house"), ("ein Hund", "a dog")]
TWO_LINES = b"ein Haus\ta house\nein Hund\ta dog\n"


def flagged(sentence: str) -> str:
    """What Python says, in the words of the command line."""
    return sentence.replace(SKIP, SKIP_FLAG)


@dataclass(frozen=True)
class Rows:
    """What a reading of rows gives: those kept, those dropped, or a sentence that ends it."""

    kept: list[tuple[str, str]] = field(default_factory=list)
    dropped: Mapping[Reason, tuple[int, str]] = field(default_factory=dict)
    sentence: str | None = None


@dataclass(frozen=True)
class Lines:
    """What a reading of lines gives, in the same way; `lines` come before the sentence."""

    lines: list[str] = field(default_factory=list)
    dropped: Mapping[Reason, tuple[int, str]] = field(default_factory=dict)
    sentence: str | None = None


@dataclass(frozen=True)
class Kind:
    """A malformed corpus, as training and checking read it, and the file as predicting reads it.

    A file whose contents are None is a folder. Where an outcome of skipping is None, it is that of
    the strict reading.
    """

    name: str
    files: Mapping[str, bytes | None]
    data: str
    strict: Rows
    skip: Rows | None
    lines_strict: Lines
    lines_skip: Lines | None = None
    columns: tuple[str, str] = ("1", "2")

    def lay_out(self) -> None:
        """Put the files into the current folder."""
        for name, contents in self.files.items():
            if contents is None:
                Path(name).mkdir()
            else:
                Path(name).write_bytes(contents)

    def config(self, *, skip_bad: bool) -> DataConfig:
        """How training and checking are told to read it."""
        source, target = self.columns
        return DataConfig(source=source, target=target, max_line=MAX_LINE, skip_bad=skip_bad)

    def rows(self, *, skip_bad: bool) -> Rows:
        """What training and checking must make of it."""
        return self.skip if skip_bad and self.skip else self.strict

    def lines(self, *, skip_bad: bool) -> Lines:
        """What predicting must make of it."""
        return self.lines_skip if skip_bad and self.lines_skip else self.lines_strict

    @property
    def input(self) -> str:
        """The file that predicting reads."""
        return self.data.rpartition(",")[2]


def _in_one_line(
    name: str, *, bad: bytes, reason: Reason, sentence: str, source: str | None = None
) -> Kind:
    """A TSV file of three lines whose second is bad; `source` is what can be read of it all the
    same, if anything can."""
    lines = ["ein Haus", source or "", "ein Hund"]
    dropped = {reason: (1, "pairs.tsv:2")}
    return Kind(
        name,
        {"pairs.tsv": b"ein Haus\ta house\n" + bad + b"\nein Hund\ta dog\n"},
        "pairs.tsv",
        strict=Rows(GOOD[:1], sentence=f"pairs.tsv:2: {sentence}{SKIP}"),
        skip=Rows(GOOD, dropped),
        lines_strict=Lines(lines)
        if source is not None
        else Lines(lines[:1], sentence=f"pairs.tsv:2: {sentence}{SKIP}"),
        lines_skip=None if source is not None else Lines(lines, dropped),
    )


def _of_file(
    name: str, contents: bytes | None, sentence: str, *, lines: Lines | None = None
) -> Kind:
    """One file that cannot be used at all."""
    return Kind(
        name,
        {"pairs.tsv": contents},
        "pairs.tsv",
        strict=Rows(sentence=sentence),
        skip=None,
        lines_strict=lines or Lines(sentence=sentence),
    )


def _of_archive(name: str, packed: bytes, *, kept: int, what: str) -> Kind:
    """A gzip file that can be read for some lines."""
    sentence = f"pairs.tsv.gz:{kept + 1}: the gzip data is {what} here; copy the file again"
    return Kind(
        name,
        {"pairs.tsv.gz": packed},
        "pairs.tsv.gz",
        strict=Rows(GOOD[:kept], sentence=sentence),
        skip=None,
        lines_strict=Lines(["ein Haus", "ein Hund"][:kept], sentence=sentence),
    )


_STORED = gzip.compress(TWO_LINES, 0, mtime=0)
_CUT = _STORED[: _STORED.index(b"a dog")]
_FLIPPED = _STORED[:-8] + bytes([_STORED[-8] ^ 1]) + _STORED[-7:]

KINDS = [
    Kind(
        "missing file",
        {"pairs.csv": b""},
        "pairs.tsv",
        strict=Rows(sentence="pairs.tsv: no such file; did you mean pairs.csv?"),
        skip=None,
        lines_strict=Lines(sentence="pairs.tsv: no such file; did you mean pairs.csv?"),
    ),
    _of_file("folder", None, "pairs.tsv: is a folder; name a file in it"),
    _of_file(
        "empty file", b"", "pairs.tsv: is empty; it should hold one pair a line", lines=Lines([])
    ),
    _of_file(
        "header only",
        b"source\ttarget\n",
        "pairs.tsv: holds a header and no rows; add rows below it",
    ),
    _of_file(
        "UTF-16",
        TWO_LINES.decode().encode("utf-16"),
        "pairs.tsv: is UTF-16 text, not UTF-8; "
        "save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8",
    ),
    _of_file(
        "binary file",
        bytes(range(256)) * 4,
        "pairs.tsv: is binary data, not text; name a text file",
    ),
    _in_one_line(
        "not UTF-8",
        bad=b"der B\xe4r\tthe bear",
        reason=Reason.ENCODING,
        sentence="byte 6 of the line (0xE4) is not UTF-8; "
        "convert the file, for example with iconv -f LATIN1 -t UTF-8",
    ),
    _in_one_line(
        "NUL byte",
        bad=b"der B\0r\tthe bear",
        reason=Reason.NUL,
        sentence="byte 6 of the line is NUL, which no text holds; remove it",
    ),
    _in_one_line(
        "line too long",
        bad=b"der " + b"sehr " * 20 + b"kleine\tthe little one",
        reason=Reason.LONG_LINE,
        sentence="the line is longer than 60 bytes; split it or raise data.max_line",
    ),
    _in_one_line(
        "too many columns",
        bad=b"der Hut\tthe hat\tle chapeau",
        reason=Reason.COLUMNS,
        sentence="expected 2 columns, found 3; write tabs inside a text as spaces",
    ),
    _in_one_line(
        "too few columns",
        bad=b"der Hut the hat",
        reason=Reason.COLUMNS,
        sentence="expected 2 columns, found 1; write tabs inside a text as spaces",
    ),
    _in_one_line(
        "blank line",
        bad=b"",
        reason=Reason.BLANK,
        sentence="the line is blank; remove it",
        source="",
    ),
    _in_one_line(
        "empty source",
        bad=b" \tthe hat",
        reason=Reason.EMPTY_SOURCE,
        sentence="the source is empty; fill it in",
        source=" ",
    ),
    _in_one_line(
        "empty target",
        bad=b"der Hut\t",
        reason=Reason.EMPTY_TARGET,
        sentence="the target is empty; fill it in",
        source="der Hut",
    ),
    _of_archive("gzip cut off", _CUT, kept=1, what="cut off"),
    _of_archive("gzip damaged", _FLIPPED, kept=2, what="damaged"),
    Kind(
        "one line too many",
        {"train.de": b"ein Haus\nein Hund\n", "train.en": b"a house\na\ndog\n"},
        "train.de,train.en",
        strict=Rows(
            sentence="train.en: has 3 lines where train.de has 2; "
            "find the first line that does not match and mend it"
        ),
        skip=None,
        lines_strict=Lines(["a house", "a", "dog"]),
    ),
    Kind(
        "quote never closed",
        {"pairs.csv": b'ein Haus,a house\nder Hut,"the hat\nein Hund,a dog\n'},
        "pairs.csv",
        strict=Rows(
            GOOD[:1],
            sentence="pairs.csv:2: a quote in this row is never closed; "
            "close it, double it, or save the file as TSV, where quotes are plain text",
        ),
        skip=None,
        lines_strict=Lines(
            ["ein Haus"],
            sentence="pairs.csv:2: a quote in this row is never closed; "
            "close it, double it, or save the file as TSV, where quotes are plain text",
        ),
    ),
    Kind(
        "not JSON",
        {"pairs.jsonl": b'["ein Haus", "a house"]\n["der Hut", \n["ein Hund", "a dog"]\n'},
        "pairs.jsonl",
        strict=Rows(
            GOOD[:1],
            sentence="pairs.jsonl:2: is not valid JSON at character 13; "
            f"write one object or array a line{SKIP}",
        ),
        skip=Rows(GOOD, {Reason.JSON: (1, "pairs.jsonl:2")}),
        lines_strict=Lines(
            ["ein Haus"],
            sentence="pairs.jsonl:2: is not valid JSON at character 13; "
            f"write one object or array a line{SKIP}",
        ),
        lines_skip=Lines(["ein Haus", "", "ein Hund"], {Reason.JSON: (1, "pairs.jsonl:2")}),
    ),
    Kind(
        "not text",
        {"pairs.jsonl": b'{"s": "ein Haus", "t": "a house"}\n{"s": "drei", "t": true}\n'},
        "pairs.jsonl",
        strict=Rows(
            GOOD[:1],
            sentence=f"pairs.jsonl:2: column 't' holds true or false, neither text nor numbers; "
            f"put it in quotes{SKIP}",
        ),
        skip=Rows(GOOD[:1], {Reason.TYPE: (1, "pairs.jsonl:2")}),
        lines_strict=Lines(["ein Haus", "drei"]),
        columns=("s", "t"),
    ),
]
