"""Which engine runs a model: the same outputs from each, and a reason where it is not the core."""

from dataclasses import replace

import numpy as np
import pytest

from seqloom.engine import from_network, selection
from seqloom.engine.core_model import Engine, warn_once
from seqloom.engine.selection import select_engine
from seqloom.prediction import OutputOptions, TextPredictor
from seqloom.search import Beam, Exact, Greedy, PatientBeam, Sample, Search
from seqloom.torch_engine import DecoderEngine, EncoderEngine
from tests.prediction.untrained import SOURCES, untrained

CLOSE = 1e-4  # of scores, between float64 and the core's float32
PLAIN: list[Search] = [Greedy(), Beam(3), Beam(4, n_best=3), PatientBeam(3, n_best=2)]


@pytest.fixture(scope="module")
def plain() -> TextPredictor:
    return untrained("transformer", seed=3)


@pytest.fixture(scope="module")
def fitted(plain: TextPredictor) -> TextPredictor:
    return replace(plain, engine=select_engine(plain.network))


def assert_same(
    ours: TextPredictor, theirs: TextPredictor, search: Search, **asked: object
) -> None:
    n_best = getattr(search, "n_best", 1)
    options = OutputOptions(**asked)  # type: ignore[arg-type]
    found = ours.predict(SOURCES, search=search, n_best=n_best, options=options)
    expected = theirs.predict(SOURCES, search=search, n_best=n_best, options=options)
    for mine, other in zip(found, expected, strict=True):
        for one, two in zip(mine.n_best or [mine], other.n_best or [other], strict=True):
            assert (one.text, one.stopped, one.source) == (two.text, two.stopped, two.source)
            assert one.score == pytest.approx(two.score, abs=CLOSE)
            assert one.normalised == pytest.approx(two.normalised, abs=CLOSE)
            assert (one.attention is None) == (two.attention is None)
            if one.attention is not None and two.attention is not None:
                assert np.allclose(one.attention, two.attention, atol=CLOSE)


@pytest.mark.parametrize("search", PLAIN, ids=str)
@pytest.mark.parametrize("attention", [False, True])
def test_whole_searches_in_the_core_give_the_same(
    plain: TextPredictor, fitted: TextPredictor, search: Search, attention: bool
) -> None:
    assert fitted.engine is not None
    assert fitted.engine.compiled is not None
    assert fitted.describe_engine().startswith("compiled core")
    assert_same(fitted, plain, search, attention=attention)


@pytest.mark.parametrize(
    ("search", "asked"),
    [
        (Exact(), {}),
        (Sample(draws=2), {}),
        (Beam(3), {"prefix": "ab"}),
        (Beam(3), {"require": ("ba",)}),
        (Greedy(), {"forbid": ("a",), "no_repeat": 2}),
        (Beam(3), {"alternatives": 2, "tree": True}),
    ],
    ids=str,
)
def test_what_goes_step_by_step_gives_the_same(
    plain: TextPredictor, fitted: TextPredictor, search: Search, asked: dict[str, object]
) -> None:
    assert_same(fitted, plain, search, **asked)


def test_an_ensemble_drives_the_engines_of_its_members(
    plain: TextPredictor, fitted: TextPredictor
) -> None:
    other = untrained("transformer", seed=4)
    both = fitted.ensemble_with([replace(other, engine=select_engine(other.network))])
    assert both.describe_engine().count("compiled core") == 2
    assert_same(both, plain.ensemble_with([other]), Beam(3), attention=True)


def test_without_the_core_torch_runs_the_model_and_says_so_once(
    plain: TextPredictor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "the compiled engine was not built here"
    warn_once.cache_clear()
    for module in (selection, from_network):
        monkeypatch.setattr(module, "core_or_none", lambda: None)
        monkeypatch.setattr(module, "missing_reason", lambda: reason)
    engines: list[Engine] = [select_engine(plain.network) for _ in range(2)]
    assert capsys.readouterr().err == f"seqloom: {reason}\n"
    assert isinstance(engines[0].encoder, EncoderEngine)
    assert isinstance(engines[0].decoder, DecoderEngine)
    assert str(engines[0]).endswith(f"({reason})")
    assert_same(replace(plain, engine=engines[0]), plain, Beam(3))


def test_each_side_has_the_best_engine_there_is(
    plain: TextPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decoder in the core reads what any encoder hands over."""
    monkeypatch.setattr(selection, "compile_encoder", lambda *_, **__: "no form for it")
    mixed = replace(plain, engine=select_engine(plain.network))
    assert "encoder on torch" in mixed.describe_engine()
    assert "(no form for it)" in mixed.describe_engine()
    assert_same(mixed, plain, Beam(3), attention=True)
