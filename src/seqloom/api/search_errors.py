"""Whether the search or the model is to blame: how often beams miss the optimum (S7.5).

Outputs are compared by log-probability alone, without any length rule: that is what the model
learnt to give, and only there can the optimum of most sentences be proved in reasonable time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from seqloom.data import Data, Report
from seqloom.fields import END, SPECIAL_SYMBOLS
from seqloom.prediction import Output, TextPredictor
from seqloom.search import PLAIN, Beam, Exact
from seqloom.tasks import task_of

__all__ = ["Result", "SearchErrors", "WidthErrors", "compare", "search_errors"]

SAME = 1e-4  # log-probabilities closer than this are equal in single precision


class Result(NamedTuple):
    """What a search found for a sentence."""

    score: float
    length: int  # tokens, `<end>` not counted
    ended: bool
    limited: bool = False  # a limit was hit before it was proved

    @classmethod
    def of(cls, output: Output) -> "Result":
        """What counts here of an output."""
        ended = bool(output.tokens) and output.tokens[-1].text == SPECIAL_SYMBOLS[END]
        return cls(output.score, len(output.tokens) - ended, ended, output.stopped == "limit")

    @property
    def is_optimal(self) -> bool:
        """Whether an exact search has shown that nothing is likelier."""
        return self.ended and not self.limited

    def is_worse_than(self, best: "Result") -> bool:
        """Whether a likelier output is known, or one that ends where this does not."""
        return best.ended and (not self.ended or best.score > self.score + SAME)


@dataclass(frozen=True)
class WidthErrors:
    """How beams of one width did; every sentence is in one of the three counts."""

    width: int
    optimal: int  # the proved optimum was found
    missed: int  # a better output is known
    undecided: int  # nothing better is known, but none is ruled out


@dataclass(frozen=True)
class SearchErrors:
    """What beams of several widths missed, and what the proved optima are like."""

    rows: int
    proved: int  # the optimum is known for so many
    empty: int  # it has no token but `<end>`
    shorter: int  # it has fewer tokens than the reference; the empty are among them
    widths: tuple[WidthErrors, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The same as a table for people."""

        def cell(count: int) -> str:
            share = f"({count / self.rows:.1%})" if self.rows else ""
            return f"{count:>8,} {share:>8}"

        return [
            f"search errors over {self.rows:,} rows, by log-probability without a length rule",
            f"{'optimum proved':<18}{cell(self.proved)}",
            f"{'  empty':<18}{cell(self.empty)}",
            f"{'  shorter':<18}{cell(self.shorter)}  than the reference, in tokens",
            f"{'not proved':<18}{cell(self.rows - self.proved)}  a limit was hit, or nothing ends",
            f"{'beam':<18}{'optimum found':>17}{'better exists':>17}{'undecided':>17}",
            *(
                f"{each.width:<18,}{cell(each.optimal)}{cell(each.missed)}{cell(each.undecided)}"
                for each in self.widths
            ),
        ]


def search_errors(
    model: TextPredictor,
    data: Data,
    *,
    widest: int = 5,
    search: Exact | None = None,
    options: Mapping[str, Any] | None = None,
) -> SearchErrors:
    """Beams of 1 to `widest` paths against the exact optimum, on every row of the data."""
    rows = list(task_of(model.config).data_rows(model, data, options, Report()))
    sources = [row.source for row in rows]
    optima = _results(model.stream_cells(sources, search=search or Exact()))
    beams = {
        width: _results(model.stream_cells(sources, search=Beam(width, PLAIN)))
        for width in range(1, widest + 1)
    }
    encoded = model.target.encode_many([row.target for row in rows])
    return compare(optima, beams, [len(tokens) for tokens in encoded])


def compare(
    optima: Sequence[Result], beams: Mapping[int, Sequence[Result]], references: Sequence[int]
) -> SearchErrors:
    """The counts, from what was found for each sentence and its reference's number of tokens."""
    lengths = [
        (best.length, reference)
        for best, reference in zip(optima, references, strict=True)
        if best.is_optimal
    ]
    return SearchErrors(
        rows=len(optima),
        proved=len(lengths),
        empty=sum(length == 0 for length, _ in lengths),
        shorter=sum(length < reference for length, reference in lengths),
        widths=tuple(_width_errors(width, found, optima) for width, found in beams.items()),
    )


def _width_errors(width: int, found: Sequence[Result], optima: Sequence[Result]) -> WidthErrors:
    pairs = list(zip(found, optima, strict=True))
    missed = sum(mine.is_worse_than(best) for mine, best in pairs)
    optimal = sum(best.is_optimal and not mine.is_worse_than(best) for mine, best in pairs)
    return WidthErrors(width, optimal, missed, len(pairs) - missed - optimal)


def _results(outputs: Iterable[Output]) -> list[Result]:
    return [Result.of(output) for output in outputs]
