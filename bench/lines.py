"""Measures `predict` on many lines: speed, memory, a kill in the middle, and ranks of torchrun.

    python bench/lines.py [--lines 1000000]

A small model learns to reverse strings of four letters and is optimised. `predict --output` reads
made-up lines, is killed with SIGKILL when half of the parts exist, and is continued with --resume;
two ranks of torchrun then write the same lines. Both outputs have to be the same bytes, with one
line for each input. Memory is as in bench/rows.py. Results are kept in bench/results/lines.json and
written into docs/scale.md.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from foundation import RESULTS, ROOT, SEQLOOM, surroundings, write_between
from rows import used_memory

PAGE = ROOT / "docs" / "scale.md"
FILE = RESULTS / "lines.json"
MARKS = ("<!-- written by bench/lines.py -->", "<!-- end of lines -->")
LETTERS, LENGTH, PART = 20, 4, 4_096
UPDATES = 400
SAMPLED_EVERY = 1.0  # seconds between two readings of memory
STACK = ["kind=transformer", "width=32", "inner=64", "heads=2", "layers=1"]
RANKS = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def write_lines(path: Path, lines: int, *, seed: int, reversed_too: bool = False) -> None:
    """Random strings, perhaps with their reversed forms after a tab."""
    drawn = np.random.default_rng(seed).integers(0, LETTERS, (lines, LENGTH)) + ord("a")
    texts = drawn.astype(np.uint8).tobytes().decode()
    with path.open("w") as file:
        for start in range(0, len(texts), LENGTH):
            text = texts[start : start + LENGTH]
            file.write(f"{text}\t{text[::-1]}\n" if reversed_too else f"{text}\n")


def make_model(folder: Path) -> Path:
    """A small optimised run."""
    table, run = folder / "pairs.tsv", folder / "run"
    write_lines(table, 5_000, seed=1, reversed_too=True)
    shape = [f"--set=model.{part}.{each}" for part in ("encoder", "decoder") for each in STACK]
    options = ["--set=model.embedding=32", f"--set=training.updates={UPDATES}", *shape]
    for words in (["train", str(table), "--run", str(run), *options], ["optimize", str(run)]):
        subprocess.run([*SEQLOOM, *words], check=True, stdout=subprocess.DEVNULL)
    return run


def run_until(command: list[str], *, enough: Callable[[], bool]) -> dict[str, float]:
    """Run a command to its end, or kill it once a condition holds; return its wall and processor
    seconds, and the peak of memory in the first and the second half of that time.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    memory: list[int] = []
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    ) as process:
        while process.poll() is None:
            memory.append(used_memory(process.pid))
            if enough():
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(SAMPLED_EVERY)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    half = len(memory) // 2
    first, second = max(memory[: half or 1]), max(memory[half:])
    return {"seconds": time.perf_counter() - began, "busy": busy, "first": first, "second": second}


def measure(folder: Path, lines: int) -> dict[str, Any]:
    """Both ways to write the outputs of the lines."""
    run, given = make_model(folder), folder / "lines.txt"
    write_lines(given, lines, seed=2)
    broken, shared = folder / "broken.out", folder / "shared.out"
    words = ["predict", str(run), str(given), "--beam", "1", "--output"]
    half = lines // PART // 2
    parts = broken.with_name(f"{broken.name}.parts")

    def is_half() -> bool:
        return parts.is_dir() and len(list(parts.glob("*"))) > half

    killed = run_until([*SEQLOOM, *words, str(broken)], enough=is_half)
    resumed = run_until([*SEQLOOM, *words, str(broken), "--resume"], enough=lambda: False)
    ranks = run_until([*RANKS, "-m", "seqloom", "--", *words, str(shared)], enough=lambda: False)
    one, other = (each.read_text().split("\n") for each in (broken, shared))
    if one != other or len(one) != lines + 1:
        sys.exit(f"{len(one) - 1:,} and {len(other) - 1:,} lines for {lines:,}, or not the same")
    inputs = given.read_text().split("\n")
    right = sum(text[::-1] == output for text, output in zip(inputs, one, strict=True)) - 1
    return {"lines": lines, "killed": killed, "resumed": resumed, "ranks": ranks, "right": right}


def table(result: dict[str, Any]) -> list[str]:
    """A row for each command."""
    names = {
        "killed": "`predict --output`, killed with half of the parts done",
        "resumed": "the same with `--resume`",
        "ranks": "two ranks of torchrun, all lines",
    }
    lines = [
        "| | processor, s | seconds | memory, GB: first half, second half |",
        "| --- " * 4 + "|",
    ]
    for name, words in names.items():
        each = result[name]
        memory = f"{each['first'] / 1e9:.2f}, {each['second'] / 1e9:.2f}"
        lines.append(f"| {words} | {each['busy']:.0f} | {each['seconds']:.0f} | {memory} |")
    return lines


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--lines", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seqloom-") as folder:
        result = measure(Path(folder), arguments.lines)
    around = {**surroundings(), "load": os.getloadavg()[1]}
    FILE.write_text(json.dumps({"surroundings": around, "result": result}, indent=1) + "\n")
    share = result["right"] / result["lines"]
    where = (
        f"`python bench/lines.py --lines {result['lines']}`, {around['date']}, {around['cores']} "
        f"cores of {around['processor']}, load {around['load']:.0f}: {result['lines']:,} strings "
        f"of {LENGTH} letters, a Transformer of width 32 ({share:.1%} right). Both outputs are the "
        "same bytes, one line for each input:"
    )
    write_between(MARKS, ["", where, "", *table(result), ""], PAGE)
    print("\n".join(table(result)))


if __name__ == "__main__":
    main()
