"""WebVTT subtitles: the text of each cue; notes, styles, regions and cue settings stay."""

import re
from collections.abc import Iterator

from seqloom.documents.cues import CueSyntax, cue_slots, text_blocks
from seqloom.documents.document import DOCUMENT_FORMATS, DocumentFormat, DocumentSource, Slot
from seqloom.documents.markup import escape_markup

__all__ = ["VttFormat"]

STAMP = r"(?:\d{2,}:)?\d{2}:\d{2}\.\d{3}"
TIMES = re.compile(rf"\s*{STAMP}\s+-->\s+{STAMP}(?:\s.*)?")
HEADER = re.compile(r"WEBVTT(?:[ \t].*)?")
BLOCKS = ("note", "style", "region")  # blocks without speech; case varies
UNSPOKEN = re.compile(rf"(?:{'|'.join(BLOCKS).upper()})(?:\s.*)?")
TAG = re.compile(r"</(?P<close>\w*)>|<(?:(?P<open>[A-Za-z]\w*)(?:[ \t\r\n.][^<>]*)?|[\d:.]+)>")


def _escape(text: str, spellings: dict[str, str]) -> str:
    return escape_markup(text, spellings=spellings).replace("-->", "--&gt;")


SYNTAX = CueSyntax(TAG, references=True, escape=_escape)


@DOCUMENT_FORMATS.part("vtt")
class VttFormat(DocumentFormat):
    """A cue is a name or none, a line of times with settings, and its text."""

    endings = (".vtt",)

    def slots(self, source: DocumentSource) -> Iterator[Slot]:
        """The slots of each cue, named as in the file."""
        first = source.text[: len(source.text.splitlines()[0])] if source.text.strip() else ""
        if not HEADER.fullmatch(first.rstrip("\r\n")):
            raise source.error(0, f"expected WEBVTT, found {first[:40]!r}; write it as line 1")
        for number, block in enumerate(text_blocks(source.text)):
            if number == 0 or UNSPOKEN.fullmatch(block[0].text):
                continue
            index = 0 if "-->" in block[0].text else 1
            line = block[min(index, len(block) - 1)]
            if len(block) <= index or not TIMES.fullmatch(line.text):
                raise source.error(
                    line.start,
                    f"expected times such as 00:01.000 --> 00:02.500, found {line.text[:40]!r}; "
                    "write each cue as its times and its text, with a blank line after it",
                )
            name = block[0].text.strip() if index else ""
            if block[index + 1 :]:
                yield from cue_slots(source, block[index + 1 :], name, syntax=SYNTAX)
