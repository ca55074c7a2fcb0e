"""Export a run to another runtime, checked for equal output; import a foreign model as a run."""

import shutil
from itertools import islice
from pathlib import Path

import numpy as np

from seqloom.api.load import load
from seqloom.config import RUNTIMES, dump
from seqloom.data import Corpus, InputFile, even_indices
from seqloom.errors import ConfigError, DataError, RunError, SeqloomError
from seqloom.export import Agreement, Runtime, read_checkpoint
from seqloom.prediction import Predictor
from seqloom.remedies import Remedy, Setting
from seqloom.runs.prepare import save_fields
from seqloom.runs.progress import Origin, Progress
from seqloom.store import RunDirectory

__all__ = ["export", "import_run"]

SENTENCES = 100  # inputs on which both runtimes are compared
TOLERANCE = 1e-3  # largest difference of log-probabilities in single precision


def export(
    run: str | Path, output: str | Path, *, to: str = "ctranslate2", check: Path | None = None
) -> Agreement:
    """Export a run's model to another runtime, and compare the two on some inputs.

    The inputs are the first lines of `check`, or else held-out rows of the run. An export that
    gives other probabilities is removed and raises an error.
    """
    runtime: Runtime = RUNTIMES.parts[to]()
    model, folder = load(run), Path(output)
    rows = _validation_sources(Path(run)) if check is None else _read_inputs(model, check)
    runtime.write(model, folder)
    agreement = runtime.compare(model, folder, rows)
    if not agreement.max_difference <= TOLERANCE:
        shutil.rmtree(folder)
        raise SeqloomError(
            f"removed, since it does not give what {run} gives ({agreement})",
            place=folder,
            remedy="please report this",
        )
    return agreement


def _validation_sources(run: Path) -> list[np.ndarray]:
    """Sources of evenly spaced held-out rows, each ending in `<end>`."""
    try:
        corpus = Corpus.open(RunDirectory(run).cache_directory / "valid")
    except RunError:
        raise RunError(
            "its held-out rows are not there to compare outputs on",
            place=run,
            remedy=Remedy("name a file of inputs with {}", Setting("check")),
        ) from None
    chosen = even_indices(len(corpus), SENTENCES)
    batch = corpus.batch(chosen)
    return [ids[:length] for ids, length in zip(batch.source, batch.source_lengths, strict=True)]


def _read_inputs(model: Predictor, file: Path) -> list[np.ndarray]:
    """The first nonblank lines of a file, encoded."""
    lines = (cell for cell in InputFile(file, model.config.data).cells() if cell.strip())
    texts = list(islice(lines, SENTENCES))
    if not texts:
        raise DataError(
            "has no line to compare outputs on", place=file, remedy="give one with content"
        )
    reader = model.input_reader
    return [reader.truncate(0, row).values for row in model.source.rows(texts)]


def import_run(folder: str | Path, run: str | Path) -> Path:
    """Make a run from a Marian-type checkpoint of Hugging Face transformers.

    Use it like any other run, or fine-tune it with `train(..., base=run)`. Nothing is written if
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
