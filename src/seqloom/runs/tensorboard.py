"""A run's figures for TensorBoard, which is an extra and imported only when asked for."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from seqloom.errors import ConfigError
from seqloom.store.durable import run_errors

__all__ = ["TensorBoardLog", "check_tensorboard", "open_tensorboard"]

UPDATE = {"loss": "loss", "gradient norm": "gradient_norm", "learning rate": "rate"}


def check_tensorboard() -> None:
    """ConfigError where TensorBoard, which training.tensorboard asks for, is not installed."""
    if find_spec("tensorboard") is None:
        raise ConfigError(
            "training.tensorboard = true: TensorBoard is not installed",
            remedy="pip install 'seqloom[tensorboard]'",
        )


class TensorBoardLog:
    """Takes the events of a run, as events.jsonl has them, from one step on."""

    def __init__(self, folder: Path, *, after: int) -> None:
        """Figures of later steps than `after` that are there already are hidden from now on."""
        from torch.utils.tensorboard import SummaryWriter

        self._folder = folder
        with run_errors(folder):
            self._writer = SummaryWriter(str(folder), purge_step=after + 1)

    def add_event(self, event: Mapping[str, Any]) -> None:
        """Add what TensorBoard can draw of an event."""
        with run_errors(self._folder):
            for title, value in _scalars(event):
                self._writer.add_scalar(title, value, event["step"])

    def close(self) -> None:
        """Wait until all of it is written."""
        with run_errors(self._folder):
            self._writer.close()


def _scalars(event: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each number with the title under which it is drawn."""
    if event["event"] == "update":
        yield from ((f"training/{title}", event[name]) for title, name in UPDATE.items())
    if event["event"] == "validation":
        yield "held out/loss", event["loss"]
        yield from ((f"held out/{name}", value) for name, value in event["scores"].items())


@contextmanager
def open_tensorboard(run: Path, *, after: int) -> Iterator[TensorBoardLog]:
    """The board of a run, in its folder `tensorboard`."""
    shown = TensorBoardLog(run / "tensorboard", after=after)
    try:
        yield shown
    finally:
        shown.close()
