"""Every search as a request and as an object, and how outputs over HTTP are compared."""

from typing import Any

import pytest

from seqloom.prediction import Output
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Exact,
    Greedy,
    MinimumRisk,
    PatientBeam,
    Ranking,
    Sample,
    Search,
    StochasticBeam,
)

__all__ = ["PER_TOKEN", "SEARCHES", "assert_same", "each_search"]

PER_TOKEN = Ranking(power=1.0)


SEARCHES: list[tuple[dict[str, Any], Search]] = [
    ({"kind": "greedy"}, Greedy()),
    ({"kind": "beam", "width": 3}, Beam(3, PER_TOKEN)),
    ({"kind": "beam", "width": 3, "patience": 2.0}, PatientBeam(3, PER_TOKEN, 2.0)),
    ({"kind": "diverse", "width": 4, "groups": 2}, DiverseBeam(4, 2, ranking=PER_TOKEN)),
    ({"kind": "stochastic", "width": 3, "seed": 7}, StochasticBeam(3, seed=7)),
    ({"kind": "sample", "top_p": 0.9, "draws": 2, "seed": 3}, Sample(top_p=0.9, draws=2, seed=3)),
    ({"kind": "risk", "draws": 4}, MinimumRisk(Sample(draws=4))),
    ({"kind": "exact", "expansions": 50}, Exact(PER_TOKEN, expansions=50)),
    ({"kind": "completions", "count": 3, "width": 2}, Completions(3, 2, PER_TOKEN)),
]


each_search = pytest.mark.parametrize(
    ("asked", "search"), SEARCHES, ids=[asked["kind"] for asked, _ in SEARCHES]
)


def assert_same(answers: list[dict[str, Any]], outputs: list[Output]) -> None:
    """The same outputs, scores to the last digits of float64."""
    found = [Output.from_dict(answer) for answer in answers]
    assert [each.text for each in found] == [each.text for each in outputs]
    for mine, theirs in zip(found, outputs, strict=True):
        assert mine.score == pytest.approx(theirs.score, abs=1e-9)
        assert [t.text for t in mine.tokens] == [t.text for t in theirs.tokens]
        assert [other.text for other in mine.n_best] == [other.text for other in theirs.n_best]
        assert (mine.stopped, mine.source) == (theirs.stopped, theirs.source)
