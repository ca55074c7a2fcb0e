"""The estimate of time is made of what training does: batches, validations and limits (S6.6)."""

import itertools
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from seqloom.config import Config, validate
from seqloom.data import Batches, Lengths
from seqloom.fields import Field, learn_field
from seqloom.model import build
from seqloom.runs.timing.estimate import (
    SampledRows,
    TrainingCost,
    describe_cost,
    sampled_batches,
    training_cost,
)

SMALL: dict[str, Any] = {
    "target": "label",
    "source": {"unit": "word"},
    "model": {
        "embedding": 4,
        "encoder": {"kind": "recurrent", "width": 4, "layers": 1},
        "decoder": {"kind": "label"},
        "tie_output": False,
        "share_vocabulary": False,
    },
    "training": {
        "updates": 40,
        "batch_tokens": 64,
        "validate_every": 10,
        "workers": 1,
        "average": "none",
    },
}


def configured(**training: Any) -> Config:
    """A small model with some options of training."""
    return validate({**SMALL, "training": {**SMALL["training"], **training}}, place="test")


def fields(config: Config) -> tuple[Field, Field]:
    """A column of three words and one of two labels."""
    return (
        learn_field(config.source, ["a b c"], seed=1),
        learn_field(config.target, ["x", "y"], seed=1),
    )


def ticking(seconds: float) -> Callable[[], float]:
    """A clock that is read once in so many seconds."""
    ticks = itertools.count()
    return lambda: next(ticks) * seconds


def test_minutes_are_those_of_updates_and_of_validations_between_and_after_them() -> None:
    """45 updates of 2 seconds, validated after 10, 20, 30, 40 and 45, 6 seconds each."""
    training = configured(updates=45).training
    assert TrainingCost(2.0, 6.0, training).minutes() == pytest.approx((90 + 30) / 60)
    budget = training.model_copy(update={"minutes": 1.5})
    assert TrainingCost(2.0, 6.0, budget).minutes() == 1.5


def test_patience_gives_the_soonest_end() -> None:
    """The first validation is the best, and two more come before training ends."""
    cost = TrainingCost(2.0, 6.0, configured(patience=2).training)
    assert cost.soonest == pytest.approx((30 * 2 + 3 * 6) / 60)
    assert cost.minutes() == pytest.approx((40 * 2 + 4 * 6) / 60)
    patient = TrainingCost(2.0, 6.0, configured(patience=0).training)
    assert patient.soonest == patient.minutes()


def test_batches_that_are_timed_are_those_of_training() -> None:
    """Of a pass over 300 rows of 3 to 12 tokens in batches of 64 positions, some from the smallest
    to the largest; of a pass of two batches both."""
    draw = np.random.default_rng(1)
    lengths = Lengths(draw.integers(3, 13, 300).astype(np.int32), np.ones(300, np.int32))
    batches = Batches(lengths, tokens=64, seed=configured().seed)
    every = [tuple(batches.indices(step).tolist()) for step in range(batches.per_epoch(0))]
    found = [tuple(each.tolist()) for each in sampled_batches(configured(), lengths)]
    assert set(found) <= set(every)
    assert len(set(found)) == len(found) == 6

    def positions(rows: tuple[int, ...]) -> int:
        return len(rows) * int(lengths.source[list(rows)].max())

    mean = np.mean([positions(rows) for rows in every])
    assert np.mean([positions(rows) for rows in found]) == pytest.approx(mean, rel=0.1)
    two = SampledRows.alike(8, 1, rows=10, held_out=1).lengths
    assert sorted(map(len, sampled_batches(configured(), two))) == [2, 8]


