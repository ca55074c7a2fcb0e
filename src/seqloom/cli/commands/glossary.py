"""Glossaries on the command line: the option, and a report on its terms."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqloom.cli.panels import OUTPUT

if TYPE_CHECKING:
    from seqloom.prediction import Glossary, Output, Predictor

__all__ = ["GlossaryOption", "TermReport"]

TOLD = 5  # most unwritable terms listed one by one
SEPARATOR = "|"
GlossaryOption = Annotated[
    Path | None,
    typer.Option(
        "--glossary",
        metavar="FILE",
        help="terms and their translations, term<TAB>form|form; a third column may say preferred",
        rich_help_panel=OUTPUT,
    ),
]


class TermReport:
    """Counts glossary terms in inputs and outputs."""

    def __init__(self, glossary: "Glossary") -> None:
        from seqloom.prediction import TermCount

        self.glossary = glossary
        self.count = TermCount()

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Count the terms of source texts in their translations."""
        for source, translation in pairs:
            self.count += self.glossary.count(source, translation)

    def watch(self, ask: "Callable[..., Iterable[Output]]") -> "Callable[..., Iterator[Output]]":
        """Wrap a function from inputs to outputs so that its outputs are counted."""

        def outputs(cells: Iterable[str], **options: Any) -> "Iterator[Output]":
            read: deque[str] = deque()

            def note() -> Iterator[str]:
                for cell in cells:
                    read.append(cell)
                    yield cell

            for output in ask(note(), **options):
                self.add([(read.popleft(), output.text)])
                yield output

        return outputs

    def write(self, model: "Predictor") -> None:
        """Report on standard error how many terms were translated, and which the model cannot
        write.
        """
        print(f"terms of the glossary that came out: {self.count}", file=sys.stderr)
        writer = model.as_text_predictor()
        unknown = [] if writer is None else writer.unwritable_terms(self.glossary)
        if unknown:
            names = ", ".join(SEPARATOR.join(term.target) for term in unknown[:TOLD])
            more = f" and {len(unknown) - TOLD:,} more" if len(unknown) > TOLD else ""
            print(f"never seen in training, so never written: {names}{more}", file=sys.stderr)
