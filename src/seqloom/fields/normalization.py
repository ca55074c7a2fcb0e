"""The stated normalisation of text: Unicode form, case, and nothing that UTF-8 cannot hold."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal

__all__ = ["CaseObserver", "Form", "normalize"]

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


class CaseObserver:
    """Finds out whether texts have letters of both cases, while something else reads them."""

    def __init__(self) -> None:
        self._small = self._capital = False

    def watch(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts as they are."""
        for text in texts:
            if not self._capital:
                lower = text.lower()
                self._capital = lower != text
                self._small = self._small or lower != lower.upper()
            yield text

    @property
    def is_lowercase(self) -> bool:
        """Whether there were small letters and no capitals."""
        return self._small and not self._capital
