"""S9: sentences of like meaning fall together; places against numpy, labelled maps."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.drawing.views import text_of, write
from seqloom.errors import ConfigError, DataError
from seqloom.explanations.states import StateMap, project_states, state_map
from tests.explain.pictures import texts
from tests.explain.voices import active, passive, statements, trained
from tests.prediction.untrained import untrained

TEXTS = [("abc", "x"), ("cab", "y"), ("a b", "x"), ("bb", None), ("c", "y"), (" ", "x")]


def test_active_and_passive_fall_together() -> None:
    """Of statements that were never seen, the other voice is among the nearest few of 47.

    By chance it is the 24th on average; before training, about that.
    """
    everything = statements()
    held_out = everything[::5]
    seen = [each for each in everything if each not in held_out]
    rows = [(form(each), None) for each in held_out for form in (active, passive)]

    def rank(updates: int) -> float:
        nearest = state_map(trained(seen, updates=updates), rows).nearest_neighbors(len(rows) - 1)
        places = [[other for other, _ in near] for near in nearest]
        return float(np.mean([near.index(number ^ 1) + 1 for number, near in enumerate(places)]))

    assert len(rows) == 48
    assert rank(0) > 16
    assert rank(250) < 8


def test_principal_axes_are_those_of_the_covariance() -> None:
    """Variances along both axes are its largest eigenvalues, and their shares of its trace."""
    states = np.random.default_rng(1).normal(size=(40, 6)) * [5, 3, 1, 1, 0.5, 0.1]
    places, shares = project_states(states)
    values = np.sort(np.linalg.eigvalsh(np.cov(states.T)))[::-1]
    np.testing.assert_allclose(places.var(axis=0, ddof=1), values[:2])
    np.testing.assert_allclose(shares, values[:2] / values.sum())
    np.testing.assert_allclose(places.mean(axis=0), 0, atol=1e-12)


def test_one_dimension_is_still_a_map() -> None:
    places, shares = project_states(np.array([[0.0], [2.0], [4.0]]))
    np.testing.assert_allclose(places, [[-2, 0], [0, 0], [2, 0]])
    assert shares == (1.0,)


def test_neighbours_by_hand() -> None:
    """Distances in the states' own space, not on the map."""
    states = np.array([[0.0, 0, 0], [3, 4, 0], [0, 0, 1]])
    found = StateMap(("a", "b", "c"), (None,) * 3, states, np.zeros((3, 2)), "pca")
    assert found.nearest_neighbors(1)[0] == [(2, 1.0)]
    assert found.nearest_neighbors(9)[1] == [(0, 5.0), (2, pytest.approx(np.sqrt(26)))]


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_a_map_of_texts(kind: str, method: str, tmp_path: Path) -> None:
    """Blank texts are left out; the same map each time; texts and labels are on the picture."""
    model = untrained(kind)
    found = state_map(model, TEXTS, method=method)
    assert found.texts == ("abc", "cab", "a b", "bb", "c")
    assert found.coordinates.shape == (5, 2)
    np.testing.assert_array_equal(
        state_map(model, TEXTS, method=method).coordinates, found.coordinates
    )
    assert not np.allclose(state_map(model, TEXTS, of="mean").states, found.states)
    write(found, tmp_path / "map.svg", title="")
    assert set(texts(tmp_path / "map.svg")) >= {"x", "y", "abc"}
    assert text_of(found).splitlines()[0] == "abc"
    assert len(found.as_dict()["points"]) == 5


def test_what_cannot_be_mapped_is_said() -> None:
    model = untrained()
    with pytest.raises(DataError, match="at least two inputs"):
        state_map(model, TEXTS[:1])
    with pytest.raises(DataError, match="at least four"):
        state_map(model, TEXTS[:3], method="tsne")
    with pytest.raises(ConfigError, match="choose pca or tsne"):
        state_map(model, TEXTS, method="umap")
    with pytest.raises(ConfigError, match="choose last or mean"):
        state_map(model, TEXTS, of="first")
