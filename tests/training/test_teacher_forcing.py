"""S6.3: how often a step reads the label, and that chance depends on nothing it should not."""

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter

from seqloom.config import ForcingConfig, FreeRunningOptions
from seqloom.training.scheduled_sampling import ScheduledSampling
from seqloom.training.teacher_forcing import ForcingSchedule, label_probability, temperature
from tests.training.support import training

UPDATES = 2_000
LABELS = torch.ones(400, 30, dtype=torch.int64)


def chosen(**options: Any) -> Any:
    return TypeAdapter(ForcingConfig).validate_python(options)


def curve(**options: Any) -> list[float]:
    config = chosen(**options)
    return [label_probability(config, step, UPDATES) for step in range(UPDATES + 1)]


def test_three_kinds_do_not_change() -> None:
    assert set(curve(kind="always")) == {1.0}
    assert set(curve(kind="never")) == {0.0}
    assert set(curve(kind="constant", probability=0.3)) == {0.3}


@pytest.mark.parametrize("kind", ["linear", "exponential", "inverse-sigmoid"])
def test_falling_kinds_are_at_one_half_when_they_say(kind: str) -> None:
    """At `half`, which is the middle of training unless it is set; they never rise, and stop at
    `least`."""
    assert curve(kind=kind)[UPDATES // 2] == pytest.approx(0.5)
    falls = curve(kind=kind, half=300, least=0.2)
    assert falls[300] == pytest.approx(0.5)
    assert all(later <= earlier for earlier, later in pairwise(falls))
    assert falls[0] > 0.98
    assert falls[-1] == 0.2


def test_falling_kinds_have_the_formulae_of_the_manual() -> None:
    """Update 100 of half = 400: a line, a power, and k / (k + e^(step/k)) with k ln k = half."""
    assert curve(kind="linear", half=400)[100] == 1 - 100 / 800
    assert curve(kind="exponential", half=400)[100] == pytest.approx(2**-0.25)
    low, high = 1.0, 400.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.log(middle) < 400 else (low, middle)
    found = curve(kind="inverse-sigmoid", half=400)
    assert found[100] == pytest.approx(low / (low + math.exp(100 / low)))
    assert found[0] == pytest.approx(low / (low + 1))


def test_temperature_goes_from_the_first_to_the_last_by_equal_factors() -> None:
    config = chosen(kind="never", choice="soft", temperature=4.0, final_temperature=0.25)
    assert isinstance(config, FreeRunningOptions)
    found = [temperature(config, step, 5) for step in range(6)]
    assert found == pytest.approx([4.0, 2.0, 1.0, 0.5, 0.25, 0.25])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.75, 1.0])
def test_each_step_of_each_row_is_drawn_by_itself(share: float) -> None:
    """Not a sentence at once: within five standard deviations of independent draws, in the whole,
    and in the pairs that follow one another in a row or stand in neighbouring rows."""
    forced = ScheduledSampling(label_probability=share, seed=5).forcing_mask(LABELS).double()
    pairs = {
        share: forced,
        share**2: forced[:, 1:] * forced[:, :-1],
        share * share: forced[1:] * forced[:-1],
    }
    for expected, found in pairs.items():
        spread = math.sqrt(expected * (1 - expected) / found.numel())
        assert abs(float(found.mean()) - expected) <= 5 * spread * math.sqrt(3)


def test_chance_is_a_function_of_seed_and_row() -> None:
    """Batch mates, their number, and the steps that follow change nothing, so neither does the
    number of workers; another update, batch or seed changes it."""
    forcing = ForcingSchedule(training(forcing="never"), seed=1)
    whole, share = torch.arange(400), torch.arange(400)[1::2]
    one, two = forcing.for_batch(3, 0, whole), forcing.for_batch(3, 0, share)
    assert one is not None
    assert two is not None
    half = ScheduledSampling(label_probability=0.5, seed=one.seed, row_numbers=share)
    full = ScheduledSampling(label_probability=0.5, seed=one.seed, row_numbers=whole)
    assert torch.equal(full.forcing_mask(LABELS)[1::2, :20], half.forcing_mask(LABELS[1::2, :20]))
    assert torch.equal(full.noise_seeds(LABELS)[1::2, :20], half.noise_seeds(LABELS[1::2, :20]))
    others = [forcing.for_batch(4, 0, whole), forcing.for_batch(3, 1, whole)]
    others.append(ForcingSchedule(training(forcing="never"), seed=2).for_batch(3, 0, whole))
    assert len({other.seed for other in others if other is not None} | {one.seed}) == 4


def test_labels_alone_leave_no_freedom() -> None:
    """p = 1 is plain teacher forcing, by the same code."""
    rows = torch.arange(2)
    for options in ("always", {"kind": "constant", "probability": 1}, "linear"):
        assert ForcingSchedule(training(forcing=options), seed=1).for_batch(0, 0, rows) is None
