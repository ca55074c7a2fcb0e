"""The teachers' distributions for every position of the training targets, stored beside the run.

RUN/distilled/positions/  teachers.json   whose distributions these are
                              symbols         the likeliest of each position (int32)
                              probabilities   theirs (float16)

Positions are stored in the order of the encoded rows and appended by group, so that an interrupted
session continues with bit-identical results.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.config import Config, TeachingConfig
from seqloom.data import Corpus
from seqloom.errors import ConfigError, RunError
from seqloom.fields import EMPTY, Field
from seqloom.model import Network, Source, build
from seqloom.model.networks import load_weights
from seqloom.runs.contents import best_step, load_config, load_fields, model_weights
from seqloom.runs.progress import TrainingObserver
from seqloom.store import RunDirectory, durable
from seqloom.training import Example, SoftTargets, likeliest_symbols, position_scores

__all__ = [
    "TaughtPositions",
    "claim_folder",
    "teacher_fields",
    "write_taught_positions",
]

FOLDER, TEACHERS = ("distilled", "positions"), "teachers.json"
FILES: dict[str, np.dtype[Any]] = {"symbols": np.dtype("<i4"), "probabilities": np.dtype("<f2")}
GROUP = 64  # rows per batch of the teachers


def teacher_fields(teaching: TeachingConfig) -> tuple[Field, Field]:
    """The fields of the first teacher; ConfigError if another teacher's differ."""
    found = [_fields(run) for run in teaching.runs]
    marks = [[side.fingerprint for side in fields] for fields in found]
    for run, mark in zip(teaching.runs, marks, strict=True):
        if mark != marks[0]:
            raise ConfigError(
                f"has another vocabulary than {teaching.runs[0]}",
                place=run,
                remedy="give teachers of one vocabulary",
            )
    return found[0]


def write_taught_positions(
    directory: RunDirectory, config: Config, corpus: Corpus, watch: TrainingObserver
) -> None:
    """Run the teachers on all training rows, continuing from what is stored."""
    teaching, folder = config.training.teaching, directory.path.joinpath(*FOLDER)
    other = "other teachers, temperature or rows"
    claim_folder(folder, _identity(teaching, corpus), directory.path, other=other)
    ends = np.concatenate([[0], np.cumsum(corpus.lengths.target, dtype=np.int64)])
    done = _complete_rows(folder, ends, teaching.symbols)
    if done == len(corpus):
        return
    teachers = [_network(run) for run in teaching.runs]
    for first in range(done, len(corpus), GROUP):
        rows = np.arange(first, min(first + GROUP, len(corpus)))
        found = _ask(teachers, corpus, rows, teaching)
        for (name, kind), values in zip(FILES.items(), found, strict=True):
            with durable.run_errors(folder / name):
                durable.append(folder / name, values.astype(kind).tobytes())
        if first % (GROUP * 16) == 0:
            watch.on_message(f"distributions of the teachers: {rows[-1] + 1:,} rows")


class TaughtPositions:
    """The teachers' distributions for the training rows, memory-mapped."""

    def __init__(self, directory: RunDirectory, config: Config, corpus: Corpus) -> None:
        folder, self.teaching = directory.path.joinpath(*FOLDER), config.training.teaching
        self.lengths = corpus.lengths.target
        self.ends = np.cumsum(self.lengths, dtype=np.int64)
        with durable.run_errors(folder):
            self.symbols, self.probabilities = (
                np.memmap(folder / name, kind, mode="r").reshape(-1, self.teaching.symbols)
                for name, kind in FILES.items()
            )
        if len(self.symbols) != self.ends[-1] or len(self.probabilities) != self.ends[-1]:
            raise RunError(
                "does not hold every position",
                place=folder,
                remedy="give the command of the run again",
            )

    def batch(self, rows: NDArray[np.integer], width: int) -> SoftTargets:
        """The distributions of these rows, padded to `width` positions."""
        shape = len(rows), width, self.symbols.shape[1]
        symbols, probabilities = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        for place, row in enumerate(rows.tolist()):
            length, end = int(self.lengths[row]), int(self.ends[row])
            symbols[place, :length] = self.symbols[end - length : end]
            probabilities[place, :length] = self.probabilities[end - length : end]
        share, temperature = self.teaching.share, self.teaching.temperature
        arrays = torch.from_numpy(symbols), torch.from_numpy(probabilities)
        return SoftTargets(*arrays, share, temperature)


def _ask(
    teachers: Sequence[Network],
    corpus: Corpus,
    rows: NDArray[np.int64],
    teaching: TeachingConfig,
) -> list[NDArray[Any]]:
    """The most probable symbols at each position of these rows, with their probabilities."""
    batch = corpus.batch(rows)
    source = Source(torch.from_numpy(batch.source), torch.from_numpy(batch.source_lengths))
    target = torch.from_numpy(batch.target)
    if int(target.ne(EMPTY).sum()) != int(batch.target_lengths.sum()):
        raise RunError("a target has symbols that no teacher knows", remedy="leave such rows out")
    scores = [position_scores(model, Example(source, target)) for model in teachers]
    found = likeliest_symbols(scores, temperature=teaching.temperature, most=teaching.symbols)
    missing = teaching.symbols - found[0].shape[1]  # vocabularies may have fewer symbols
    return [np.pad(each.numpy(), ((0, 0), (0, missing))) for each in found]


def _network(run: str) -> Network:
    """A teacher with the weights of its best step."""
    directory = RunDirectory(Path(run))
    config = load_config(directory)
    source, target = load_fields(directory, config)
    network = build(config.model, source=source.items, target=target.items).eval()
    step = best_step(directory)
    with torch.no_grad():
        load_weights(network, model_weights(step), place=str(step.path))
    return network


def _fields(run: str) -> tuple[Field, Field]:
    directory = RunDirectory(Path(run))
    return load_fields(directory, load_config(directory))


def _identity(teaching: TeachingConfig, corpus: Corpus) -> bytes:
    steps = [best_step(RunDirectory(Path(each))) for each in teaching.runs]
    marks = [
        hashlib.sha256((step.path / "manifest.json").read_bytes()).hexdigest() for step in steps
    ]
    facts = {
        "teachers": marks,
        "rows": corpus.fingerprint,
        "temperature": teaching.temperature,
        "symbols": teaching.symbols,
    }
    return json.dumps(facts, indent=1).encode()


def claim_folder(folder: Path, identity: bytes, place: Path, *, other: str) -> None:
    """Create a folder of distributions, or check that the existing one has the same teachers."""
    with durable.run_errors(folder):
        if not (folder / TEACHERS).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            durable.write_file(folder / TEACHERS, identity)
        elif (folder / TEACHERS).read_bytes() != identity:
            raise RunError(
                f"was begun with {other}",
                place=str(place),
                remedy="name another run, or give the same command again",
            )


def _complete_rows(folder: Path, ends: NDArray[np.int64], kept: int) -> int:
    """The number of rows in groups that both files hold completely; the rest is dropped."""
    sizes = {name: kept * kind.itemsize for name, kind in FILES.items()}
    held = [
        (folder / name).stat().st_size // size if (folder / name).is_file() else 0
        for name, size in sizes.items()
    ]
    rows = int(np.searchsorted(ends, min(held), side="right")) - 1
    if rows < len(ends) - 1:
        rows -= rows % GROUP
    for name, size in sizes.items():
        if (folder / name).is_file():
            with durable.run_errors(folder / name), (folder / name).open("r+b") as file:
                file.truncate(int(ends[rows]) * size)
    return rows
