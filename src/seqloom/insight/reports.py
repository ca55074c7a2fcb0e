"""A run on one page: its data, model, curves, held-out results, examples, and how to repeat it."""

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.insight.attention import AttentionMap
from seqloom.insight.curves import Curves, fill_curves
from seqloom.insight.page import page, part, table
from seqloom.insight.picture import Drawing
from seqloom.metrics import Score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Judged", "RunReport"]

SHOWN = 8  # examples at either end
BUCKETS = 6  # of lengths


@dataclass(frozen=True)
class Judged:
    """One held-out row: what was wanted, what the model wrote, how good that is."""

    source: str
    reference: str
    output: str
    quality: float  # chrF of this row
    length: int  # of the source, in tokens
    score: float  # log-probability of the output


@dataclass(frozen=True, eq=False)
class RunReport:
    """All that a page about a run says."""

    run: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, str], ...]  # of the model: number of parameters, name
    curves: Curves
    best: int
    scores: tuple[Score, ...]
    judged: tuple[Judged, ...]
    attention: tuple[AttentionMap, ...]
    options: tuple[tuple[str, str], ...]
    repeat: tuple[str, ...]  # commands

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": self.run,
            "facts": dict(self.facts),
            "parts": [{"parameters": count, "part": name} for count, name in self.parts],
            "scores": [asdict(score) for score in self.scores],
            "rows": [asdict(each) for each in self.judged],
            "lengths": [
                {"length": middle, "quality": mean, "rows": count}
                for middle, mean, count in self.by_length()
            ],
            "attention": [each.as_dict() for each in self.attention],
            "options": dict(self.options),
            "repeat": list(self.repeat),
        }

    def by_length(self) -> list[tuple[float, float, int]]:
        """Mean length, mean quality and number of rows, from the shortest sixth to the longest."""
        order = sorted(self.judged, key=lambda each: each.length)
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

    def ranked(self) -> list[Judged]:
        """The rows from the best to the worst; among equals, the one the model is surer of."""
        return sorted(self.judged, key=lambda each: (-each.quality, -each.score))

    def page(self) -> str:
        """The whole HTML file; it opens without a network."""
        shown = min(SHOWN, (len(self.judged) + 1) // 2)
        return page(
            f"{self.run}: a report",
            [
                part("Data and run", table((), self.facts)),
                part("Model", table(("parameters", "part"), self.parts, numbers=(0,))),
                part("Learning curves", _figure(self._curves())),
                part("Held-out results", self._results()),
                part("Best examples", self._examples(self.ranked()[:shown])),
                part("Worst examples", self._examples(self.ranked()[::-1][:shown])),
                part("Length against quality", _figure(self._lengths())),
                part("Attention of three examples", *self._looks()),
                part("How to repeat it", *self._repeat()),
            ],
        )

    def _curves(self) -> Drawing:
        return Drawing((), lambda figure, _: fill_curves(figure, self.curves, self.best))

    def _lengths(self) -> Drawing:
        return Drawing((), partial(_fill_lengths, self))

    def _results(self) -> str:
        rows = [
            (
                score.name,
                f"{score.value:.{score.digits}f}",
                f"{score.low:.{score.digits}f}–{score.high:.{score.digits}f}",
                score.signature,
            )
            for score in self.scores
        ]
        headings = ("metric", "value", "95 % interval", "how it is computed")
        words = f'<p class="faint">{len(self.judged):,} rows that were not learnt from.</p>'
        return words + table(headings, rows, numbers=(1, 2))

    def _examples(self, rows: Sequence[Judged]) -> str:
        cells = [(each.source, each.output, each.reference, f"{each.quality:.0f}") for each in rows]
        return table(("source", "output", "reference", "chrF"), cells, numbers=(3,))

    def _looks(self) -> list[str]:
        if not self.attention:
            return ["<p>This model has no attention to the source.</p>"]
        return [_figure(each.drawing()) for each in self.attention]

    def _repeat(self) -> list[str]:
        commands = html.escape("\n".join(self.repeat))
        options = table(("option", "value"), self.options)
        return [
            f"<pre><code>{commands}</code></pre>",
            f"<details><summary>All options</summary>{options}</details>",
        ]


def _figure(drawing: Drawing) -> str:
    return f"<figure>{drawing.svg()}</figure>"


def _fill_lengths(report: RunReport, figure: "Figure", _labels: Sequence[str]) -> None:
    """A point for each row, and the mean of each sixth."""
    figure.set_size_inches(6.4, 3.2)
    axes = figure.add_subplot()
    lengths = [each.length for each in report.judged]
    axes.scatter(
        lengths, [each.quality for each in report.judged], s=8, alpha=0.35, color="#1f5fa8", lw=0
    )
    middle = report.by_length()
    axes.plot(
        [each[0] for each in middle], [each[1] for each in middle], color="#c8641e", marker="o",
        label="mean of rows of like length",
    )  # fmt: skip
    axes.set_ylim(-3, 103)
    axes.set_xlabel("tokens of the source")
    axes.set_ylabel("chrF of the row")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
