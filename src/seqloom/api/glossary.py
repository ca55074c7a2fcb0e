"""What a glossary does to a model: the terms that come out, and the scores beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seqloom.data import Data, Report
from seqloom.metrics import Score
from seqloom.prediction import Glossary, OutputOptions, TermCount, TextPredictor
from seqloom.search import Search
from seqloom.tasks import task_of

__all__ = ["GlossaryEffect", "GlossaryResult", "evaluate_glossary"]


class GlossaryResult(NamedTuple):
    """Outputs with or without a glossary: the terms in them, and their scores."""

    terms: TermCount
    scores: tuple[Score, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        scores = [score.as_dict() for score in self.scores]
        return {"terms": self.terms.wanted, "found": self.terms.found, "scores": scores}

    def line(self) -> str:
        """The same for people."""
        values = "  ".join(f"{score.name} {score.value:.{score.digits}f}" for score in self.scores)
        return f"terms {self.terms!s:<24} {values}"


@dataclass(frozen=True)
class GlossaryEffect:
    """The rows, how many of them have terms, and the results without and with the glossary."""

    rows: int
    rows_with_terms: int
    without: GlossaryResult
    with_glossary: GlossaryResult

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": self.rows,
            "rows_with_terms": self.rows_with_terms,
            "without": self.without.as_dict(),
            "with": self.with_glossary.as_dict(),
        }

    def lines(self) -> list[str]:
        """The same for people."""
        return [
            f"glossary: {self.rows_with_terms:,} of {self.rows:,} rows have terms",
            f"without it  {self.without.line()}",
            f"with it     {self.with_glossary.line()}",
        ]


def evaluate_glossary(
    model: TextPredictor,
    data: Data,
    glossary: Glossary,
    *,
    options: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> GlossaryEffect:
    """The share of terms that come out and the metrics of the outputs, without and with them.

    All rows count for the metrics, those without terms too.
    """
    task = task_of(model.config)
    rows = list(task.data_rows(model, data, options, Report()))
    sources, references = [row.source for row in rows], [row.target for row in rows]

    def measure(wanted: OutputOptions) -> GlossaryResult:
        found = model.stream_cells(sources, search=search, options=wanted)
        outputs = [output.text for output in found]
        scores = task.metrics(outputs, references, seed=None)
        return GlossaryResult(_count(glossary, sources, outputs), tuple(scores))

    return GlossaryEffect(
        len(rows),
        sum(bool(glossary.find(source)) for source in sources),
        measure(OutputOptions()),
        measure(OutputOptions(glossary=glossary)),
    )


def _count(glossary: Glossary, sources: Sequence[str], outputs: Sequence[str]) -> TermCount:
    pairs = zip(sources, outputs, strict=True)
    return sum((glossary.count(source, output) for source, output in pairs), TermCount())
