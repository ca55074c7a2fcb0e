"""Compares the architectures on the French–English demo set: one cell, one training.

    python bench/architectures.py [--together 2] [--only WORDS] [--table]

Every cell has width 128, batches of 1,024 positions, 10 epochs and one process with one thread;
each is trained from three seeds. Cells run `--together` at a time. Finished cells are kept in
bench/results/architectures.json, so the benchmark can be interrupted; an unfinished cell resumes
from its last checkpoint. At the end, or at once with `--table`, docs/comparison.md is written.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from foundation import RESULTS, ROOT, RUNS, SEQLOOM, evaluation, output_of, surroundings

from seqloom.data import Batches, Corpus

SEEDS = (1, 2, 3)
EPOCHS = 10
WIDTH = 128
RESULT = RESULTS / "architectures.json"
DATA = RUNS / "architectures" / "data"

UNITS = {
    "elman": ["unit=elman"],
    "lstm": ["unit=lstm"],
    "gru": ["unit=gru"],
    "gru, reset after": ["unit=gru", "unit.reset=after"],
    "ssru": ["unit=ssru"],
}
ATTENTIONS = {
    "none": ["attention=none"],
    "additive": ["attention.score=additive"],
    "general": ["attention.score=general"],
    "dot": ["attention.score=dot"],
}
FORMS = {
    "(a) state only": ["feedback=none", "attention=none"],
    "(b) previous output": ["attention=none"],
    "(c) and the code, at every input": ["code=input", "attention=none"],
    "(d) and at every output": ["code=input-output", "attention=none"],
    "(e) attention (general)": ["attention.score=general"],
    "(e) with input feeding": ["attention.score=general", "attention.feed=true"],
    "(e) asked by the previous state": ["attention.score=general", "attention.query=previous"],
    "(e) local around the step": ["attention=local", "attention.centre=time", "attention.window=3"],
    "(e) local, predicted": ["attention=local", "attention.window=3"],
    "(e) with four heads": ["attention.score=general", "attention.heads=4"],
    "(f) the code as first input": ["feedback=none", "code=first", "attention=none"],
    "(g) one network": ["first_state=read", "attention=none"],
    "soft feedback": ["feedback=soft", "attention=none"],
    "code added to the output": ["code=input", "join=sum", "attention=none"],
}
TRANSFORMERS = ("transformer", "fast")


class Cell(NamedTuple):
    """One architecture: its differences from the preset."""

    name: str
    preset: str
    options: tuple[str, ...]


def recurrent(name: str, unit: list[str], decoder: list[str]) -> Cell:
    """One layer from both ends, one that writes; every state has 128 values."""
    reading = [f"model.encoder.{each}" for each in unit]
    reading += [f"model.encoder.width={WIDTH // 2}", "model.encoder.layers=1"]
    if "first_state=read" in decoder:
        reading = ["model.encoder.kind=vectors"]
    writing = [f"model.decoder.{each}" for each in [*unit, *decoder, f"width={WIDTH}"]]
    return Cell(name, "lstm", (*reading, *writing))


def cells() -> dict[str, Cell]:
    """Every cell of the tables by name; a cell may appear in both."""
    found = [
        recurrent(f"{unit}/{attention}", UNITS[unit], ATTENTIONS[attention])
        for unit in UNITS
        for attention in ATTENTIONS
    ]
    found += [recurrent(form_cell(form), UNITS["lstm"], FORMS[form]) for form in FORMS]
    found += [Cell(preset, preset, ()) for preset in TRANSFORMERS]
    return {cell.name: cell for cell in found}


def form_cell(form: str) -> str:
    """The name of a form's cell: two of the forms are cells of the units' table."""
    shared = {"(b) previous output": "lstm/none", "(e) attention (general)": "lstm/general"}
    return shared.get(form, f"form {form}")


def prepared() -> int:
    """Fetch the data once; the number of updates that are ten epochs of it."""
    output_of([*SEQLOOM, "data", "french", "--to", str(DATA)])
    run = RUNS / "architectures" / "lengths"
    train(Cell("", "lstm", ()), run, seed=1, updates=1)
    corpus = Corpus.open(run / "cache" / "train")
    batches = Batches(corpus.lengths, tokens=1_024, seed=1)
    return sum(batches.per_epoch(epoch) for epoch in range(EPOCHS))


def train(cell: Cell, run: Path, *, seed: int, updates: int) -> float:
    """Train or resume; return the processor seconds."""
    options = [
        f"seed={seed}",
        f"model.embedding={WIDTH}",
        f"training.updates={updates}",
        f"training.validate_every={updates}",
        "training.batch_tokens=1024",
        "training.average=none",
        "training.monitor=loss",
        "training.patience=0",
        "training.samples=0",
        "training.workers=1",
        *cell.options,
    ]
    command = [*SEQLOOM, "train", str(DATA / "train.tsv"), "--valid", str(DATA / "valid.tsv")]
    command += ["--model", cell.preset, "--run", str(run)]
    command += [word for option in options for word in ("--set", option)]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=alone, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{cell.name}: training ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure(cell: Cell, seed: int, updates: int) -> dict[str, Any]:
    """One training from one seed, and its scores on the test rows."""
    run = RUNS / "architectures" / f"{''.join(filter(str.isalnum, cell.name))}-{seed}"
    began = time.perf_counter()
    seconds = train(cell, run, seed=seed, updates=updates)
    wall = time.perf_counter() - began
    scores = evaluation(run, str(DATA / "test.tsv"), "--beam", "5")["scores"]
    (bleu,) = [score for score in scores if score["name"] == "BLEU"]
    return {
        "seconds": seconds,
        "wall": wall,
        "updates": updates,
        "parameters": parameters(run),
        **{name: bleu[name] for name in ("value", "low", "high")},
    }


def parameters(run: Path) -> int:
    """The number of a run's parameters, from the headers of its newest step."""
    from safetensors import safe_open

    path = max(run.glob("step-*")) / "model.safetensors"
    with safe_open(path, framework="numpy") as file:
        names = file.keys()
        return sum(math.prod(file.get_slice(name).get_shape()) for name in names)


def load() -> dict[str, Any]:
    """The results so far."""
    return json.loads(RESULT.read_text()) if RESULT.exists() else {"cells": {}}


def missing(words: list[str]) -> Iterator[tuple[Cell, int]]:
    """Cells that were not measured yet, one seed after the other."""
    done = load()["cells"]
    for seed in SEEDS:
        for cell in cells().values():
            if f"{cell.name} #{seed}" not in done and all(word in cell.name for word in words):
                yield cell, seed


def main() -> None:
    """Measure missing cells and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--together", type=int, default=2, help="cells trained at a time")
    arguments.add_argument("--only", nargs="*", default=[], help="cells with these in their names")
    arguments.add_argument("--table", action="store_true", help="only write the page")
    asked = arguments.parse_args()
    todo = [] if asked.table else list(missing(asked.only))
    updates = prepared() if todo else 0
    writing = Lock()

    def work(task: tuple[Cell, int]) -> None:
        cell, seed = task
        result = measure(cell, seed, updates)
        with writing:
            found = load()
            found["cells"][f"{cell.name} #{seed}"] = result
            found["surroundings"] = surroundings()
            RESULT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
            print(f"{cell.name} #{seed}: BLEU {result['value']:.1f}, {result['seconds']:.0f} s")

    with ThreadPoolExecutor(asked.together) as pool:
        for _ in pool.map(work, todo):
            pass
    subprocess.run([sys.executable, str(ROOT / "bench" / "comparison.py")], check=True)


if __name__ == "__main__":
    main()
