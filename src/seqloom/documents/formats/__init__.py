"""The document formats of Seqloom, each in its file."""

from seqloom.documents.formats.html import HtmlFormat
from seqloom.documents.formats.markdown import MarkdownFormat
from seqloom.documents.formats.plain_text import PlainTextFormat
from seqloom.documents.formats.po import PoFormat
from seqloom.documents.formats.srt import SrtFormat
from seqloom.documents.formats.tmx import TmxFormat
from seqloom.documents.formats.vtt import VttFormat
from seqloom.documents.formats.xliff import XliffFormat

__all__ = [
    "HtmlFormat",
    "MarkdownFormat",
    "PlainTextFormat",
    "PoFormat",
    "SrtFormat",
    "TmxFormat",
    "VttFormat",
    "XliffFormat",
]
