"""Learning curves (S9): which points they have, and that they are drawn."""

from pathlib import Path
from typing import Any

from seqloom.drawing.curves import Curves, draw_curves

EVENTS: list[dict[str, Any]] = [
    {"event": "begun", "step": 0, "from": "runs/old, step 9"},
    {"event": "update", "step": 20, "loss": 3.5, "rate": 0.1, "gradient_norm": 2.0},
    {"event": "validation", "step": 20, "loss": 3.0, "metric": 10.0, "scores": {"chrF": 10.0}},
    {"event": "update", "step": 40, "loss": None, "rate": 0.0, "gradient_norm": None},
    {"event": "validation", "step": 40, "loss": 2.0, "metric": 30.0, "scores": {"chrF": 30.0}},
    {"event": "verdict", "step": 40, "name": "diverged", "sentence": "..."},
]


def test_every_finite_value_of_a_run_is_a_point() -> None:
    """In order; what is no update and no validation has none."""
    curves = Curves.of(EVENTS)
    assert curves.training == [(20, 3.5)]
    assert curves.held_out == [(20, 3.0), (40, 2.0)]
    assert curves.metric == [(20, 10.0), (40, 30.0)]
    assert curves.rate == [(20, 0.1), (40, 0.0)]
    assert curves.gradient == [(20, 2.0)]


def test_the_same_history_is_the_same_picture(tmp_path: Path) -> None:
    """Byte for byte; another best step is another picture, and no history at all has one too."""
    drawn = []
    for name, events, best in (("a.png", EVENTS, 40), ("b.png", EVENTS, 40), ("c.svg", [], None)):
        draw_curves(Curves.of(events), tmp_path / name, best=best)
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith(b"\x89PNG")
    assert drawn[2].startswith(b"<?xml")
