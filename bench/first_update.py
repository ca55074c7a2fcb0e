"""Time until the first update of training ends: rows as TSV, and the same as an Arrow table.

    python bench/first_update.py [ROWS]

The pairs are made-up words, of which a few are frequent. Each kind is measured in a process of its
own, from the call of `seqloom.train` on; the table is in memory before.
"""

import itertools
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.csv

import seqloom
from seqloom.runs.progress import TrainingObserver
from seqloom.training import Update

LETTERS = "abcdefghijklmnoprstuvwz"
WORDS = 20_000


class FirstUpdate(Exception):
    """The first update has ended."""


class FirstUpdateObserver(TrainingObserver):
    """Ends training after its first update."""

    def on_update(self, update: Update) -> None:
        raise FirstUpdate


def write_rows(path: Path, rows: int) -> None:
    """Pairs of 3 to 9 words and the same words in reverse."""
    draws = random.Random(1)
    words = ["".join(draws.choices(LETTERS, k=draws.randint(2, 9))) for _ in range(WORDS)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, WORDS + 1)))
    with path.open("w", encoding="utf-8") as file:
        file.write("source\ttarget\n")
        for _ in range(rows):
            row = draws.choices(words, cum_weights=weights, k=draws.randint(3, 9))
            file.write(f"{' '.join(row)}\t{' '.join(reversed(row))}\n")


def measure(kind: str, path: Path) -> str:
    """Wall and processor time until the first update has ended."""
    data: object = path
    if kind == "arrow":
        tabs = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
        data = pyarrow.csv.read_csv(path, parse_options=tabs)
    wall, processor = time.perf_counter(), time.process_time()
    with suppress(FirstUpdate):
        seqloom.train(
            data,
            run=path.with_name(kind),
            options={"training": {"workers": 1}},
            watch=FirstUpdateObserver(),
        )
    seconds = time.perf_counter() - wall
    return f"{kind:6}{seconds:8.1f} s, processor {time.process_time() - processor:.1f} s"


def main() -> None:
    """Measure both, or in a process of its own one of them."""
    if len(sys.argv) == 3:
        print(measure(sys.argv[1], Path(sys.argv[2])), flush=True)
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.tsv"
        write_rows(path, rows)
        for kind in ("tsv", "arrow"):
            subprocess.run([sys.executable, __file__, kind, str(path)], check=True)


if __name__ == "__main__":
    main()
