"""Patterns of tags, placeholders, addresses, codes and numbers."""

import re
from collections.abc import Sequence

__all__ = ["PATTERNS", "term_pattern"]

UNITS = (
    "%|‰|°[CF]?|[µmck]?m[²³]?|[mk]?g|[mcd]?l|[mµn]?s|min|h|kWh|[kMG]?W|[mk]?V|m?A|[kMG]?Hz|"
    "[kKMGT]i?B|bit|dB|px|pt|€|\\$|£|¥|EUR|USD|GBP|CHF|JPY"
)

# In order of precedence: a match is not searched again.
PATTERNS: dict[str, re.Pattern[str]] = {
    "markup": re.compile(
        r"<!--.*?-->|</?[A-Za-z][^<>]*>|<[\d:.]+>|\{\\[^{}]*\}|&(?:\#\w+|[A-Za-z]\w*);", re.DOTALL
    ),
    "url": re.compile(
        r"(?:\b(?:https?|ftp|file)://|\bmailto:|\bwww\.)[^\s<>\"”«»⟦⟧]*[^\s<>\"”«»⟦⟧.,;:!?)\]}'’]"
    ),
    "email": re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"),
    "placeholder": re.compile(
        r"\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{[^{}\s]*\}"
        r"|%\([^()]*\)[#0+-]*\d*(?:\.\d+)?[A-Za-z]"
        r"|%\d+\$[#0+-]*\d*(?:\.\d+)?[A-Za-z@]"
        r"|(?<!\d)%[#0+-]*\d*(?:\.\d+)?(?:hh?|ll?|[zjtL])?[diouxXeEfFgGcrsa@](?![A-Za-z])|%%"
    ),
    "identifier": re.compile(
        r"\b(?=[\w./-]*\d)(?=[\w./-]*[A-Z_])[A-Za-z0-9_]+(?:[-_./][A-Za-z0-9_]+)*\b"
        r"|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b"
    ),
    "number": re.compile(
        rf"(?<!\w)(?:[€$£¥]\s?)?[-+±−]?\d+(?:[.,:/'’\u00a0\u202f]\d+)*(?:\s?(?:{UNITS})(?!\w))?"
    ),
}


def term_pattern(terms: Sequence[str]) -> re.Pattern[str] | None:
    """A pattern of a user's terms as whole words, the longest first."""
    longest_first = sorted({term for term in terms if term.strip()}, key=len, reverse=True)
    if not longest_first:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
