"""The closing report of `seqloom sweep`: all trials, the finalists, and a command."""

import shlex

from seqloom.api.sweep import SweepResult, Trial

__all__ = ["report", "train_command"]


def report(swept: SweepResult) -> list[str]:
    """A line per trial from best to worst, the finalists' table, and the picture."""
    width = max(len(each.run.name) for each in swept.trials)
    updates = [0, *(end for _, end in swept.space.rungs)]
    lines = [
        f"{each.run.name:<{width}}  {updates[each.rungs]:>9,} updates  {_result(each):>8}  "
        + " ".join(each.assignments)
        for each in swept.trials
    ]
    return [*lines, "", *swept.finalists.lines(), "", str(swept.picture)]


def _result(trial: Trial) -> str:
    return "failed" if trial.value is None else f"{trial.value:.3f}"


def train_command(swept: SweepResult, data: str, given: list[str]) -> str:
    """The command that trains a new run with the best setting, for as long as the last trial."""
    best = swept.best
    length = f"training.updates={swept.space.rungs[-1][1]}"
    chosen = [word for each in (length, *best.assignments) for word in ("--set", each)]
    run = str(best.run.parent.with_name(f"{best.run.parent.name}-best"))
    return shlex.join(["seqloom", "train", data, "--run", run, *given, *chosen])
