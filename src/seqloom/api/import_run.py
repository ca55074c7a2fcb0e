"""A model from elsewhere as a run."""

from pathlib import Path

from seqloom.config import dump
from seqloom.errors import ConfigError
from seqloom.export import read_checkpoint
from seqloom.remedies import Remedy, Setting
from seqloom.runs.prepare import save_fields
from seqloom.runs.progress import Origin, Progress
from seqloom.store import RunDirectory

__all__ = ["import_run"]


def import_run(folder: str | Path, run: str | Path) -> Path:
    """Make a run of a Marian-type checkpoint as Hugging Face transformers saves it.

    It is used as any other, and fine-tuned with `train(..., base=run)`. Nothing is written where
    the checkpoint cannot be read.
    """
    directory = RunDirectory(Path(run))
    if directory.exists:
        raise ConfigError(
            "a run is already there",
            place=directory.path,
            remedy=Remedy("remove it, or choose another {}", Setting("run")),
        )
    directory.require_usable_steps()
    model = read_checkpoint(Path(folder))
    with directory.lock():
        save_fields(directory, model.source, model.target)
        directory.create(dump(model.config))
        progress = Progress(origin=Origin(words=f"the checkpoint {folder}"))
        directory.save_checkpoint(0, {"model": model.weights}, progress=progress.as_dict())
    return directory.path
