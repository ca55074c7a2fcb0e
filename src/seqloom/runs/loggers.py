"""Loggers besides events.jsonl: TensorBoard and MLflow, extras that are imported only if the option
of `training` with the logger's name is set.
"""

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError, RunError
from seqloom.store.durable import run_errors

__all__ = ["LOGGERS", "LoggedRun", "RunLogger", "check_loggers", "open_loggers"]

UPDATE = {"loss": "loss", "gradient norm": "gradient_norm", "learning rate": "rate"}
LOSSES = {"update": "training/loss", "validation": "held out/loss"}  # by the kind of event
RUN_TAG = "seqloom.run"  # the tag by which a resumed training finds its run
LONGEST_PARAMETER = 6_000  # characters that MLflow accepts


@dataclass(frozen=True)
class LoggedRun:
    """What a logger knows of a run: its directory, the step it resumes from, and its options."""

    directory: Path
    after: int
    options: Mapping[str, Any]


class RunLogger(ABC):
    """Receives the events of a run, in the form of events.jsonl, from one step on."""

    title: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]  # required packages, by module name

    @abstractmethod
    def __init__(self, run: LoggedRun) -> None: ...

    @abstractmethod
    def add_event(self, event: Mapping[str, Any]) -> None:
        """Log the numbers of an event."""

    @abstractmethod
    def add_picture(self, path: Path, step: int) -> None:
        """Log a picture file of the run."""

    @abstractmethod
    def close(self, *, finished: bool) -> None:
        """Flush all output."""


class TensorBoardLogger(RunLogger):
    """Writes event files into the folder `tensorboard` of a run."""

    title = "TensorBoard"
    packages = ("tensorboard",)

    def __init__(self, run: LoggedRun) -> None:
        """Existing figures of later steps are hidden."""
        from torch.utils.tensorboard import SummaryWriter

        self._folder = run.directory / "tensorboard"
        with run_errors(self._folder):
            self._writer = SummaryWriter(str(self._folder), purge_step=run.after + 1)

    def add_event(self, event: Mapping[str, Any]) -> None:
        with run_errors(self._folder):
            for title, value in _scalars(event):
                self._writer.add_scalar(title, value, event["step"])

    def add_picture(self, path: Path, step: int) -> None:
        import numpy as np
        from PIL import Image

        with run_errors(self._folder), Image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB"))
            self._writer.add_image(path.stem, pixels, step, dataformats="HWC")

    def close(self, *, finished: bool) -> None:
        with run_errors(self._folder):
            self._writer.close()


class MLflowLogger(RunLogger):
    """Writes to MLflow's local store: the database mlflow.db beside the run, which runs share.

    MLFLOW_TRACKING_URI selects another store, as usual for MLflow.
    """

    title = "MLflow"
    packages = ("mlflow", "sqlalchemy", "alembic")

    def __init__(self, run: LoggedRun) -> None:
        """A resumed run continues in the store, without duplicate steps."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # before the import
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
        from mlflow.tracking import MlflowClient

        beside = run.directory.absolute().parent
        local = f"sqlite:///{beside / 'mlflow.db'}"
        self._place = os.environ.get("MLFLOW_TRACKING_URI") or local
        with self._errors():
            self._client = MlflowClient(tracking_uri=self._place)
            artifacts = (beside / "mlflow-artifacts").as_uri() if self._place == local else None
            self._id = self._find_or_create(run, artifacts)
            self._last = {kind: self._last_step(title) for kind, title in LOSSES.items()}

    def _last_step(self, title: str) -> int:
        history = self._client.get_metric_history(self._id, title)
        return max((each.step for each in history), default=-1)

    def _find_or_create(self, run: LoggedRun, artifacts: str | None) -> str:
        """The id of the run in the store."""
        client, name = self._client, str(run.directory.absolute())
        known = client.get_experiment_by_name("seqloom")
        experiment = (
            client.create_experiment("seqloom", artifact_location=artifacts)
            if known is None
            else known.experiment_id
        )
        quoted = name.replace("'", "\\'")
        found = client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{quoted}'", max_results=1)
        if found and run.after:
            client.update_run(found[0].info.run_id, status="RUNNING")
            return str(found[0].info.run_id)
        made = client.create_run(experiment, run_name=run.directory.name, tags={RUN_TAG: name})
        for option, value in run.options.items():
            client.log_param(made.info.run_id, option, str(value)[:LONGEST_PARAMETER])
        return str(made.info.run_id)

    def add_event(self, event: Mapping[str, Any]) -> None:
        from mlflow.entities import Metric

        if event["step"] <= self._last[event["event"]]:
            return  # recreated identically after a crash
        now = int(1_000 * time.time())
        with self._errors():
            self._client.log_batch(
                self._id,
                metrics=[
                    Metric(re.sub(r"[^/\w.\- :]", "_", title), value, now, event["step"])
                    for title, value in _scalars(event)
                ],
            )

    def add_picture(self, path: Path, step: int) -> None:
        with self._errors():
            self._client.log_artifact(self._id, str(path), "pictures")

    def close(self, *, finished: bool) -> None:
        with self._errors():
            self._client.set_terminated(self._id, "FINISHED" if finished else "KILLED")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of the store into a RunError with a remedy."""
        from mlflow.exceptions import MlflowException

        try:
            yield
        except (MlflowException, OSError) as error:
            problem = f"MLflow's store refuses the figures ({str(error).splitlines()[0]})"
            raise RunError(
                problem, place=self._place, remedy="mend it, or set training.mlflow=false"
            ) from error


LOGGERS: Mapping[str, type[RunLogger]] = {
    "tensorboard": TensorBoardLogger,
    "mlflow": MLflowLogger,
}
"""Each logger by the option of `training` that asks for it, which is also the name of its extra."""


def check_loggers(training: TrainingConfig) -> None:
    """Raise ConfigError if a requested logger is not installed."""
    for name, kind in _active_loggers(training):
        if any(_is_missing(package) for package in kind.packages):
            raise ConfigError(
                f"training.{name} = true: {kind.title} is not installed",
                remedy=f"pip install 'seqloom[{name}]'",
            )


@contextmanager
def open_loggers(training: TrainingConfig, run: LoggedRun) -> Iterator[list[RunLogger]]:
    """Open the requested loggers for one session of a run."""
    finished = False
    with ExitStack() as stack:
        opened = [kind(run) for _, kind in _active_loggers(training)]
        for logger in opened:
            stack.callback(lambda each: each.close(finished=finished), logger)
        yield opened
        finished = True


def _active_loggers(training: TrainingConfig) -> Iterator[tuple[str, type[RunLogger]]]:
    return ((name, kind) for name, kind in LOGGERS.items() if getattr(training, name))


def _is_missing(package: str) -> bool:
    try:
        return find_spec(package) is None
    except ValueError:  # deliberately hidden
        return True


def _scalars(event: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each number of an event with its title."""
    if event["event"] == "update":
        yield from ((f"training/{title}", event[name]) for title, name in UPDATE.items())
    if event["event"] == "validation":
        yield "held out/loss", event["loss"]
        yield from ((f"held out/{name}", value) for name, value in event["scores"].items())
