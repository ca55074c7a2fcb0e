"""Sweeps: successive halving over runs that rest and go on (S6.6)."""

import sys
from pathlib import Path

import pytest

from seqloom.api.sweep import SweepResult, assignments, next_setting, sweep
from seqloom.api.sweep_space import Range, SweepSpace, load_sweep_space
from seqloom.api.train import train
from seqloom.errors import ConfigError
from tests.runs.support import PAIRS, Crash, assert_same, options

SPACE = """
trials = 4
first = 4
factor = 2
[space]
training.rate = { low = 1e-3, high = 1e-1, log = true }
training.optimizer.kind = ["adamw", "sgd"]
"""


def written(path: Path, text: str = SPACE) -> Path:
    path.write_text(text)
    return path


def swept(folder: Path, *, crash: str = "") -> SweepResult:
    """A sweep of tiny models; it crashes when it is about to tell of something."""

    def tell(sentence: str) -> None:
        if crash and crash in sentence:
            raise Crash

    space = written(folder.with_suffix(".toml"))
    return sweep(PAIRS, folder, space, options=options(patience=0), tell=tell)


def test_rungs_are_a_geometric_series() -> None:
    """Each has one in `factor` of the trials, and `factor` times the updates."""
    one = {"seed": (1, 2)}
    assert SweepSpace(one, trials=9, first=5, factor=3).rungs == [(9, 5), (3, 15), (1, 45)]
    assert SweepSpace(one, trials=10, first=1, factor=2).rungs == [(10, 1), (5, 2), (2, 4), (1, 8)]
    assert SweepSpace(one, trials=2, first=7, factor=3).rungs == [(2, 7)]


def test_a_sweep_that_is_begun_again_ends_alike(tmp_path: Path) -> None:
    """It tries the same settings, and the best trial is, bit for bit, a run without any rest."""
    whole = swept(tmp_path / "whole")
    for crash in ("trial-003", "rung 2", "rung 3"):
        with pytest.raises(Crash):
            swept(tmp_path / "run", crash=crash)
    again = swept(tmp_path / "run")
    found = [
        [(each.assignments, each.value, each.rungs) for each in s.trials] for s in (whole, again)
    ]
    assert found[0] == found[1]
    assert [each.rungs for each in whole.trials] == [3, 2, 1, 1]
    values = [each.value for each in whole.trials if each.value is not None]
    assert values[0] == max(values)
    assert_same(whole.best.run, again.best.run)
    chosen = options(updates=16, validate_every=4, patience=0)
    chosen["training"] |= {"rate": whole.best.setting["training.rate"]}
    chosen["training"] |= {"optimizer": {"kind": whole.best.setting["training.optimizer.kind"]}}
    train(PAIRS, tmp_path / "plain", options=chosen)
    assert_same(whole.best.run, tmp_path / "plain")
    assert whole.picture.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ConfigError, match="not the space that"):
        sweep(PAIRS, tmp_path / "run", written(tmp_path / "x.toml", SPACE.replace("1e-3", "1e-4")))


def test_a_setting_that_cannot_be_is_left_out(tmp_path: Path) -> None:
    """Sizes that do not fit are told and come last; a sweep of nothing else is an error."""
    told: list[str] = []
    space = written(tmp_path / "s.toml", "trials=3\nfirst=2\n[space]\nmodel.encoder.heads=[2, 3]\n")
    found = sweep(PAIRS, tmp_path / "run", space, options=options(), tell=told.append)
    failed = [each for each in found.trials if each.failure]
    assert failed == [each for each in found.trials if each.setting["model.encoder.heads"] == 3]
    assert found.trials[-1].failure
    assert not found.best.failure
    written(space, "trials=1\nfirst=2\n[space]\nmodel.encoder.heads=[3]\n")
    with pytest.raises(ConfigError, match="no trial could be trained: "):
        sweep(PAIRS, tmp_path / "none", space, options=options())


def test_settings_lie_in_their_space() -> None:
    """Whole numbers where both ends are, values of a list as they are; the same again."""
    space = SweepSpace(
        {
            "training.rate": Range(1e-4, 1e-1, log=True),
            "training.warmup": Range(1, 5),
            "training.freeze": (["encoder"], ["decoder", "embeddings"]),
        }
    )
    tried: list[tuple[dict[str, object], float | None]] = []
    for number in range(8):
        setting = next_setting(space, tried, seed=1)
        assert setting == next_setting(space, tried, seed=1)
        assert 1e-4 <= setting["training.rate"] <= 1e-1
        assert setting["training.warmup"] in range(1, 6)
        assert setting["training.freeze"] in (["encoder"], ["decoder", "embeddings"])
        tried.append((setting, None if number == 3 else float(number)))
    assert len({each["training.rate"] for each, _ in tried}) == 8
    words = {"a": "adamw", "b": "inverse-sqrt", "c": True, "d": 1e-5, "e": ["x", 1], "f": "true"}
    assert assignments(words) == [
        "a=adamw",
        'b="inverse-sqrt"',
        "c=true",
        "d=1e-05",
        'e=["x", 1]',
        'f="true"',
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "declares nothing to try"),
        ("[space]", "declares nothing to try"),
        ("[space]\ntraining.rat = [1]", "did you mean training.rate"),
        ("[space]\ntraining.rate = 3", "write a list of values, or a range"),
        ("[space]\ntraining.rate = []", "write a list of values, or a range"),
        ("[space]\ntraining.rate = { low = 1 }", "write a list of values, or a range"),
        ("[space]\ntraining.rate = { low = 2, high = 1 }", "low must be a number below high"),
        ("[space]\ntraining.rate = { low = 'a', high = 1 }", "low must be a number below high"),
        ("[space]\ntraining.rate = { low = 1, high = inf }", "low must be a number below high"),
        ("[space]\ntraining.rate = { low = 0, high = 1, log = true }", "needs ends above 0"),
        ("trials = 0\n[space]\nseed = [1]", "trials = 0: must be a whole number from 1 to 1,000"),
        ("factor = 1\n[space]\nseed = [1]", "factor = 1: must be a whole number from 2"),
        ("first = 'x'\n[space]\nseed = [1]", "first = 'x': must be a whole number"),
        ("training.rate = [1]", "'training' is none of trials, first, factor and [space]"),
        ("[space]\ntraining.updates = [1]", "training.updates follow from first and factor"),
        ("[space", "not valid TOML"),
    ],
)
def test_what_a_space_may_not_say(text: str, sentence: str, tmp_path: Path) -> None:
    """B4: one sentence with the file and what to write."""
    with pytest.raises(ConfigError) as caught:
        load_sweep_space(written(tmp_path / "space.toml", text))
    assert str(caught.value).startswith(str(tmp_path / "space.toml"))
    assert sentence in str(caught.value)


def test_without_the_extra_it_says_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, before anything is read."""
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'seqloom\[sweep\]'"):
        sweep(PAIRS, tmp_path / "run", tmp_path / "none.toml")
