"""Successive halving: many settings for a while, the better ones for longer, the best to the end.

A trial is a run like any other. It rests at the end of each rung, and goes on exactly if it is
among the best there. What a sweep knows is in its runs: begun again, it finds them and goes on.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.api.compare import Comparison, compare
from seqloom.api.sweep_space import Choice, Range, SweepSpace, load_sweep_space
from seqloom.api.train import train
from seqloom.config import merge, parse_assignments
from seqloom.data import Data
from seqloom.drawing.sweep import TrialCurve, draw_sweep
from seqloom.errors import ConfigError, DivergedError, RunError
from seqloom.randomness import key
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import load_config
from seqloom.runs.process import torchrun_environment
from seqloom.runs.progress import Monitor, Progress, Validation
from seqloom.store import RunDirectory
from seqloom.store.durable import run_errors

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

__all__ = [
    "SweepResult",
    "Trial",
    "TrialSetting",
    "assignments",
    "check_sampler",
    "next_setting",
    "sweep",
]

STARTUP_TRIALS = 5  # trials before results say where to look

TrialSetting = Mapping[str, Any]
"""A value for each option of a space."""


def check_sampler() -> None:
    """ConfigError where optuna is not installed."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise ConfigError(
            "seqloom sweep needs optuna, which is not installed",
            remedy="pip install 'seqloom[sweep]'",
        ) from None


def next_setting(
    space: SweepSpace, tried: Sequence[tuple[TrialSetting, float | None]], *, seed: int
) -> dict[str, Any]:
    """What to try after these, each with its result, where larger is better and None has none."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {name: _distribution(each) for name, each in space.options.items()}
    sampler = optuna.samplers.TPESampler(
        seed=key(seed, "trial", len(tried)) % 2**32, n_startup_trials=STARTUP_TRIALS
    )
    states = optuna.trial.TrialState
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for setting, value in tried:
        state = states.FAIL if value is None else states.COMPLETE
        params = {name: _encode_value(space.options[name], each) for name, each in setting.items()}
        study.add_trial(
            optuna.trial.create_trial(
                params=params, distributions=distributions, value=value, state=state
            )
        )
    drawn = study.ask(distributions).params
    return {name: _decode_value(each, drawn[name]) for name, each in space.options.items()}


def assignments(setting: TrialSetting) -> list[str]:
    """The setting as one would write it after `--set`."""
    return [f"{name}={_format_value(value)}" for name, value in setting.items()]


def _format_value(value: Any) -> str:
    """A bare word as it is, and whatever else as TOML."""
    bare = isinstance(value, str) and value.isidentifier() and value not in ("true", "false")
    return value if bare else json.dumps(value)


def _distribution(values: Choice | Range) -> "BaseDistribution":
    """A choice is told by its position, since its values may be lists."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(values, tuple):
        return CategoricalDistribution(range(len(values)))
    if values.whole:
        return IntDistribution(int(values.low), int(values.high), log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)


def _encode_value(values: Choice | Range, value: Any) -> Any:
    return values.index(value) if isinstance(values, tuple) else value


def _decode_value(values: Choice | Range, drawn: Any) -> Any:
    """The value that was drawn; a fraction has four digits, which is more than can matter."""
    if isinstance(values, tuple):
        return values[drawn]
    if values.whole:
        return int(drawn)
    return min(max(float(f"{drawn:.4g}"), values.low), values.high)


SEED = 1  # of the draws, where the options name none


@dataclass(frozen=True)
class Trial:
    """One setting, the run that tries it, and how far it came."""

    run: Path
    setting: TrialSetting
    rungs: int = 0  # ends of rungs that it has reached
    value: float | None = None  # best result there, larger is better; None if it failed
    validations: tuple[Validation, ...] = ()
    failure: str = ""

    @property
    def assignments(self) -> list[str]:
        """Its setting as one would write it after `--set`."""
        return assignments(self.setting)


@dataclass(frozen=True)
class SweepResult:
    """All trials, the best first: those that came further before those that did not."""

    space: SweepSpace
    trials: tuple[Trial, ...]
    picture: Path

    @property
    def best(self) -> Trial:
        """The trial that was best at the end of the last rung."""
        return self.trials[0]

    @property
    def finalists(self) -> Comparison:
        """Those that came to the last rung but one or further, side by side."""
        enough = max(len(self.space.rungs) - 1, 1)
        found = [each.run for each in self.trials if each.rungs >= enough and each.validations]
        return compare(found)


