"""Which setting a sweep tries next: optuna's tree-structured Parzen estimator, asked afresh.

The answer is a function of the seed, the number of the trial and the results before it, so a sweep
that is begun again asks the same questions and needs no memory of its own.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seqloom.config import Choice, Range, SweepSpace
from seqloom.errors import ConfigError
from seqloom.randomness import key

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

__all__ = ["TrialSetting", "assignments", "check_sampler", "next_setting"]

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
