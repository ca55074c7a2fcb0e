"""Sequences of numbers to labels on three public sets, beside simple classifiers (S1.1, S8).

    python bench/sequences.py --sets FOLDER [--only JapaneseVowels] [--seeds 3]

FOLDER holds `NAME/NAME_TRAIN.ts` and `NAME/NAME_TEST.ts`, as they lie in the wheels of aeon and
sktime under `datasets/data`: unpack one of them, or point at the installed package. Nothing of the
sets is kept here. Every number is the accuracy on the whole test part; the options are Seqloom's
automatic ones, chosen without a look at it, and a share of the training part is held out.

The baselines: the nearest training sequence, by Euclidean distance after both are stretched to one
length and by dynamic time warping with a window of a tenth; and multinomial logistic regression on
the stretched sequences, of standardized numbers.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import seqloom

RESULTS = Path(__file__).parent / "results" / "sequences.json"
SETS = ("JapaneseVowels", "BasicMotions", "ArrowHead")
STEPS = 30  # that sequences are stretched to for the linear baseline
WINDOW = 0.1  # of the length, that warping may shift a step by
RIDGE = 1e-3

Table = NDArray[np.float64]


class Labelled(NamedTuple):
    """Sequences (steps, numbers) and their labels."""

    sequences: list[Table]
    labels: list[str]


def read_set(path: Path) -> Labelled:
    """A .ts file: after `@data`, the dimensions of a row with colons between, then its label."""
    sequences, labels, begun = [], [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        if begun and line.strip():
            *dimensions, label = line.strip().split(":")
            columns = [[float(value) for value in each.split(",")] for each in dimensions]
            sequences.append(np.array(columns).T)
            labels.append(label.strip())
        begun = begun or line.strip().lower() == "@data"
    return Labelled(sequences, labels)


def stretch(sequence: Table, steps: int) -> Table:
    """So many steps, evenly apart, with what lies between two read off the line."""
    places = np.linspace(0, len(sequence) - 1, steps)
    numbers = np.arange(len(sequence))
    return np.stack([np.interp(places, numbers, column) for column in sequence.T], axis=1)


def warped_distance(one: Table, other: Table) -> float:
    """The least sum of squared distances along a path that shifts steps within the window."""
    rows, columns = len(one), len(other)
    reach = max(round(WINDOW * max(rows, columns)), abs(rows - columns)) + 1
    costs = ((one[:, None] - other[None]) ** 2).sum(axis=2)
    before = np.full(columns + 1, np.inf)
    before[0] = 0.0
    for row in range(rows):
        here = np.full(columns + 1, np.inf)
        for column in range(max(0, row - reach), min(columns, row + reach + 1)):
            least = min(before[column], before[column + 1], here[column])
            here[column + 1] = costs[row, column] + least
        before = here
    return float(before[-1])


def nearest(train: Labelled, test: Labelled, *, warped: bool) -> float:
    """The accuracy of the label of the nearest training sequence, in per cent."""
    steps = max(map(len, (*train.sequences, *test.sequences)))
    if not warped:
        known = np.stack([stretch(each, steps).ravel() for each in train.sequences])
        asked = np.stack([stretch(each, steps).ravel() for each in test.sequences])
        distances = ((asked[:, None] - known[None]) ** 2).sum(axis=2)
    else:
        distances = np.array(
            [[warped_distance(each, known) for known in train.sequences] for each in test.sequences]
        )
    return accuracy([train.labels[place] for place in distances.argmin(axis=1)], test.labels)


def linear(train: Labelled, test: Labelled) -> float:
    """The accuracy of multinomial logistic regression, in per cent."""
    table, asked = (
        torch.tensor(np.stack([stretch(each, STEPS).ravel() for each in part.sequences]))
        for part in (train, test)
    )
    mean, spread = table.mean(dim=0), table.std(dim=0).clamp_min(1e-9)
    names = sorted(set(train.labels))
    targets = torch.tensor([names.index(label) for label in train.labels])
    layer = nn.Linear(table.shape[1], len(names), dtype=torch.float64)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=300, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(layer((table - mean) / spread), targets)
        loss = loss + RIDGE * layer.weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)  # type: ignore[arg-type]
    found = layer((asked - mean) / spread).argmax(dim=1).tolist()
    return accuracy([names[place] for place in found], test.labels)


def accuracy(outputs: list[str], references: list[str]) -> float:
    """Per cent of the outputs that are right."""
    return 100 * float(
        np.mean([one == other for one, other in zip(outputs, references, strict=True)])
    )


def learnt(train: Labelled, test: Labelled, *, seed: int, options: dict[str, Any]) -> Any:
    """Accuracies in per cent of a model with automatic options, and the seconds of training."""
    folder, began = Path(tempfile.mkdtemp()), time.perf_counter()
    rows = list(zip(train.sequences, train.labels, strict=True))
    quiet = {"samples": 0, "curves": False}
    given = {"source": "vectors", "target": "label", "seed": seed, **options}
    given["training"] = {**quiet, **options.get("training", {})}
    try:
        seqloom.train(rows, folder / "run", options=given)
        seconds = time.perf_counter() - began
        outputs = seqloom.load(folder / "run").predict(test.sequences)
    finally:
        shutil.rmtree(folder)
    return accuracy([each.text for each in outputs], test.labels), seconds


def measure(folder: Path, name: str, seeds: int, options: dict[str, Any]) -> dict[str, Any]:
    """All results on one set."""
    parts = (read_set(folder / name / f"{name}_{part}.ts") for part in ("TRAIN", "TEST"))
    train, test = parts
    lengths = [len(each) for each in (*train.sequences, *test.sequences)]
    found: dict[str, Any] = {
        "rows": [len(train.labels), len(test.labels)],
        "classes": len(set(train.labels)),
        "numbers": train.sequences[0].shape[1],
        "steps": [min(lengths), max(lengths)],
        "nearest, Euclidean": nearest(train, test, warped=False),
        "nearest, warped": nearest(train, test, warped=True),
        "linear": linear(train, test),
    }
    runs = [learnt(train, test, seed=seed + 1, options=options) for seed in range(seeds)]
    return {
        **found,
        "seqloom": [round(value, 2) for value, _ in runs],
        "seconds": [round(seconds, 1) for _, seconds in runs],
    }


def main() -> None:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--options", type=json.loads, default={}, help="as JSON, to try others")
    given = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in given.only:
        found = measure(given.sets, name, given.seeds, given.options)
        print(name, json.dumps(found))
        kept[name] = found
        if not given.options:
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
