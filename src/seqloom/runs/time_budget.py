"""How many updates fit into `training.minutes`: measured early, saved with the step, and kept.

The schedule of the learning rate runs over that many updates, so a run ends annealed when its time
is used up. Since the number is part of the progress, a resumed run follows the same schedule.
"""

from dataclasses import replace

from seqloom.config import TrainingConfig
from seqloom.runs.progress import Progress
from seqloom.training import learning_rate

__all__ = ["budget_scale", "fit_schedule", "refit_schedule", "validation_interval"]

FIRST_UPDATES = 10  # that are measured, at least, ...
FIRST_SHARE = 0.03  # ... and for this share of the time
RESERVE = 0.15  # of the time, for validations that have not been measured yet
EARLY, LATE = 0.8, 1.02  # expected ends, as shares of the time, beyond which it is fitted again
VALIDATIONS = 6  # in a run that is too short for the configured interval


def fit_schedule(training: TrainingConfig, progress: Progress) -> Progress:
    """The progress with the number of updates that fit, once enough of them are measured."""
    budget = 60 * training.minutes
    if progress.budget != training.minutes:
        progress = replace(progress, budget=training.minutes, scheduled=0)
    measured = progress.step >= FIRST_UPDATES and progress.seconds >= FIRST_SHARE * budget
    if not budget or progress.scheduled or not measured:
        return progress
    return _with_updates_for(training, progress, (1 - RESERVE) * (budget - progress.seconds))


def refit_schedule(training: TrainingConfig, progress: Progress) -> Progress:
    """The same fitted again, where the run would end much too early or too late otherwise."""
    budget = 60 * training.minutes
    if not progress.scheduled or progress.step >= progress.scheduled:
        return progress
    to_come = (progress.scheduled - progress.step) * progress.seconds / progress.step
    end = (progress.seconds + to_come) / budget
    all_fit = progress.scheduled == training.updates and end < 1
    if all_fit or EARLY <= end <= LATE:
        return progress
    return _with_updates_for(training, progress, budget - progress.seconds)


def _with_updates_for(training: TrainingConfig, progress: Progress, seconds: float) -> Progress:
    """The progress with as many updates to come as so many seconds hold, one at least."""
    to_come = max(1, int(seconds * progress.step / max(progress.seconds, 1e-9)))
    return replace(progress, scheduled=min(training.updates, progress.step + to_come))


def budget_scale(training: TrainingConfig, progress: Progress) -> float:
    """What the next update's rate is multiplied with, so that it follows the fitted schedule."""
    fitted = progress.last_update(training)
    usual = learning_rate(training, progress.step)
    if fitted == training.updates or not usual:
        return 1.0
    warmup = min(training.warmup, fitted // 10)
    shorter = training.model_copy(update={"updates": fitted, "warmup": warmup})
    return learning_rate(shorter, progress.step) / usual


def validation_interval(training: TrainingConfig, progress: Progress) -> int:
    """Updates between two validations: shorter in a run that has time for few updates."""
    fitted = progress.last_update(training)
    if fitted == training.updates or fitted >= VALIDATIONS * training.validate_every:
        return training.validate_every
    return max(1, fitted // VALIDATIONS)
