"""SubRip subtitles: the text of each cue, with `<i>`, `{\\an8}` and the like as codes."""

import re
from collections.abc import Iterator

from seqloom.documents.cues import CueSyntax, TextLine, cue_slots, text_blocks
from seqloom.documents.document import DOCUMENT_FORMATS, DocumentFormat, DocumentSource, Slot

__all__ = ["SrtFormat"]

STAMP = r"\d{1,3}:\d{1,2}:\d{1,2}[,.]\d{1,3}"
TIMES = re.compile(rf"\s*{STAMP}\s*-->\s*{STAMP}(?:\s.*)?")
TAG = re.compile(r"</(?P<close>[A-Za-z]\w*)\s*>|<(?P<open>[A-Za-z]\w*)(?:\s[^<>]*)?>|\{\\[^{}]*\}")


def _escape(text: str, _: dict[str, str]) -> str:
    return text.replace("-->", "->")


SYNTAX = CueSyntax(TAG, references=False, escape=_escape)


@DOCUMENT_FORMATS.part("srt")
class SrtFormat(DocumentFormat):
    """A cue is a number, a line of times and its text; a blank line ends it."""

    endings = (".srt",)

    def slots(self, source: DocumentSource) -> Iterator[Slot]:
        """The slots of each cue, named by its number."""
        for block in text_blocks(source.text):
            number = "" if TIMES.fullmatch(block[0].text) else block[0].text.strip()
            times = 1 if number else 0
            _check_times(source, block, times)
            if block[times + 1 :]:
                yield from cue_slots(source, block[times + 1 :], number, syntax=SYNTAX)


def _check_times(source: DocumentSource, block: list[TextLine], index: int) -> None:
    line = block[min(index, len(block) - 1)]
    if len(block) <= index or not TIMES.fullmatch(line.text):
        raise source.error(
            line.start,
            f"expected times such as 00:00:01,000 --> 00:00:02,500, found {line.text[:40]!r}; "
            "write each cue as a number, its times and its text, with a blank line after it",
        )
