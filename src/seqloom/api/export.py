"""A run handed to another runtime, which must then say what the run says."""

import shutil
from itertools import islice
from pathlib import Path

import numpy as np

from seqloom.api.use import load_writer
from seqloom.data import Corpus, read_lines, spread
from seqloom.errors import ConfigError, DataError, RunError, SeqloomError
from seqloom.export import Agreement, compare, export_ctranslate2
from seqloom.prediction import Model
from seqloom.store import RunDirectory

__all__ = ["export"]

SENTENCES = 100  # inputs that both runtimes are given
NEAR = 1e-3  # largest difference of a log-probability that single precision explains


def export(
    run: str | Path, output: str | Path, *, to: str = "ctranslate2", check: Path | None = None
) -> Agreement:
    """Write a run's model for another runtime, and compare the two on some inputs.

    The inputs are the first lines of `check`, or else held-out rows of the run. Where the export
    does not give the model's probabilities it is removed again, and that is an error.
    """
    if to != "ctranslate2":
        raise ConfigError(f"--to {to}: choose ctranslate2")
    model, folder = load_writer(run), Path(output)
    rows = _held_out(Path(run)) if check is None else _given(model, check)
    export_ctranslate2(model, folder)
    agreement = compare(model, folder, rows)
    if not agreement.furthest <= NEAR:
        shutil.rmtree(folder)
        raise SeqloomError(
            f"{folder}: removed, since it does not give what {run} gives ({agreement}); "
            "please report this"
        )
    return agreement


def _held_out(run: Path) -> list[np.ndarray]:
    """Sources of held-out rows, spread over all of them, each ending in `<end>`."""
    try:
        corpus = Corpus.open(RunDirectory(run).cache_directory / "valid")
    except RunError:
        raise RunError(
            f"{run}: its held-out rows are not there to compare outputs on; "
            "name a file of inputs with --check"
        ) from None
    chosen = spread(len(corpus), SENTENCES)
    batch = corpus.batch(chosen)
    return [ids[:length] for ids, length in zip(batch.source, batch.source_lengths, strict=True)]


def _given(model: Model, file: Path) -> list[np.ndarray]:
    """The first lines of a file that are not blank, as the model reads them."""
    options = model.config.data
    lines = (line for line in read_lines(file, max_line=options.max_line) if line.strip())
    texts = list(islice(lines, SENTENCES))
    if not texts:
        raise DataError(f"{file}: has no line to compare outputs on; give one with content")
    reader = model.inputs
    return [reader.encoded(0, row).values for row in model.source.rows(texts)]
