"""`seqloom predict` on documents: translate the text and keep everything else."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.commands.optimize import EngineOptions
from seqloom.cli.panels import DOCUMENT
from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.api.documents import Ask, DocumentRequest
    from seqloom.documents import TranslatedDocument
    from seqloom.prediction import Predictor

__all__ = ["DocumentFlags", "write_document"]

TOLD = 20  # most losses listed one by one
LONGEST_LINE = 100_000


@dataclass(frozen=True)
class DocumentFlags(EngineOptions):
    """How a document is read and what is kept in it."""

    format: Annotated[
        str | None,
        typer.Option(
            "--document",
            metavar="FORMAT",
            help="read a document of this format: text, markdown, html, xliff, srt, vtt, po or "
            "tmx; by the ending of its name if absent, and .txt by lines",
            rich_help_panel=DOCUMENT,
        ),
    ] = None
    protect: Annotated[
        Path | None,
        typer.Option(
            "--protect",
            metavar="FILE",
            help="file of words to keep untranslated, one per line",
            rich_help_panel=DOCUMENT,
        ),
    ] = None
    stand_in: Annotated[
        str,
        typer.Option(
            "--stand-in",
            metavar="FORM",
            help="placeholder for protected text, such as X{}X",
            rich_help_panel=DOCUMENT,
        ),
    ] = ""
    allow_loss: Annotated[
        bool,
        typer.Option(
            "--allow-loss",
            help="report protected text that the model drops, instead of translating around it",
            rich_help_panel=DOCUMENT,
        ),
    ] = False
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="XLIFF, PO and TMX: also replace existing translations",
            rich_help_panel=DOCUMENT,
        ),
    ] = False
    source_language: Annotated[
        str | None,
        typer.Option(
            "--source-language",
            metavar="CODE",
            help="for the ends of sentences, and of a TMX file",
            rich_help_panel=DOCUMENT,
        ),
    ] = None
    target_language: Annotated[
        str | None,
        typer.Option(
            "--target-language", metavar="CODE", help="of a TMX file", rich_help_panel=DOCUMENT
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="of a document, in place of what it declares",
            rich_help_panel=DOCUMENT,
        ),
    ] = None

    def is_document(self, file: Path | None) -> bool:
        """Whether a file is a document; ConfigError if it is not and document options are set."""
        from seqloom.documents import is_document

        if self.format is not None or (file is not None and is_document(file.name)):
            return True
        names = [field for field in DocumentFlags.__annotations__ if getattr(self, field)]
        if names:
            raise ConfigError(
                f"--{names[0].replace('_', '-')} is for documents, and the input is read by lines",
                remedy="name its format with --document text",
            )
        return False

    def request(self) -> "DocumentRequest":
        """The flags as a request of the API."""
        from seqloom.api.documents import DocumentRequest
        from seqloom.data import file_name, read_lines
        from seqloom.documents import DocumentOptions

        terms: list[str] = []
        if self.protect is not None:
            terms = [line.strip() for line in read_lines(self.protect, max_line=LONGEST_LINE)]
        return DocumentRequest(
            DocumentOptions(
                self.format,
                self.encoding,
                self.replace,
                self.source_language,
                self.target_language,
            ),
            tuple(filter(None, terms)),
            self.stand_in,
            not self.allow_loss,
            file_name(None),
            _show_progress if sys.stderr.isatty() else None,
        )


def write_document(
    file: Path | None, model: "Predictor", ask: "Ask", flags: DocumentFlags, *, as_json: bool
) -> "TranslatedDocument":
    """Print the translated document, or each text as JSON, and report losses."""
    from seqloom.api.documents import predict_document, read_document

    request = flags.request()
    given = file if file is not None else read_document(None)
    made = predict_document(model, given, request=request, ask=ask)
    if as_json:
        for segment in made.segments:
            print(json.dumps(segment.as_dict(), ensure_ascii=False))
    else:
        sys.stdout.buffer.write(made.data)
        sys.stdout.buffer.flush()
    for line in _report(made):
        print(line, file=sys.stderr)
    return made


def _report(made: "TranslatedDocument") -> list[str]:
    """Report how much was translated, and where protected text was lost."""
    parts = sum(segment.in_parts for segment in made.segments)
    apart = f", {parts:,} of them in parts to keep what must stay" if parts else ""
    lost = [f"{each.place}: {each.text!r} was lost" for each in made.lost]
    more = [f"and {len(lost) - TOLD:,} more were lost"] if len(lost) > TOLD else []
    return [f"texts translated: {len(made.segments):,}{apart}", *lost[:TOLD], *more]


def _show_progress(done: int, total: int) -> None:
    """Show progress on one line, cleared at the end."""
    end = "\r\033[K" if done == total else ""
    print(f"\r{done:,} of {total:,} sentences{end}", end="", file=sys.stderr, flush=True)
