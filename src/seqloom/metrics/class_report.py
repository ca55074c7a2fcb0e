"""Precision, recall, F1 and support of each label, or of each type of span."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from seqloom.display import Displayed
from seqloom.metrics.predictions import Predictions
from seqloom.metrics.spans import find_spans

__all__ = ["ClassReport", "ClassScore", "label_report", "span_report"]

SHOWN = 5  # unseen labels named in the report


@dataclass(frozen=True)
class ClassScore:
    """Scores of one class; rates are in per cent, and 0 where their denominator is 0."""

    name: str
    right: int
    predicted: int
    support: int  # in the references

    @property
    def precision(self) -> float:
        """The share of predictions that are correct."""
        return 100 * self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of references that are predicted."""
        return 100 * self.right / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.predicted + self.support
        return 200 * self.right / both if both else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "support": self.support,
        }


@dataclass(frozen=True)
class ClassReport(Displayed):
    """A classification report: scores of every class, the most frequent first, and their averages.

    `unseen` counts the references' classes that are absent from the training data: no model can
    predict them, and each occurrence is an error.
    """

    what: str  # "label", "tag" or "span"
    classes: tuple[ClassScore, ...]
    unseen: tuple[tuple[str, int], ...] = ()

    @property
    def micro(self) -> ClassScore:
        """Scores of all classes pooled: the micro average."""
        return ClassScore(
            "all (micro)",
            sum(each.right for each in self.classes),
            sum(each.predicted for each in self.classes),
            sum(each.support for each in self.classes),
        )

    @property
    def averages(self) -> dict[str, dict[str, float]]:
        """Averages of precision, recall and F1 over the classes of the references: macro, with
        equal weights, and weighted, by support.
        """
        there = [each for each in self.classes if each.support]
        weights = {
            "macro": [1.0] * len(there),
            "weighted": [float(each.support) for each in there],
        }
        return {
            name: {
                rate: sum(w * getattr(each, rate) for w, each in zip(shares, there, strict=True))
                / max(sum(shares), 1.0)
                for rate in ("precision", "recall", "f1")
            }
            for name, shares in weights.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "what": self.what,
            "classes": [each.as_dict() for each in self.classes],
            "micro": self.micro.as_dict(),
            **self.averages,
            "unseen": dict(self.unseen),
        }

    def lines(self, most: int = 60) -> list[str]:
        """Render a line for each of the first `most` classes, then the averages and the unseen
        classes.
        """
        shown = self.classes[:most]
        width = max(len("all (micro)"), *(len(each.name) for each in shown), len(self.what))
        lines = [f"{self.what:<{width}}  precision  recall      F1  support"]
        for each in (*shown, self.micro):
            lines.append(_line(each.name, width, (each.precision, each.recall, each.f1)))
            lines[-1] += f"  {each.support:>7,}"
        rest = len(self.classes) - len(shown)
        if rest:
            lines.insert(-1, f"... and {rest:,} more")
        for name, rates in self.averages.items():
            lines.append(_line(name, width, tuple(rates.values())))
        return [*lines, *([self.unseen_line()] if self.unseen else [])]

    def unseen_line(self) -> str:
        """A sentence that names the unseen classes; empty if there are none."""
        if not self.unseen:
            return ""
        named = ", ".join(f"{name} ({count:,})" for name, count in self.unseen[:SHOWN])
        more = ", ..." * (len(self.unseen) > SHOWN)
        total = sum(count for _, count in self.unseen)
        one = len(self.unseen) == 1
        return (
            f"{len(self.unseen):,} {self.what}{'' if one else 's'} of the references "
            f"{'is' if one else 'are'} not in the training data, so {total:,} "
            f"{'case counts' if total == 1 else 'cases count'} as wrong: {named}{more}"
        )


def _line(name: str, width: int, rates: Sequence[float]) -> str:
    precision, recall, f1 = rates
    return f"{name:<{width}}  {precision:>9.1f}  {recall:>6.1f}  {f1:>6.1f}"


def label_report(data: Predictions, *, known: Iterable[str] | None = None) -> ClassReport:
    """Compute the report of labels or tags; `known` are the training classes, if available."""
    what = "tag" if data.kind == "tags" else "label"
    pairs = [pair for row in data.labels for pair in zip(*row, strict=True)]
    report = _report(
        what,
        Counter(o for o, r in pairs if o == r),
        Counter(o for o, _ in pairs),
        Counter(r for _, r in pairs),
    )
    if known is None:
        return report
    learnt = set(known)
    unseen = tuple(
        (each.name, each.support)
        for each in report.classes
        if each.support and each.name not in learnt
    )
    return ClassReport(what, report.classes, unseen)


def span_report(data: Predictions, *, strict: bool = False) -> ClassReport:
    """Compute the report of each type of span; `strict` counts only spans that follow the
    references' tagging scheme.
    """
    right: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    for output, reference in data.tags:
        found = set(find_spans(output, data.scheme, strict=strict))
        there = set(find_spans(reference, data.scheme, strict=strict))
        right.update(span.kind for span in found & there)
        predicted.update(span.kind for span in found)
        expected.update(span.kind for span in there)
    return _report("span", right, predicted, expected)


def _report(
    what: str, right: Counter[str], predicted: Counter[str], expected: Counter[str]
) -> ClassReport:
    names = sorted(predicted.keys() | expected.keys(), key=lambda name: (-expected[name], name))
    return ClassReport(
        what, tuple(ClassScore(n, right[n], predicted[n], expected[n]) for n in names)
    )
