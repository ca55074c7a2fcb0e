"""The report of a run as one page: data, model, curves, validation results, examples, and the
commands to reproduce it.
"""

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.drawing.curves import Curves, fill_curves
from seqloom.drawing.forecast import fill_forecast
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.page import page, section, table
from seqloom.drawing.results import score_table
from seqloom.drawing.views import View, fragment_of
from seqloom.explain import drawing_of, text_of
from seqloom.metrics import Score
from seqloom.prediction import Forecast
from seqloom.tasks.evaluation import Breakdown, breakdown_dicts
from seqloom.tasks.report_rows import CHRF, ForecastResults, HeldOutResults, ReportRow, Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PAGES", "ForecastReport", "RunReport"]

SHOWN = 8  # examples from either end
BUCKETS = 6  # groups by length


@dataclass(frozen=True, eq=False)
class RunReport:
    """The content of a run's report."""

    run: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, str], ...]  # of the model: number of parameters, name
    curves: Curves
    best: int
    scores: tuple[Score, ...]
    report_rows: tuple[ReportRow, ...]
    views: tuple[View, ...]
    options: tuple[tuple[str, str], ...]
    repeat: tuple[str, ...]  # commands
    scale: Scale = CHRF
    views_heading: str = "Attention of three examples"  # what the views show
    breakdowns: tuple[Breakdown, ...] = ()
    diagnosis: str = ""  # the run's problem and what to try, if any

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": self.run,
            **({"diagnosis": self.diagnosis} if self.diagnosis else {}),
            "facts": dict(self.facts),
            "parts": [{"parameters": count, "part": name} for count, name in self.parts],
            "scores": [score.as_dict() for score in self.scores],
            **breakdown_dicts(self.breakdowns),
            "judged_by": self.scale.name,
            "rows": [{**asdict(each), "source": str(each.source)} for each in self.report_rows],
            "lengths": [
                {"length": middle, "quality": mean, "rows": count}
                for middle, mean, count in self.by_length()
            ],
            "looks": [each.as_dict() for each in self.views],
            "options": dict(self.options),
            "repeat": list(self.repeat),
        }

    def by_length(self) -> list[tuple[float, float, int]]:
        """Mean length, mean quality and number of rows, from the shortest sixth to the longest."""
        order = sorted(self.report_rows, key=lambda each: each.length)
        if not order:
            return []
        different = len({each.length for each in order})
        groups = np.array_split(np.arange(len(order)), min(BUCKETS, different))
        return [
            (
                float(np.mean([order[i].length for i in group])),
                float(np.mean([order[i].quality for i in group])),
                len(group),
            )
            for group in groups
        ]

    def rank_rows(self) -> list[ReportRow]:
        """The rows from the best to the worst, ties by the model's confidence."""
        return sorted(self.report_rows, key=lambda each: (-each.quality, -each.score))

    def page(self) -> str:
        """The whole HTML file, which needs no network."""
        return page(
            f"{self.run}: a report",
            [
                *self._headline(),
                section("Data and run", table((), self.facts)),
                section("Model", table(("parameters", "part"), self.parts, numbers=(0,))),
                section("Learning curves", self._curves().figure("Learning curves")),
                section("Held-out results", self._results()),
                *(section(each.heading, fragment_of(each.view)) for each in self.breakdowns),
                *self._examples(),
                section(self.views_heading, *self._views_html()),
                section("How to repeat it", *self._repeat()),
            ],
        )

    def _headline(self) -> list[str]:
        """The main score on validation rows, and the diagnosis."""
        told = [f"<p>{html.escape(self.diagnosis)}</p>"] if self.diagnosis else []
        if not self.scores:
            return told
        words = html.escape(str(self.scores[0]))
        rows = f"{self.row_count:,} held-out rows"
        return [f'<p class="headline"><strong>{words}</strong> on {rows}</p>', *told]

    def _curves(self) -> Drawing:
        return Drawing((), lambda figure, _: fill_curves(figure, self.curves, self.best))

    def _lengths(self) -> str:
        if not self.scale.length:
            return f"<p>All sources have one length; {self.scale.name} does not depend on it.</p>"
        words = f"{self.scale.name} of each row against its length"
        return Drawing((), partial(_fill_lengths, self)).figure(words)

    def _results(self) -> str:
        words = f'<p class="faint">{self.row_count:,} rows that were not learnt from.</p>'
        return words + score_table(self.scores)

    def _examples(self) -> list[str]:
        """The best and the worst examples, and quality by length."""
        shown = min(SHOWN, (len(self.report_rows) + 1) // 2)
        return [
            section("Best examples", self._table(self.rank_rows()[:shown])),
            section("Worst examples", self._table(self.rank_rows()[::-1][:shown])),
            section("Length against quality", self._lengths()),
        ]

    def _table(self, rows: Sequence[ReportRow]) -> str:
        columns: dict[str, list[object]] = {
            "source": [each.source for each in rows],
            "output": [each.output for each in rows],
            "reference": [each.reference for each in rows],
            self.scale.name: [self._quality(each) for each in rows],
        }
        there = {name: cells for name, cells in columns.items() if any(map(str, cells))}
        return table(
            tuple(there), list(zip(*there.values(), strict=True)), numbers=(len(there) - 1,)
        )

    @property
    def row_count(self) -> int:
        """The number of scored rows."""
        return len(self.report_rows)

    def _quality(self, each: ReportRow) -> str:
        value = abs(each.quality) if self.scale.lower_is_better else each.quality
        return f"{value:.{self.scale.digits}f}"

    def _views_html(self) -> list[str]:
        if not self.views:
            return ["<p>There is nothing of the kind to show.</p>"]
        return [drawing_of(each).figure(text_of(each)) for each in self.views]

    def _repeat(self) -> list[str]:
        commands = html.escape("\n".join(self.repeat))
        options = table(("option", "value"), self.options)
        return [
            f'<pre tabindex="0"><code>{commands}</code></pre>',
            f"<details><summary>All options</summary>{options}</details>",
        ]


@dataclass(frozen=True, eq=False)
class ForecastReport(RunReport):
    """The report of a forecasting run, with its best and worst windows."""

    forecasts: tuple[Forecast, ...] = ()  # from the best to the worst
    windows: int = 0

    @property
    def row_count(self) -> int:
        """The number of forecast windows."""
        return self.windows

    def _examples(self) -> list[str]:
        best, worst = self.forecasts[0], self.forecasts[-1]
        return [
            section("Best example", _forecast(best).figure("The forecast with the least error")),
            section("Worst example", _forecast(worst).figure("The forecast with the most error")),
        ]


PAGES: dict[str, type[RunReport]] = {
    HeldOutResults.layout: RunReport,
    ForecastResults.layout: ForecastReport,
}
"""The page that shows results, by their layout."""


def _forecast(forecast: Forecast) -> Drawing:
    return Drawing(forecast.columns, lambda figure, _: fill_forecast(figure, forecast))


def _fill_lengths(report: RunReport, figure: "Figure", _labels: Sequence[str]) -> None:
    """Draw a point for each row, and the mean of each sixth."""
    figure.set_size_inches(6.4, 3.2)
    axes = figure.add_subplot()
    lengths = [each.length for each in report.report_rows]
    scale, sign = report.scale, -1 if report.scale.lower_is_better else 1
    qualities = [sign * each.quality for each in report.report_rows]
    axes.scatter(lengths, qualities, s=8, alpha=0.35, color="#1f5fa8", lw=0)
    middle = report.by_length()
    axes.plot(
        [each[0] for each in middle], [sign * each[1] for each in middle], color="#c8641e",
        marker="o", label="mean of rows of like length",
    )  # fmt: skip
    if scale.top is not None:
        axes.set_ylim(-0.03 * scale.top, 1.03 * scale.top)
    axes.set_xlabel(scale.length)
    axes.set_ylabel(f"{scale.name} of the row")
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1))
    axes.spines[["top", "right"]].set_visible(False)
