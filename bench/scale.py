"""Measures training speed by how the cores are used (docs/scale.md).

    python bench/scale.py [--rounds 3] [--updates 40] [--quick]

Settings: one process with one thread, one process with two, two local workers with one thread each,
and two ranks of torchrun. All train model (i) of the project's benchmarks, a Transformer of 7.6 M
parameters on Multi30k German to English, whose files lie in the folder that SEQLOOM_SHARED_DATA
names, on the same global batches of about 4,096 positions. In each round every setting has one run
of its own; a run's speed is target tokens a second over its updates but the first ten, and a
setting's is the median over rounds. --quick is a small model on made-up rows, to try this program.
The table is printed, kept in bench/results/scale.json and written into docs/scale.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import multi30k
from foundation import RESULTS, ROOT, surroundings, write_between

from seqloom.api.train import train
from seqloom.config import merge
from seqloom.runs.progress import SilentObserver
from seqloom.training import Update

PAGE = ROOT / "docs" / "scale.md"
MARKS = ("<!-- written by bench/scale.py -->", "<!-- end -->")
WARM_UP = 10  # updates
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
STACK = {"width": 32, "inner": 128, "layers": 1}
TEXT = {"unit": "character"}
SMALL: dict[str, Any] = {
    "source": TEXT,
    "target": TEXT,
    "model": {"embedding": 32, "encoder": STACK, "decoder": STACK},
    "training": {"batch_tokens": 256},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "1 process, 1 thread": {"threads": 1, "workers": 1},
    "1 process, 2 threads": {"threads": 2, "workers": 1},
    "2 workers, 1 thread each": {"threads": 1, "workers": 2},
    "torchrun with 2 ranks, 1 thread each": {"threads": 1, "workers": 1, "launcher": TORCHRUN},
}


class Meter(SilentObserver):
    """Counts target tokens and seconds after the first updates."""

    def __init__(self) -> None:
        self.tokens = 0
        self.began = self.ended = 0.0

    def on_update(self, update: Update) -> None:
        self.ended = time.perf_counter()
        if update.step <= WARM_UP:
            self.began = self.ended
        else:
            self.tokens += update.tokens

    @property
    def speed(self) -> float:
        """Target tokens a second."""
        return self.tokens / (self.ended - self.began)


def options(arguments: argparse.Namespace, workers: int) -> dict[str, Any]:
    """Model (i), or a small one, for so many updates and one validation at the end."""
    training = {
        "updates": arguments.updates,
        "validate_every": arguments.updates,
        "workers": workers,
        "average": "none",
    }
    chosen = multi30k.options("transformer", training)
    return merge(chosen, SMALL) if arguments.quick else chosen


def data(quick: bool) -> tuple[Any, Any]:
    """Rows to learn from and held-out ones."""
    if quick:
        rows = [(f"{n * 7919 % 100_003}", f"{n * 104_729 % 100_003}") for n in range(2_000)]
        return rows[50:], rows[:50]
    return multi30k.data("train"), multi30k.data("val")


def measure_here(arguments: argparse.Namespace) -> None:
    """Be one run; its speed goes to standard output, from the first rank only."""
    rows, held_out = data(arguments.quick)
    meter = Meter()
    run = Path(arguments.run)
    train(rows, run, valid=held_out, options=options(arguments, arguments.workers), watch=meter)
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps(meter.speed))


def measured(setting: dict[str, Any], arguments: argparse.Namespace) -> float:
    """Target tokens a second of one run, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="seqloom-") as folder:
        program = [str(Path(__file__)), "--updates", str(arguments.updates)]
        program += ["--in", folder, "--workers", str(setting["workers"])]
        program += ["--quick"] if arguments.quick else []
        done = subprocess.run(
            [sys.executable, *setting.get("launcher", []), *program],
            env={**os.environ, "OMP_NUM_THREADS": str(setting["threads"])},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return float(json.loads(done.stdout))


def table(speeds: dict[str, list[float]]) -> list[str]:
    """A row for each setting, with its ratio to the first within each round."""
    first = next(iter(speeds.values()))
    lines = ["| how the cores are used | target tokens/s | ratio |", "| --- | --- | --- |"]
    for name, found in speeds.items():
        ratio = statistics.median(a / b for a, b in zip(found, first, strict=True))
        lines.append(f"| {name} | {statistics.median(found):,.0f} | {ratio:.2f} |")
    return lines


def keep(lines: list[str], result: dict[str, Any]) -> None:
    """Write the results and the table."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "scale.json").write_text(json.dumps(result, indent=1) + "\n")
    around = result["surroundings"]
    where = (
        f"`python bench/scale.py`, {around['date']}, {around['cores']} cores of "
        f"{around['processor']}, torch {around['torch']}, load {around['load']:.1f}, medians of "
        f"{result['rounds']} rounds of {result['updates']} updates:"
    )
    write_between(MARKS, ["", where, "", *lines, ""], PAGE)


def main() -> None:
    """Measure all settings in turn, round after round."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--in", dest="run", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        measure_here(arguments)
        return
    speeds: dict[str, list[float]] = {name: [] for name in SETTINGS}
    for number in range(arguments.rounds):
        for name, setting in SETTINGS.items():
            speeds[name].append(measured(setting, arguments))
            print(f"round {number + 1}: {name}: {speeds[name][-1]:,.0f}", flush=True)
    lines = table(speeds)
    print("\n".join(["", *lines]))
    if not arguments.quick:
        around = {**surroundings(), "load": os.getloadavg()[1]}
        result = {"surroundings": around, "rounds": arguments.rounds, "updates": arguments.updates}
        keep(lines, {**result, "tokens_per_second": speeds})


if __name__ == "__main__":
    main()
