"""The stated normalisation of text: Unicode form, case, and nothing that UTF-8 cannot hold."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappush, heappushpop
from itertools import groupby
from typing import Any, Literal, NamedTuple

__all__ = ["NOTHING_LEARNT", "Form", "LearntTexts", "TextObserver", "normalize"]

CANDIDATES = 20  # texts of which one is the longest in tokens
Form = Literal["none", "NFC", "NFKC"]

_SURROGATES = re.compile("[\ud800-\udfff]")
_DECOMPOSITIONS: dict[str, Literal["NFD", "NFKD"]] = {"NFC": "NFD", "NFKC": "NFKD"}
_SHORT = 4_096  # below this the quadratic worst case of `unicodedata.normalize` costs nothing


def normalize(text: str, *, form: Form, lowercase: bool) -> str:
    """`text` in the given Unicode form, in small letters if wanted, lone surrogates as U+FFFD.

    Time is linear in the length (RELIABILITY B3), and doing it twice changes nothing more.
    """
    if text.isascii():
        return text.lower() if lowercase else text
    text = _compose(_SURROGATES.sub("\ufffd", text), form)
    return _compose(text.lower(), form) if lowercase else text


def _compose(text: str, form: Form) -> str:
    if form == "none":
        return text
    if len(text) > _SHORT:
        text = _order_marks(text, form)
    return unicodedata.normalize(form, text)


def _order_marks(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """An equivalent text whose combining marks are sorted already.

    `unicodedata.normalize` sorts each run of marks by insertion: linear on sorted runs only.
    """
    apart = _DECOMPOSITIONS[form]
    decomposed = (part for char in text for part in unicodedata.normalize(apart, char))
    runs = groupby(decomposed, key=lambda char: unicodedata.combining(char) > 0)
    return "".join(
        "".join(sorted(run, key=unicodedata.combining) if marks else run) for marks, run in runs
    )


class LearntTexts(NamedTuple):
    """What a source remembers of the texts that it was learnt from."""

    folds_capitals: bool = False  # there were none, so that those of inputs become small letters
    longest: int = 0  # tokens of the longest; 0 where that is not known

    def facts(self) -> dict[str, Any]:
        """What is saved: whatever is not as usual."""
        return {name: value for name, value in self._asdict().items() if value}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "LearntTexts":
        """What was saved."""
        longest = facts.get("longest")
        return cls(facts.get("folds_capitals") is True, longest if type(longest) is int else 0)


NOTHING_LEARNT = LearntTexts()


class TextObserver:
    """Looks at texts while something else reads them: their case, and which are longest."""

    def __init__(self) -> None:
        self._small = self._capital = False
        self._longest: list[tuple[int, str]] = []

    def watch(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts as they are."""
        for text in texts:
            if not self._capital:
                lower = text.lower()
                self._capital = lower != text
                self._small = self._small or lower != lower.upper()
            if len(self._longest) < CANDIDATES:
                heappush(self._longest, (len(text), text))
            elif len(text) > self._longest[0][0]:
                heappushpop(self._longest, (len(text), text))
            yield text

    @property
    def is_lowercase(self) -> bool:
        """Whether there were small letters and no capitals."""
        return self._small and not self._capital

    @property
    def longest(self) -> list[str]:
        """Those with the most characters, among which is the one with the most tokens as a
        rule."""
        return [text for _, text in self._longest]
