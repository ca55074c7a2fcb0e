"""Normalization before tokenization: Unicode form, case, and lone surrogates."""

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
    """Normalize `text` to the given Unicode form, optionally in lower case; lone surrogates become
    U+FFFD.

    Linear in the length (RELIABILITY B3), and idempotent.
    """
    if text.isascii():
        return text.lower() if lowercase else text
    text = _compose(_SURROGATES.sub("\ufffd", text), form)
    return _compose(text.lower(), form) if lowercase else text


def normalize_many(texts: Sequence[str], *, form: Form, lowercase: bool) -> list[str]:
    """Apply `normalize` to each text; fast if all texts are normalized already."""
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
    """An equivalent text whose combining marks are already in canonical order.

    `unicodedata.normalize` sorts each run of marks by insertion, which is linear only on sorted
    runs.
    """
    apart = _DECOMPOSITIONS[form]
    decomposed = (part for char in text for part in unicodedata.normalize(apart, char))
    runs = groupby(decomposed, key=lambda char: unicodedata.combining(char) > 0)
    return "".join(
        "".join(sorted(run, key=unicodedata.combining) if marks else run) for marks, run in runs
    )
