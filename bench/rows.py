"""Measures how long millions of rows take up to the first update, and how much memory they need.

    python bench/rows.py [--rows 10000000] [--units word,character,subword] [--no-check]

Pairs of 12 made-up words each are written into a temporary folder. `seqloom check` and the
preparation of a training are then run in processes of their own, up to the first update: the survey
with the choice of held-out rows, the vocabulary, and the encoded corpora. Memory is the largest sum
over the processes of a command of what each has for itself and its share of what they have in
common (PSS). Results are kept in bench/results/rows.json and written into docs/scale.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from foundation import RESULTS, ROOT, SEQLOOM, surroundings, write_between

PAGE = ROOT / "docs" / "scale.md"
FILE = RESULTS / "rows.json"
MARKS = ("<!-- written by bench/rows.py -->", "<!-- end of rows -->")
CORES = 2
WORDS, VOCABULARY, DIFFERENT = 12, 50_000, 100_000
SAMPLED_EVERY = 0.5  # seconds between two readings of memory
PHASES = {
    "reading the data": "survey",
    "learning the vocabulary": "vocabulary",
    "encoding the training rows": "encoding",
}


def pairs(rows: int) -> Iterator[str]:
    """Lines of two texts of words whose counts fall as in a language; from some number on, earlier
    pairs with their words in another order."""
    chance = np.random.default_rng(1)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    lengths = chance.integers(2, 10, VOCABULARY)
    drawn = ("".join(letters[np.minimum(chance.geometric(0.12, n), 22) - 1]) for n in lengths)
    words = np.array(list(dict.fromkeys(drawn)), dtype=object)
    shares = np.cumsum(1 / np.arange(1, len(words) + 1))
    found = np.searchsorted(shares / shares[-1], chance.random((DIFFERENT, 2 * WORDS)))
    texts = words[found].tolist()
    for number in range(rows):
        turn, row = divmod(number, DIFFERENT)
        one, other = texts[row][:WORDS], texts[(row + turn) % DIFFERENT][WORDS:]
        turn %= WORDS
        yield f"{' '.join(one[turn:] + one[:turn])}\t{' '.join(other[turn:] + other[:turn])}\n"


def prepare_here(data: str, unit: str) -> None:
    """Prepare a training up to its first update; prints the processor seconds of each phase."""
    from seqloom.api.train import train
    from seqloom.runs.progress import Plan, SilentObserver

    class Phases(SilentObserver):
        """Notes when each phase begins, and ends with the last."""

        def __init__(self) -> None:
            self.began: list[tuple[str, float]] = []

        def on_message(self, sentence: str) -> None:
            if sentence in PHASES:
                self.began.append((PHASES[sentence], used_processor()))

        def on_start(self, plan: Plan) -> None:
            self.began.append(("end", used_processor()))
            following = zip(self.began, self.began[1:], strict=False)
            print(json.dumps({name: later - start for (name, start), (_, later) in following}))
            raise SystemExit

    column = {"kind": "text", "unit": unit}
    options = {"source": column, "target": column, "training": {"updates": 1}}
    with tempfile.TemporaryDirectory(prefix="seqloom-", dir=Path(data).parent) as folder:
        train(data, Path(folder) / "run", options=options, watch=Phases())


def used_processor() -> float:
    """Seconds of processor that this process has used, and those it has waited for."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def used_memory(process: int) -> int:
    """Bytes of a process and of all that descend from it, shared ones in part."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    family, new = {process}, {process}
    while new := {child for child, parent in parents.items() if parent in new} - family:
        family |= new
    return 1024 * sum(map(_proportional_kib, family))


def _proportional_kib(process: int) -> int:
    """The proportional set size of a process; 0 where it has gone."""
    with suppress(OSError, StopIteration, ValueError, IndexError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0


def measure(command: list[str]) -> dict[str, Any]:
    """Run a command: its output, seconds, seconds of processor and peak of memory."""
    before, began, peak = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, process_group=0
    ) as process:
        while process.poll() is None:
            peak = max(peak, used_memory(process.pid))
            time.sleep(SAMPLED_EVERY)
        output = process.stdout.read() if process.stdout else ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds = time.perf_counter() - began
    return {"output": output, "seconds": seconds, "busy": busy, "peak": peak}


def table(results: dict[str, dict[str, Any]]) -> list[str]:
    """A row for each command."""
    lines = [
        "| | rows | survey, rows/s | vocabulary, s | encoding, rows/s | processor, s | seconds "
        "| load | memory, GB |",
        "| --- " * 9 + "|",
    ]
    for each in sorted(results.values(), key=lambda each: (each["rows"], each["name"])):
        rows, phases = each["rows"], each.get("phases", {})
        cells = [
            f"{CORES * rows / phases['survey']:,.0f}" if phases else "",
            f"{phases['vocabulary']:.0f}" if phases else "",
            f"{CORES * rows / phases['encoding']:,.0f}" if phases else "",
            f"{each['busy']:.0f}",
            f"{each['seconds']:.0f}",
            f"{each['load']:.0f}",
            f"{each['peak'] / 1e9:.2f}",
        ]
        lines.append(f"| {each['name']} | {rows:,} | {' | '.join(cells)} |")
    return lines


def keep(results: dict[str, dict[str, Any]]) -> None:
    """Write the results and the table."""
    around = surroundings()
    FILE.write_text(json.dumps({"surroundings": around, "results": results}, indent=1) + "\n")
    where = (
        f"`python bench/rows.py`, {around['date']}, {around['cores']} cores of "
        f"{around['processor']}; pairs of {WORDS} words each. Rates are those of {CORES} cores by "
        "processor time, reading included; the seconds also depend on who else used the machine, "
        "which the load tells:"
    )
    write_between(MARKS, ["", where, "", *table(results), ""], PAGE)


def main() -> None:
    """Write the file, then measure each command on it."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--units", default="word,character,subword")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--data", help="a file of such pairs that is there already")
    parser.add_argument("--in", dest="unit", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.unit:
        prepare_here(arguments.data, arguments.unit)
        return
    results = json.loads(FILE.read_text())["results"] if FILE.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="seqloom-") as folder:
        data = Path(arguments.data or Path(folder) / "pairs.tsv")
        if not data.exists():
            with data.open("w") as file:
                file.writelines(pairs(arguments.rows))
        for unit in filter(None, arguments.units.split(",")):
            command = [sys.executable, str(Path(__file__)), "--data", str(data), "--in", unit]
            found = measure(command)
            phases = json.loads(found.pop("output"))
            about = {"name": f"{unit}s", "rows": arguments.rows, "load": os.getloadavg()[1]}
            results[f"{unit} {arguments.rows}"] = {**about, **found, "phases": phases}
            keep(results)
        if not arguments.no_check:
            found = measure([*SEQLOOM, "check", str(data)])
            del found["output"]
            about = {"name": "`check`", "rows": arguments.rows, "load": os.getloadavg()[1]}
            results[f"check {arguments.rows}"] = {**about, **found}
            keep(results)
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