def sweep(
    data: Data,
    run: str | Path,
    space: str | Path,
    *,
    valid: Data | None = None,
    model: str = "auto",
    options: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> SweepResult:
    """Try the settings of a space, a TOML file, by successive halving, with a run for each.

    The runs are kept in the directory `run`; `options` hold for all of them. ConfigError if not a
    single one can be trained.
    """
    check_sampler()
    if torchrun_environment() is not None:
        raise ConfigError(
            "a sweep trains one run after another", remedy="start it without torchrun"
        )
    halving = _Halving(Path(run), load_sweep_space(Path(space)), options or {}, tell)
    halving.save_space(Path(space))

    def train_trial(trial: Trial, until: int) -> None:
        chosen = halving.options(trial)
        train(
            data,
            trial.run,
            valid=valid,
            model=model,
            options=chosen,
            until=until,
            watch=False,
        )

    trials = halving.run_rungs(train_trial)
    picture = Path(run) / "sweep.png"
    draw_sweep([_trial_curve(each) for each in trials], picture, title=_title(trials[0]))
    return SweepResult(halving.space, trials, picture)


@dataclass
class _Halving:
    """One call of a sweep, new or resumed."""

    folder: Path
    space: SweepSpace
    common: Mapping[str, Any]
    tell: Callable[[str], None]
    trials: list[Trial] = field(default_factory=list)

    def save_space(self, file: Path) -> None:
        """Put the space beside the trials; ConfigError where they were begun with another."""
        kept = self.folder / "space.toml"
        if kept.exists():
            if load_sweep_space(kept) != self.space:
                raise ConfigError(
                    f"not the space that {self.folder} was begun with",
                    place=file,
                    remedy=Remedy("choose another {}, or go on with {}", Setting("run"), str(kept)),
                )
            return
        with run_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, kept)

    def options(self, trial: Trial) -> Mapping[str, Any]:
        """What a trial is trained with: updates for all rungs, validated at the end of each."""
        rungs = self.space.rungs
        usual = {"validate_every": rungs[0][1], "patience": 0, "curves": False}
        chosen = merge({"training": usual}, self.common)
        length = {"training": {"updates": rungs[-1][1]}}
        return merge(merge(chosen, length), parse_assignments(trial.assignments))

    def run_rungs(self, train_trial: Callable[[Trial, int], None]) -> tuple[Trial, ...]:
        """All trials, the best first, after as many rungs as the space has."""
        seed = self.common.get("seed", SEED)
        for rung, (count, updates) in enumerate(self.space.rungs, 1):
            self.tell(f"rung {rung} of {len(self.space.rungs)}: {count} to {updates:,} updates")
            for number in range(count):
                if rung == 1:
                    tried = [(each.setting, each.value) for each in self.trials]
                    setting = next_setting(self.space, tried, seed=seed)
                    self.trials.append(Trial(self.folder / f"trial-{number + 1:03}", setting))
                trial = self.trials[number]
                if rung == 1 or not trial.failure:
                    self.trials[number] = self._run_trial(trial, updates, train_trial)
            self.trials.sort(key=_rank)
            if self.trials[0].failure:
                raise ConfigError(f"no trial could be trained: {self.trials[0].failure}")
        return tuple(self.trials)

    def _run_trial(
        self, trial: Trial, updates: int, train_trial: Callable[[Trial, int], None]
    ) -> Trial:
        """The trial after so many updates, made now unless they were made before."""
        failure = _divergence(trial.run)
        try:
            if not failure and _progress(trial.run).step < updates:
                train_trial(trial, updates)
        except (ConfigError, DivergedError) as error:
            failure = str(error)
        shown = " ".join(trial.assignments)
        if failure:
            self.tell(f"  {trial.run.name}  {shown}: {failure}")
            return replace(trial, failure=failure, value=None)
        monitor = _monitor(trial)
        until = [each for each in _progress(trial.run).validations if each.step <= updates]
        value = max((each.value(monitor) for each in until), default=None)
        if value is None:
            raise RunError(
                "no step was validated", place=trial.run, remedy="remove it and sweep again"
            )
        self.tell(f"  {trial.run.name}  {value:8.3f}  {shown}")
        return replace(trial, rungs=trial.rungs + 1, value=value, validations=tuple(until))


def _rank(trial: Trial) -> tuple[bool, int, float, float]:
    """The order from best to worst; among equals the one with the lower loss."""
    loss = min((each.loss for each in trial.validations), default=0.0)
    return bool(trial.failure), -trial.rungs, -(trial.value or 0.0), loss


def _progress(run: Path) -> Progress:
    """How far a run has come; not at all, where there is none."""
    directory = RunDirectory(run)
    latest = directory.latest_checkpoint() if directory.exists else None
    return Progress() if latest is None else Progress.from_dict(latest.progress())


def _divergence(run: Path) -> str:
    """Why a run's training diverged; empty where it did not."""
    events = RunDirectory(run).events()
    return next((str(each.get("why")) for each in events if each.get("event") == "diverged"), "")


def _monitor(trial: Trial) -> Monitor:
    return load_config(RunDirectory(trial.run)).training.monitor


def _title(trial: Trial) -> str:
    """What a trial's results are called."""
    name = next(iter(trial.validations[-1].scores), "metric")
    return f"held-out {name}" if _monitor(trial) == "metric" else "minus the held-out loss"


def _trial_curve(trial: Trial) -> TrialCurve:
    monitor = "metric" if trial.failure else _monitor(trial)
    points = [(each.step, each.value(monitor)) for each in trial.validations]
    return TrialCurve(trial.run.name, dict(trial.setting), trial.rungs, points)
