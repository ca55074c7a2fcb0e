"""Text before it is cut: Unicode form, case, and nothing that UTF-8 cannot hold."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

__all__ = ["Form", "normalize", "normalize_many"]

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


def normalize_many(texts: Sequence[str], *, form: Form, lowercase: bool) -> list[str]:
    """`normalize` of each text; at once where all of them are in that form already."""
    joined = "\n".join(texts)
    plain = joined.isascii() or (
        (form == "none" or unicodedata.is_normalized(form, joined))
        and not _SURROGATES.search(joined)
    )
    if plain and (not lowercase or joined.isascii()) and joined.count("\n") == len(texts) - 1:
        return joined.lower().split("\n") if lowercase else list(texts)
    return [normalize(text, form=form, lowercase=lowercase) for text in texts]


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
