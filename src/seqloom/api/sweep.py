"""Hyperparameter search by successive halving: train many settings briefly, the better ones longer.

A trial is a run like any other. It pauses at the end of each rung and resumes exactly if it is
among the best there. All state is in the runs, so a sweep that is started again resumes.
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

STARTUP_TRIALS = 5  # random trials before the sampler uses results

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
    """Draw the next setting from earlier ones and their results (larger is better, None:
    failed).
    """
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
    """A bare word unquoted, anything else as TOML."""
    bare = isinstance(value, str) and value.isidentifier() and value not in ("true", "false")
    return value if bare else json.dumps(value)


def _distribution(values: Choice | Range) -> "BaseDistribution":
    """The optuna distribution; a choice is encoded by its index, as its values may be lists."""
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
    """The drawn value; fractions are rounded to four significant digits."""
    if isinstance(values, tuple):
        return values[drawn]
    if values.whole:
        return int(drawn)
    return min(max(float(f"{drawn:.4g}"), values.low), values.high)


SEED = 1  # of the draws, unless the options name one


@dataclass(frozen=True)
class Trial:
    """One setting, its run, and the rungs it reached."""

    run: Path
    setting: TrialSetting
    rungs: int = 0  # rungs completed
    value: float | None = None  # best result so far, larger is better; None if it failed
    validations: tuple[Validation, ...] = ()
    failure: str = ""

    @property
    def assignments(self) -> list[str]:
        """Its setting as one would write it after `--set`."""
        return assignments(self.setting)


@dataclass(frozen=True)
class SweepResult:
    """All trials, the best first; those that reached a later rung come first."""

    space: SweepSpace
    trials: tuple[Trial, ...]
    picture: Path

    @property
    def best(self) -> Trial:
        """The best trial of the last rung."""
        return self.trials[0]

    @property
    def finalists(self) -> Comparison:
        """Compare the trials that reached at least the last rung but one."""
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
    """Search the space declared in a TOML file by successive halving, with a run for each setting.

    The runs are kept in the directory `run`; `options` apply to all of them. ConfigError if none
    can be trained.
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
        """Save the space beside the trials; ConfigError if they were started with another."""
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
        """The options of a trial: updates for all rungs, with a validation at the end of each."""
        rungs = self.space.rungs
        usual = {"validate_every": rungs[0][1], "patience": 0, "curves": False}
        chosen = merge({"training": usual}, self.common)
        length = {"training": {"updates": rungs[-1][1]}}
        return merge(merge(chosen, length), parse_assignments(trial.assignments))

    def run_rungs(self, train_trial: Callable[[Trial, int], None]) -> tuple[Trial, ...]:
        """Run all rungs; return the trials, the best first."""
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
        """Train the trial up to so many updates, unless that is already done."""
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
    """A sort key from best to worst; ties are broken by the lower loss."""
    loss = min((each.loss for each in trial.validations), default=0.0)
    return bool(trial.failure), -trial.rungs, -(trial.value or 0.0), loss


def _progress(run: Path) -> Progress:
    """A run's progress; that of a new run if there is none."""
    directory = RunDirectory(run)
    latest = directory.latest_checkpoint() if directory.exists else None
    return Progress() if latest is None else Progress.from_dict(latest.progress())


def _divergence(run: Path) -> str:
    """Why training diverged; empty if it did not."""
    events = RunDirectory(run).events()
    return next((str(each.get("why")) for each in events if each.get("event") == "diverged"), "")


def _monitor(trial: Trial) -> Monitor:
    return load_config(RunDirectory(trial.run)).training.monitor


def _title(trial: Trial) -> str:
    """The name of the monitored result."""
    name = next(iter(trial.validations[-1].scores), "metric")
    return f"held-out {name}" if _monitor(trial) == "metric" else "minus the held-out loss"


def _trial_curve(trial: Trial) -> TrialCurve:
    monitor = "metric" if trial.failure else _monitor(trial)
    points = [(each.step, each.value(monitor)) for each in trial.validations]
    return TrialCurve(trial.run.name, dict(trial.setting), trial.rungs, points)
