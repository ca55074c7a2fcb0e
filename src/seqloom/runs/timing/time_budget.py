"""Fit the number of updates to `training.minutes`: measured early and stored with the step.

The learning rate schedule spans that many updates, so a run ends annealed when its time is used up.
Validations take a third of the time at most; if even one takes longer than what is left, the run
anneals over a tenth more updates and ends late. Since the number is part of the progress, a resumed
run follows the same schedule.
"""

import math
from dataclasses import replace

from seqloom.config import TrainingConfig
from seqloom.runs.progress import Progress
from seqloom.training import learning_rate

__all__ = [
    "budget_scale",
    "fit_schedule",
    "refit_schedule",
    "validation_interval",
]

FIRST_UPDATES = 10  # updates measured at least, ...
FIRST_SHARE = 0.03  # ... and this share of the time
RESERVE = 0.15  # share of the time for validations not measured yet
EARLY, LATE = 0.8, 1.02  # expected ends, as shares of the time, beyond which it is fitted again
VALIDATIONS = 6  # in a run that is too short for the configured interval
VALIDATED = 1 / 3  # largest share of the time for validations
ANNEALED = 0.1  # shortest annealing, as a share of completed updates


def fit_schedule(training: TrainingConfig, progress: Progress) -> Progress:
    """Set the number of updates that fit, once enough of them are measured."""
    budget = 60 * training.minutes
    if progress.budget != training.minutes:
        progress = replace(progress, budget=training.minutes, scheduled=0)
    if not budget:
        return progress
    if progress.scheduled:
        late = progress.step + _fewest(progress)
        over = progress.seconds >= budget and late < progress.scheduled
        return replace(progress, scheduled=late) if over else progress
    if progress.step < FIRST_UPDATES or progress.seconds < FIRST_SHARE * budget:
        return progress
    return _with_updates_for(training, progress, (1 - RESERVE) * (budget - progress.seconds))


def refit_schedule(training: TrainingConfig, progress: Progress) -> Progress:
    """Refit the number of updates if the run would otherwise end much too early or too late."""
    budget = 60 * training.minutes
    if not progress.scheduled or progress.step >= progress.scheduled:
        return progress
    update, validation = _costs(progress)
    to_come = progress.scheduled - progress.step
    validations = math.ceil(to_come / validation_interval(training, progress))
    end = (progress.seconds + to_come * update + validations * validation) / budget
    all_fit = progress.scheduled == training.updates and end < 1
    if all_fit or EARLY <= end <= LATE:
        return progress
    return _with_updates_for(training, progress, budget - progress.seconds)


def _with_updates_for(training: TrainingConfig, progress: Progress, seconds: float) -> Progress:
    """Set the number of remaining updates that fit into these seconds besides validations,
    including the last, and at least enough to anneal.
    """
    update, validation = _costs(progress)
    each = update + validation / validation_interval(training, progress)
    to_come = max(_fewest(progress), int((seconds - validation) / each))
    return replace(progress, scheduled=min(training.updates, progress.step + to_come))


def _fewest(progress: Progress) -> int:
    """The fewest remaining updates, for annealing."""
    return max(1, math.ceil(ANNEALED * progress.step))


def _costs(progress: Progress) -> tuple[float, float]:
    """The mean seconds of an update and of a validation; 0 before the first."""
    update = (progress.seconds - progress.validating) / max(1, progress.step)
    return max(update, 1e-9), progress.validating / max(1, len(progress.validations))


def budget_scale(training: TrainingConfig, progress: Progress) -> float:
    """The factor of the next update's learning rate by the fitted schedule."""
    fitted = progress.last_update(training)
    usual = learning_rate(training, progress.step)
    if fitted == training.updates or not usual:
        return 1.0
    warmup = min(training.warmup, fitted // 10)
    shorter = training.model_copy(update={"updates": fitted, "warmup": warmup})
    return learning_rate(shorter, progress.step) / usual


def validation_interval(training: TrainingConfig, progress: Progress) -> int:
    """Updates between validations: fewer in a run of few updates, more if validations would take
    too much of a budget.
    """
    fitted, usual = progress.last_update(training), training.validate_every
    if not training.minutes:
        return usual
    if fitted < min(training.updates, VALIDATIONS * usual):
        usual = max(1, fitted // VALIDATIONS)
    update, validation = _costs(progress)
    return max(usual, math.ceil(validation / update * (1 - VALIDATED) / VALIDATED))
