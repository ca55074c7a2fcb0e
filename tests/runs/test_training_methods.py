"""Methods of S6 in whole runs: each goes on after a stop as if there had been none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import merge
from seqloom.config.serialization import validate
from seqloom.errors import ConfigError
from seqloom.runs.loss_checks import check_agreement
from seqloom.runs.progress import Progress, Validation
from seqloom.store import RunDirectory
from tests.runs.support import (
    PAIRS,
    Options,
    Watching,
    assert_same,
    last,
    options,
    sitting,
    trained,
)

UPDATES = 7
METHODS: dict[str, Options] = {
    "momentum": {
        "optimizer": {"kind": "sgd", "momentum": 0.9},
        "decay": "linear",
        "loss": "mean",
        "l2": 0.1,
        "clip_value": 0.01,
    },
    "adam": {"optimizer": "adam", "decay": "plateau", "plateau_patience": 1, "rate": 1e-9},
    "muon": {"optimizer": "muon", "average": "moving", "average_decay": 0.8, "freeze": "encoder"},
    "adamw": {"decay": "inverse-sqrt", "loss": "sum", "l1": 0.1, "average": "moving"},
    "agreement": {"agreement": 5.0, "optimizer": "adamw"},
}
WEIGHED = [(*pair, 0.25 + number % 3) for number, pair in enumerate(PAIRS)]


def chosen(**training: Any) -> Options:
    return options(updates=UPDATES, validate_every=2, patience=0, **training)


@pytest.mark.faults
@pytest.mark.parametrize("method", METHODS)
def test_stopped_twice_is_not_stopped(method: str, tmp_path: Path) -> None:
    """A3: after a step that was validated and after one that was not, to the same bits."""
    trained(tmp_path / "whole", chosen(**METHODS[method]))
    for until in (3, 4, UPDATES):
        sitting(tmp_path / "parts", chosen(**METHODS[method]), until=until)
    assert_same(tmp_path / "parts", tmp_path / "whole")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("training.truncate", {"training": {"truncate": 2}}),
        ("training.forcing", {"training": {"forcing": "linear"}}),
        ("target.kind", {"target": "label"}),
    ],
)
def test_rows_that_cannot_be_read_twice(name: str, other: Options) -> None:
    both = merge({"training": {"agreement": 5.0}}, other)
    with pytest.raises(ConfigError, match=f"{name} does not go with rows that are read twice"):
        check_agreement(validate(both, place="test"))


@pytest.mark.faults
def test_weights_of_rows_are_remembered(tmp_path: Path) -> None:
    """A3 with weights, at one position of each row, in small batches, by plain descent; weights
    change what is learnt, unless they are all alike."""
    plain = {"optimizer": "sgd", "one_position": True, "batch_rows": 3}
    weighed = {**chosen(**plain), "data": {**chosen()["data"], "weight": "3"}}
    for name, stops in (("whole", [UPDATES]), ("parts", [3, UPDATES])):
        for until in stops:
            sitting(tmp_path / name, weighed, until=until, data=WEIGHED)
    assert_same(tmp_path / "parts", tmp_path / "whole")
    trained(tmp_path / "plain", chosen(**plain))
    assert not torch.equal(*(first_weights(tmp_path / name) for name in ("whole", "plain")))
    train([(*pair, 7.0) for pair in PAIRS], tmp_path / "even", options=weighed)
    assert torch.equal(*(first_weights(tmp_path / name) for name in ("even", "plain")))


def first_weights(run: Path) -> torch.Tensor:
    return next(iter(last(run).load("model").values()))


def rates_of(run: Path, **training: Any) -> list[float]:
    seen: list[float] = []
    remember: Callable[[Any], None] = lambda update: seen.append(update.rate)  # noqa: E731
    train(PAIRS, run, options=options(patience=0, **training), watch=Watching(remember))
    return seen


def test_a_plateau_lowers_the_rate(tmp_path: Path) -> None:
    """S6.6: after every second validation that is no better than the best, to a quarter."""
    still = {"rate": 1e-9, "warmup": 0, "average": "none", "validate_every": 2, "updates": 14}
    plateau = {"decay": "plateau", "plateau_patience": 2, "plateau_factor": 0.25}
    rates = rates_of(tmp_path / "run", **still, **plateau)
    # The first validation is the best; the third and the fifth are the second in a row without.
    assert rates == pytest.approx([1e-9] * 6 + [2.5e-10] * 4 + [6.25e-11] * 4)


def test_falls_are_counted_from_the_last_progress_or_fall() -> None:
    def falls(values: list[float], patience: int) -> int:
        results = tuple(Validation(n, 0.0, value) for n, value in enumerate(values))
        return Progress(validations=results).plateau_count("metric", patience)

    assert falls([], 1) == falls([5], 1) == falls([1, 2, 3, 4], 1) == 0
    assert falls([5, 5, 5, 5], 1) == 3
    assert falls([5, 4, 6, 5, 5, 5, 5], 2) == 2
    assert falls([5, 4, 6, 5, 7, 6], 2) == 0


def test_a_moving_average_is_what_is_validated_and_used(tmp_path: Path) -> None:
    """It lies in every step, and the model that is loaded has its weights."""
    run = tmp_path / "run"
    trained(run, options(updates=6, validate_every=3, average="moving", average_decay=0.5))
    assert all("average" in step.names() for step in RunDirectory(run).checkpoints())
    best = max(
        last(run).progress()["validations"], key=lambda each: (each["metric"], -each["loss"])
    )
    saved = next(step for step in RunDirectory(run).checkpoints() if step.number == best["step"])
    used = dict(load(run).network.named_parameters())
    assert all(torch.equal(used[name], value) for name, value in saved.load("average").items())
    assert any(not torch.equal(used[name], value) for name, value in saved.load("model").items())


def test_one_rule_after_another(tmp_path: Path) -> None:
    """Another update rule may take over; it begins without memory."""
    run = tmp_path / "run"
    sitting(run, chosen(), until=4)
    trained(run, chosen(optimizer="sgd"))
    assert last(run).load("optimizer") == {}


TOY = [
    ("I", "love my cat"),
    ("Cats", "and dogs lap water"),
    ("It", "is raining cats and dogs"),
]


def test_incremental_gradient_descent_learns_to_the_letter(tmp_path: Path) -> None:
    """S3.3, S6.6: one row at a time, w ← w − rate · ∂C/∂w, no momentum, no clipping."""
    net = {"kind": "recurrent", "unit": "elman", "layers": 1, "width": 20, "dropout": 0.0}
    words = {"unit": "word"}
    result = train(
        TOY,
        tmp_path / "run",
        valid=TOY,
        options={
            "source": words,
            "target": words,
            "model": {
                "embedding": 20,
                "share_vocabulary": False,
                "encoder": {**net, "direction": "forward"},
                "decoder": {**net, "attention": "none"},
            },
            "training": {
                "optimizer": "sgd",
                "batch_rows": 1,
                "loss": "sum",
                "rate": 0.1,
                "warmup": 0,
                "decay": "constant",
                "clip_norm": 0,
                "label_smoothing": 0,
                "updates": 150,
                "validate_every": 150,
                "average": "none",
                "curves": False,
            },
        },
    )
    assert result.best.scores["exact match"] == 100
    assert [load(tmp_path / "run")(source).text for source, _ in TOY] == [t for _, t in TOY]
