"""Evaluate a model on a data set: metrics, scores of pairs, search errors."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from seqloom.api.load import load
from seqloom.data import Data, DataLike, Report, as_data
from seqloom.fields import END, SPECIAL_SYMBOLS
from seqloom.prediction import Output, Predictor, ScoredOutput, TextPredictor
from seqloom.search import PLAIN, Beam, Exact, Search
from seqloom.tasks import EvaluationResult, task_of

__all__ = [
    "Result",
    "SearchErrors",
    "WidthErrors",
    "compare",
    "evaluate",
    "score_rows",
    "search_errors",
]


def evaluate(
    model: Predictor | str | Path,
    data: DataLike,
    *,
    options: Mapping[str, Any] | None = None,
    search: Search | None = None,
    lowercase: bool = False,
) -> EvaluationResult:
    """Measure a model, or the run in a directory, by the metrics that fit its target, each with a
    95 % bootstrap interval.

    ConfigError if `search` or `lowercase` is given and the model does not write text.
    """
    model = load(model) if isinstance(model, str | Path) else model
    task, reading = task_of(model.config), (options or {}).get("data", {})
    if isinstance(reading, Mapping) and (overlong := reading.get("overlong")) is not None:
        data_config = model.config.data.model_copy(update={"overlong": overlong})
        model = replace(model, config=model.config.model_copy(update={"data": data_config}))
    return task.evaluate(model, as_data(data), options=options, search=search, lowercase=lowercase)


GROUP = 2_048  # rows scored together
MIN_LOG_PROBABILITY = -700.0  # lowest mean with a finite perplexity: exp(709) is the largest float


def score_rows(
    model: Predictor, data: Data, *, options: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the log-probability of each row and of each of its tokens.

    Values are plain; those that JSON cannot represent are None.
    """
    rows = task_of(model.config).data_rows(model, data, options, Report())
    size = None if model.is_stream else GROUP  # one text is one group
    while group := list(islice(rows, size)):
        pairs = [(row.source, row.target) for row in group]
        for row, scored in zip(group, model.score_lines(pairs), strict=True):
            plain = scored.as_dict()
            yield {
                "place": str(row.place),
                "source": row.source,
                "target": row.target,
                "score": plain["score"],
                "perplexity": _perplexity(scored),
                "tokens": plain["tokens"],
            }


def _perplexity(scored: ScoredOutput) -> float | None:
    """The perplexity of a row; None if it overflows."""
    mean = scored.log_probability / len(scored.tokens)
    return math.exp(-mean) if mean >= MIN_LOG_PROBABILITY else None


SAME = 1e-4  # tolerance for equal log-probabilities in single precision


class Result(NamedTuple):
    """What a search found for a sentence."""

    score: float
    length: int  # in tokens, without `<end>`
    ended: bool
    limited: bool = False  # stopped by a limit before the optimum was proved

    @classmethod
    def of(cls, output: Output) -> "Result":
        """The result of an output."""
        ended = bool(output.tokens) and output.tokens[-1].text == SPECIAL_SYMBOLS[END]
        return cls(output.score, len(output.tokens) - ended, ended, output.stopped == "limit")

    @property
    def is_optimal(self) -> bool:
        """Whether an exact search proved this the most probable output."""
        return self.ended and not self.limited

    def is_worse_than(self, best: "Result") -> bool:
        """Whether `best` is more probable, or ends while this does not."""
        return best.ended and (not self.ended or best.score > self.score + SAME)


@dataclass(frozen=True)
class WidthErrors:
    """Search errors of one beam width; each sentence is in one of the three counts."""

    width: int
    optimal: int  # found the proved optimum
    missed: int  # missed a better output
    undecided: int  # no better output is known, but none is ruled out


@dataclass(frozen=True)
class SearchErrors:
    """Search errors of several beam widths, and properties of the proved optima."""

    rows: int
    proved: int  # rows whose optimum is proved
    empty: int  # proved optima that are empty
    shorter: int  # shorter than the reference, including the empty ones
    widths: tuple[WidthErrors, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The counts as a table of text."""

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
    """Compare beams of width 1 to `widest` with the exact optimum on every row of the data."""
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
    """Count search errors from each sentence's results and its reference's length."""
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
