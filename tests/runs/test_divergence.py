"""RELIABILITY A8: one writer at a time, and nothing that is not finite is ever saved."""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch.utils.hooks import RemovableHandle

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.errors import DivergedError, RunError
from seqloom.model import SequenceModel
from seqloom.runs import learner
from seqloom.store import RunDirectory
from seqloom.training import Update
from tests.counts import count
from tests.runs.support import (
    PAIRS,
    PRESETS,
    Crash,
    Watching,
    assert_same,
    at,
    crash,
    last,
    options,
    trained,
)

pytestmark = pytest.mark.faults
Injection = Callable[[learner.Learner, int], None]


def into_weight(victim: learner.Learner, number: int) -> None:
    """One of the decoder's tensors, all of it."""
    with torch.no_grad():
        named = victim.network.named_parameters()
        parameters = [value for name, value in named if name.startswith("decoder.")]
        parameters[number % len(parameters)].fill_(math.nan)


def into_gradient(victim: learner.Learner, number: int) -> None:
    parameters = list(victim.network.parameters())
    parameters[number % len(parameters)].register_hook(lambda gradient: gradient * math.nan)


def into_loss(victim: learner.Learner, number: int) -> None:
    """Logits that are infinite, so that the loss is not a number."""
    assert isinstance(victim.network, SequenceModel)
    write = victim.network.decoder.write
    setattr(victim.network.decoder, "write", lambda hidden: write(hidden) * math.inf)  # noqa: B010


INJECTIONS: dict[str, Injection] = {
    "weight": into_weight,
    "gradient": into_gradient,
    "loss": into_loss,
}


@pytest.fixture
def learners(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[learner.Learner]]:
    """Every learner that a training makes, to reach into."""
    made: list[learner.Learner] = []
    initialise = learner.Learner.__init__

    def remember(self: learner.Learner, *arguments: object) -> None:
        initialise(self, *arguments)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(learner.Learner, "__init__", remember)
    yield made
    made.clear()


@pytest.mark.parametrize("place", INJECTIONS)
@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_not_finite_ends_the_run(
    place: str, preset: str, learners: list[learner.Learner], tmp_path: Path
) -> None:
    """A8: the sentence names the update and the part; the step before loads and is finite."""
    for number in range(count(2, 17)):
        run = tmp_path / str(number)
        spoil = at(5, lambda number=number: INJECTIONS[place](learners[-1], number))  # type: ignore[misc]
        with pytest.raises(DivergedError) as caught:
            train(PAIRS, run, options=options(preset, dropout=0.0), watch=spoil)
        sentence = str(caught.value)
        assert sentence.startswith("update 6: ")
        assert "not finite" in sentence
        assert "training.rate" in sentence
        names = dict(learners[-1].network.named_parameters())
        if place == "weight":
            assert any(f"weight {name} " in sentence for name in names)
        if place == "gradient":
            assert any(f"gradient of {name} " in sentence for name in names)
        assert [step.number for step in RunDirectory(run).checkpoints()] == [4]
        assert all(
            value.isfinite().all()
            for name in last(run).names()
            for value in last(run).load(name).values()
        )
        assert load(run)("aei").stopped in ("end", "length")


def test_a_weight_spoilt_just_before_a_save(
    learners: list[learner.Learner], tmp_path: Path
) -> None:
    """A8: the held-out pass and the save refuse it too, and the step before stays."""
    spoil = at(8, lambda: into_weight(learners[-1], 0))
    with pytest.raises(DivergedError):
        train(PAIRS, tmp_path / "run", options=options(), watch=spoil)
    assert last(tmp_path / "run").number == 4


def test_a_diverged_run_goes_on_from_the_step_before(
    learners: list[learner.Learner], tmp_path: Path
) -> None:
    trained(tmp_path / "whole", options())
    with pytest.raises(DivergedError):
        train(
            PAIRS,
            tmp_path / "run",
            options=options(),
            watch=at(6, lambda: into_gradient(learners[-1], 0)),
        )
    trained(tmp_path / "run", options())
    assert_same(tmp_path / "run", tmp_path / "whole")


def spoil_next(victim: learner.Learner) -> None:
    """Make the gradient of one more update a NaN."""
    handles: list[RemovableHandle] = []

    def spoil(gradient: torch.Tensor) -> torch.Tensor:
        handles.pop().remove()
        return gradient * math.nan

    handles.append(next(victim.network.parameters()).register_hook(spoil))


def test_some_may_be_left_out(learners: list[learner.Learner], tmp_path: Path) -> None:
    """`training.skip_nonfinite` updates change no weight and are reported as skipped."""
    seen: list[bool] = []
    weights: list[torch.Tensor] = []

    def watch(update: Update) -> None:
        seen.append(update.skipped)
        weights.append(next(learners[-1].network.parameters()).detach().clone())
        if update.step in (2, 3):
            spoil_next(learners[-1])

    chosen = options(updates=6, validate_every=6, skip_nonfinite=2)
    train(PAIRS, tmp_path / "run", options=chosen, watch=Watching(watch))
    assert seen == [False, False, True, True, False, False]
    assert torch.equal(weights[1], weights[3])
    assert not torch.equal(weights[3], weights[4])


def test_one_too_many_over_all_sittings(learners: list[learner.Learner], tmp_path: Path) -> None:
    """A3: how many were left out is remembered in the step."""
    chosen = options(updates=12, validate_every=4, skip_nonfinite=1)

    def watch(update: Update) -> None:
        if update.step in (2, 6):
            spoil_next(learners[-1])
        if update.step == 5 and len(learners) == 1:
            crash()

    with pytest.raises(Crash):
        train(PAIRS, tmp_path / "run", options=chosen, watch=Watching(watch))
    with pytest.raises(DivergedError, match="update 7: "):
        train(PAIRS, tmp_path / "run", options=chosen, watch=Watching(watch))


HOLD = """
import sys, time
from pathlib import Path
from seqloom.store import RunDirectory
with RunDirectory(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_trainer_is_refused_at_once(tmp_path: Path) -> None:
    """A8: while another process holds the run, training ends with one sentence and no wait."""
    run = tmp_path / "run"
    trained(run, options(updates=2))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for _ in range(count(2, 20)):
            began = time.process_time()
            with pytest.raises(RunError, match=f"process {holder.pid} is writing to this run"):
                trained(run, options(updates=2))
            assert time.process_time() - began < 1
        assert holder.stdin is not None
        holder.stdin.close()
    trained(run, options(updates=2))
    del before[run / "lock"]
    assert before == {path: path.read_bytes() for path in before}