def test_an_update_takes_what_the_clock_says_and_a_validation_grows_with_its_rows() -> None:
    """Between two readings of this clock lies one second; twice the rows, twice the batches."""
    config = configured()
    rows = SampledRows.alike(8, 1, rows=64, held_out=64)
    cost = training_cost(config, fields(config), rows, clock=ticking(1.0))
    assert cost.update == 1.0
    # Eight batches of eight rows, each read for the loss, the outputs and the temperature.
    assert cost.validation == 8 * 3
    more = SampledRows.alike(8, 1, rows=64, held_out=6_400)
    validation = training_cost(config, fields(config), more, clock=ticking(1.0)).validation
    assert validation == pytest.approx(800 * (2 + 2_000 / 6_400))


@pytest.mark.parametrize("count", [1, 9, 17, 300])
def test_a_pass_of_any_number_of_batches_is_timed(count: int) -> None:
    """Eight rows of eight tokens fill a batch: of one, two, three and many."""
    config = configured()
    rows = SampledRows.alike(8, 1, rows=count, held_out=1)
    assert training_cost(config, fields(config), rows, clock=ticking(1.0)).update == 1.0


@pytest.mark.parametrize(("workers", "rows", "threads"), [(1, 8, 2), (3, 3, 1)])
def test_an_update_is_that_of_one_worker(workers: int, rows: int, threads: int) -> None:
    """Its share of a batch of eight rows, and one thread if there are several workers; a validation
    is of whole batches, with all threads."""
    seen: list[tuple[bool, int, int]] = []

    def note(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if isinstance(module, nn.Linear) and inputs[0].ndim == 2:
            seen.append((module.training, len(inputs[0]), torch.get_num_threads()))

    config = configured(workers=workers)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with register_module_forward_pre_hook(note):
            alike = SampledRows.alike(8, 1, rows=8, held_out=1)
            training_cost(config, fields(config), alike, clock=ticking(1.0))
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {(True, rows, threads), (False, 8, 2)}


def test_the_trial_bounds_the_cache_of_products_as_training_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its memory would otherwise be more than that of training."""
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "")  # so that it is unset again
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    config = configured()
    rows = SampledRows.alike(8, 1, rows=8, held_out=1)
    training_cost(config, fields(config), rows, clock=ticking(1.0))
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "64"


def test_a_budget_of_fewer_updates_than_warm_ones_is_timed_too() -> None:
    config = configured(updates=1)
    rows = SampledRows.alike(4, 1, rows=10, held_out=0)
    assert training_cost(config, fields(config), rows, clock=ticking(1.0)).update == 1.0


def test_the_sentence_says_when_training_may_end() -> None:
    """6,000 seconds, or 1,200 where the second validation is no better than the first."""
    training = configured(patience=1, updates=6_000, validate_every=600).training
    said = describe_cost(TrainingCost(1.0, 0.0, training))
    assert said.startswith(
        "training would take about 1.7 hours here, or about 20 minutes where training.patience "
        "ends it, "
    )
    plain = training.model_copy(update={"patience": 0})
    said = describe_cost(TrainingCost(1.0, 0.0, plain))
    assert said.startswith("training would take about 1.7 hours here and ")


def test_workers_need_time_and_memory_to_exchange_gradients() -> None:
    """Each of two holds all gradients once more: with 100 GiB of them, 200 GiB more in all."""
    rows = SampledRows.alike(8, 1, rows=64, held_out=1)
    costs = []
    for workers in (1, 2):
        config = configured(workers=workers)
        costs.append(training_cost(config, fields(config), rows, clock=ticking(1.0)))
    config = configured()
    network = build(config.model, source=fields(config)[0].items, target=fields(config)[1].items)
    weights = sum(each.numel() for each in network.parameters())
    assert [cost.exchanged for cost in costs] == [0, 4 * weights]
    assert [cost.update for cost in costs] == [1.0, 1.0 + 2.0]  # joined, and sent
    said = [describe_cost(replace(costs[1], exchanged=size)) for size in (0, 100 * 2**30)]
    few, many = (float(words.split(" and ")[-1].split(" GiB")[0]) for words in said)
    assert many - few == pytest.approx(200, abs=0.5)
