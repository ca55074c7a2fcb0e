"""Pairs of kinds of columns, each with rows that a tiny model learns."""

from typing import Any, NamedTuple

from tests.runs.support import options

__all__ = ["TASKS", "TEXTS", "WORDS", "Task", "chosen", "tagged"]

WORDS = ("red", "green", "blue", "old", "new")


TEXTS = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]


class Task(NamedTuple):
    """Two kinds of columns, and rows that a tiny model learns."""

    source: str
    target: str
    rows: list[tuple[Any, ...]]
    main: str  # the metric that comes first
    good: float


def tagged(text: str) -> str:
    return " ".join("A" if word in ("old", "new") else "C" for word in text.split())


TASKS = {
    "label": Task(
        "text", "label", [(t, "yes" if "old" in t else "no") for t in TEXTS], "accuracy", 99
    ),
    "tags": Task("text", "tags", [(t, tagged(t)) for t in TEXTS], "accuracy", 99),
    "number": Task(
        "text", "number", [(t, t.count("green") - 3.5 * t.count("old")) for t in TEXTS], "R²", 0.9
    ),
    "from label": Task("label", "text", [(w, w[::-1]) for w in WORDS] * 25, "chrF", 99),
    "from vector": Task(
        "vector", "text", [([n % 3, n % 2], "abc"[n % 3] + "xy"[n % 2]) for n in range(60)],
        "chrF", 99,
    ),
    "vector to label": Task(
        "vector", "label", [(f"{n % 5},{n % 7}", "ab"[n % 5 > 2]) for n in range(105)],
        "accuracy", 99,
    ),
}  # fmt: skip


def chosen(task: Task, **training: Any) -> dict[str, Any]:
    """The smallest model for a task; what it is made of follows from the columns."""
    base = options(dropout=0.0, **training)
    encoder = base["model"]["encoder"] if task.source == "text" else {}
    decoder = base["model"]["decoder"] if task.target == "text" else {}
    head = {"dropout": 0.0} if task.target in ("label", "number") else {}
    return {
        **base,
        "search": {"max_extra": 9},
        "source": {"kind": task.source, **({"unit": "word"} if task.source == "text" else {})},
        "target": {"kind": task.target},
        "model": {"embedding": 8, "encoder": encoder, "decoder": {**decoder, **head}},
    }
