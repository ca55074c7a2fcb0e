"""`train`: start a run or resume it, in one process or as a rank under torchrun."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from seqloom.api.console import Watch, open_observer
from seqloom.api.training_result import TrainingResult
from seqloom.api.training_session import TrainingSession
from seqloom.config import TARGETS, Overrides, column_overrides, merge
from seqloom.data import Data, DataLike, as_data, data_files, has_names, join_targets
from seqloom.errors import ConfigError
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import load_config
from seqloom.runs.pretrained import open_pretrained_run
from seqloom.runs.process import (
    StopRequest,
    TorchrunEnvironment,
    stop_signals,
    torchrun_environment,
)
from seqloom.runs.processes.torchrun import follow, join_ranks, lead
from seqloom.runs.progress import Progress, TrainingObserver
from seqloom.runs.request import TrainingRequest
from seqloom.store import RunDirectory
from seqloom.tasks import Task, open_learner, task_of, task_of_options
from seqloom.training import Ranks

__all__ = ["TrainingResult", "train"]

TARGET = "target"  # the name given to an unnamed target column


def train(
    data: DataLike,
    targets: DataLike | None = None,
    /,
    run: str | Path | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    valid: DataLike | None = None,
    model: str = "auto",
    options: Mapping[str, Any] | None = None,
    base: str | Path | None = None,
    until: int | None = None,
    restart: bool = False,
    watch: Watch = None,
) -> TrainingResult:
    """Train a model that maps the source column to the target column, or resume an existing run.

    `data` is the path of a file, rows (tuples or objects with the columns' names) or a table of
    pandas, polars, pyarrow or Hugging Face. `train(X, y, run=...)` takes separate targets;
    `valid` is then such a pair too. `source`, `target` and `weight` name columns as on the
    command line: `"text"`, `"2"`, `"intent:label"`, `":label"` or `"none"`.

    `options` are nested tables as in config.toml: `{"training": {"updates": 500}}`. With `base`, a
    new run starts from the fields and the weights of that run (S6.7). After `until` updates
    training pauses, validated and saved; a later call resumes it exactly. `restart` deletes the
    contents of `run` once the new run has passed its checks. Progress is shown in a terminal or a
    notebook; `watch=False` hides it, `watch=True` always shows it, and an observer receives the
    events instead. Under torchrun every rank makes the same call; only rank 0 reads the data.
    """
    directory, apart = _run_and_targets(targets, run)
    columns = column_overrides(source, target, weight=weight)
    rows, held_out, columns = _read_given(data, apart, valid, columns)
    request = TrainingRequest(rows, held_out, model, merge(options or {}, columns))
    return _Call(directory, request, base, until, restart).train(watch)


@dataclass(frozen=True)
class _Call:
    """The checked arguments of one call of `train`."""

    directory: RunDirectory
    request: TrainingRequest
    base: str | Path | None
    until: int | None
    restart: bool

    def train(self, watch: Watch) -> TrainingResult:
        """Train as the only process, or as a rank that torchrun started."""
        place = torchrun_environment()
        if place is not None:
            return self._train_as_rank(place, watch)
        with stop_signals() as stop, open_observer(watch) as observer:
            return self._lead(stop, None, observer)

    def _train_as_rank(self, place: TorchrunEnvironment, watch: Watch) -> TrainingResult:
        """Train as a rank of torchrun: rank 0 leads, the others follow."""
        with stop_signals(first=place.rank == 0) as stop, join_ranks(place, stop) as ranks:
            if ranks.rank:
                follow(lambda: open_learner(self.directory), ranks)
                return TrainingResult.of(self.directory)
            call = replace(self, restart=self.restart and not place.is_restarted)
            with lead(ranks), open_observer(watch) as observer:
                return call._lead(stop, ranks, observer)

    def _lead(
        self, stop: StopRequest, ranks: Ranks | None, observer: TrainingObserver
    ) -> TrainingResult:
        """Plan a new run or resume one, lock its directory, and train."""
        directory, restart = self.directory, self.restart
        if not restart:
            directory.require_usable_steps()
        request = _apply_base(self.base, directory, self.request, restart=restart)
        task = _task(directory, request, restart)
        draft, missing = None, directory.missing_parents()
        is_new = restart or not directory.exists
        if is_new:
            data_files(request.data)
        with directory.lock(), torch.random.fork_rng():
            request = replace(request, cache=directory.cache_directory)
            with directory.undo_failed_start(missing):
                if is_new:
                    draft = task.draft(request, observer)
                if restart:
                    observer.on_message(f"{directory.clear():,} saved steps are removed")
                with directory.undo_failed_start(missing):
                    prepared = task.prepare(directory, request, observer, draft=draft)
                    del draft  # frees its sample of the data
                    training = TrainingSession(directory, prepared, observer, self.until)
            stop.defer()
            return training.run(stop, ranks)


def _run_and_targets(
    given: DataLike | None, run: str | Path | None
) -> tuple[RunDirectory, DataLike | None]:
    """The run directory and the targets; the second positional argument may be either."""
    if run is None and isinstance(given, str | Path):
        return RunDirectory(Path(given)), None
    if run is None:
        raise ConfigError(
            "a run needs a directory", remedy=Remedy("pass {}", Setting("run", "runs/NAME"))
        )
    return RunDirectory(Path(run)), given


def _read_given(
    data: DataLike, targets: DataLike | None, valid: Any, columns: Overrides
) -> tuple[Data, Data | None, Overrides]:
    """The training rows and held-out rows; separate sources and targets are joined.

    In a table of sources, the targets become the column that `target` names.
    """
    if targets is None:
        held_out = None if valid is None else as_data(valid)
        return data if isinstance(data, str | Path) else as_data(data), held_out, columns
    name = columns.get("data", {}).get("target", TARGET)
    rows, held_out = join_targets(data, targets, name), None
    if not has_names(rows) and name in TARGETS.kinds() and "target" not in columns:
        raise ConfigError(
            "names a column, and rows without names have none",
            place=Setting("target", name),
            remedy=Remedy("write {} if you mean the kind", Setting("target", f":{name}")),
        )
    if valid is not None and (not isinstance(valid, tuple) or len(valid) != 2):
        raise ConfigError("the targets are separate", remedy="give held-out data as valid=(X, y)")
    if valid is not None:
        held_out = join_targets(*valid, name)
    named = {"data": {"target": name}} if has_names(rows) else {}
    return rows, held_out, merge(named, columns)


def _task(directory: RunDirectory, request: TrainingRequest, restart: bool) -> Task[Any]:
    """The task of the run to resume, or of the request."""
    if restart or not directory.exists or directory.latest_checkpoint() is None:
        return task_of_options(request)
    return task_of(load_config(directory))


def _apply_base(
    base: str | Path | None, directory: RunDirectory, request: TrainingRequest, *, restart: bool
) -> TrainingRequest:
    """The request with its base run; a resumed run must have started from the same one."""
    if base is None:
        return request
    latest = directory.latest_checkpoint() if directory.exists and not restart else None
    if latest is None:
        return request.with_base(open_pretrained_run(Path(base)))
    origin = Progress.from_dict(latest.progress()).origin
    if origin.run != str(base):
        begun = f"from {origin}" if origin else "without another run"
        raise ConfigError(
            f"was begun {begun}",
            place=directory.path,
            remedy=Remedy(
                "leave {} out to go on, or choose another {}",
                Setting("base", base),
                Setting("run"),
            ),
        )
    return request
