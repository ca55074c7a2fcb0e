"""What a word is: one pattern, each of whose repetitions is bounded, so that its time is linear.

Most of it is Unicode. Three short lists are about languages: what French and Italian put before an
apostrophe (`l'homme` is `l'` and `homme`, but `aujourd'hui` is one word), what English puts after
one (`it's` is `it` and `'s`, but `don't` is one word), and what French hangs on a verb (`dis-moi`
is `dis` and `-moi`, but `peut-être` is one word).
"""

import re
import sys
import unicodedata
from functools import cache
from itertools import count, groupby

__all__ = ["UNSPACED", "word_pattern"]

_UNSPACED = (  # Thai to Tibetan, Burmese, Khmer, Han, kana
    "\u0e01-\u0e4f\u0e81-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_KATAKANA = "\u30a1-\u30fa\u30fc"
_APOSTROPHE = "['\u2019]"
_HYPHEN = "[-\u2010\u2011]"
_BEFORE_APOSTROPHE = (
    "[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|all|dall|dell|nell|sull|quell|quest|un"
)
_AFTER_APOSTROPHE = "s|m|re|ve|ll|d"
_AFTER_HYPHEN = "je|tu|ils?|elles?|on|nous|vous|moi|toi|lui|leur|les?|la|y|en|ce|ci|l\u00e0|t"
_SKIN_TONES = "\U0001f3fb-\U0001f3ff"


def _marks() -> str:
    """The combining marks as the inside of a character class."""
    planes = (*range(0x20000), *range(0xE0000, min(0xE0200, sys.maxunicode)))
    marks = [code for code in planes if unicodedata.category(chr(code)).startswith("M")]
    step = count()
    runs = (list(run) for _, run in groupby(marks, key=lambda code: code - next(step)))
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


@cache
def word_pattern() -> re.Pattern[str]:
    """Matches one word or mark at every character that is not white space."""
    marks = _marks()
    word = rf"[^\W{_UNSPACED}]"
    letter = rf"[^\W\d_{_UNSPACED}]"
    joined = f"[{marks}\u200c\u200d]{{1,16}}{word}{{0,16}}"
    run = f"{word}{{1,64}}(?:{joined}){{0,32}}"
    mark = rf"[^\w\s][{marks}{_SKIN_TONES}]{{0,16}}"
    ending = f"(?i:{_AFTER_APOSTROPHE})(?!{word})"
    hung = f"(?i:{_AFTER_HYPHEN})(?!{word})"
    inside = (
        rf"(?<=\d)[.,:](?=\d)"
        rf"|{_APOSTROPHE}(?!{ending})(?={letter})"
        rf"|(?<![\d_]){_HYPHEN}(?!{hung})(?={letter})"
    )
    kinds = (
        f"(?i:{_BEFORE_APOSTROPHE}){_APOSTROPHE}(?!{ending}|(?i:t)(?!{word}))(?= ?{letter})",
        f"{run}(?:(?:{inside}){run}){{0,8}}",
        f"{_APOSTROPHE}{ending}",
        rf"(?<=[^\W\d_]){_HYPHEN}{hung}",
        f"[{_KATAKANA}]{{1,32}}[{marks}]{{0,16}}",
        f"[{_UNSPACED}][{marks}]{{0,16}}",
        r"\.\.\.|--",
        "[\U0001f1e6-\U0001f1ff]{2}",
        f"{mark}(?:\u200d{mark}){{0,8}}",
    )
    return re.compile("|".join(kinds))


UNSPACED = re.compile(f"[{_UNSPACED}]")
"""One character of a script that is written without spaces between words."""
