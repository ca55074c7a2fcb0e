"""Measures the claims of the README and writes docs/results.md.

    python bench/foundation.py [NAME ...]

Names: start (import and help), french, dates, transformer, lstm (both on Multi30k, whose files lie
in the folder that SEQLOOM_SHARED_DATA names). An interrupted training resumes, and its time
includes all sessions. Each result is kept in bench/results/NAME.json.
"""

import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
RUNS = ROOT / "runs"
SEQLOOM = [sys.executable, "-m", "seqloom"]


def shared(*names: str) -> Path:
    """A file or folder among the public data."""
    folder = os.environ.get("SEQLOOM_SHARED_DATA")
    if not folder:
        sys.exit("SEQLOOM_SHARED_DATA must name the folder that holds the data sets")
    return Path(folder).joinpath(*names)


def spent(run: Path) -> dict[str, Any]:
    """The seconds and updates of a training over all sessions."""
    progress = json.loads((max(run.glob("step-*")) / "progress.json").read_text())
    return {"seconds": progress["seconds"], "updates": progress["step"]}


def trained(run: Path, data: str, *options: str, valid: str = "") -> dict[str, Any]:
    """Train or resume; return the command as from the top folder, and the time it took."""
    words = ["train", data, *(["--valid", valid] if valid else []), *options, "--run", str(run)]
    subprocess.run([*SEQLOOM, *words], check=True)
    short = [re.sub("^/.*/", "", word.replace(f"{ROOT}/", "")) for word in words]
    return {"command": " ".join(["seqloom", *short]), **spent(run)}


def timed(command: list[str]) -> float:
    """Time a command in seconds, discarding its output."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def output_of(command: list[str]) -> str:
    """The output of a command."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def measure_start() -> dict[str, Any]:
    """`import seqloom` and `seqloom --help`, the median of nine; the first without the time of a
    bare interpreter.
    """
    program = str(Path(sys.executable).with_name("seqloom"))
    bare = statistics.median(timed([sys.executable, "-c", ""]) for _ in range(9))
    imported = statistics.median(timed([sys.executable, "-c", "import seqloom"]) for _ in range(9))
    helped = statistics.median(timed([program, "--help"]) for _ in range(9))
    return {"import": imported - bare, "help": helped}


def measure_demo(name: str) -> dict[str, Any]:
    """A demo from the command to its last line, in a fresh run directory, with its data cached."""
    run = RUNS / f"bench-{name}-{int(time.time())}"
    output_of([*SEQLOOM, "data", name, "--to", str(run.with_name(f"{run.name}-data"))])
    seconds = timed([*SEQLOOM, "demo", name, "--run", str(run)])
    test = run.with_name(f"{run.name}-data") / "test.tsv"
    return {"seconds": seconds, **evaluation(run, str(test))}


def measure_multi30k(preset: str) -> dict[str, Any]:
    """German to English with default settings, then beam 5 on test_2016_flickr."""
    data = shared("multi30k")
    train, valid, test = (
        f"{data / part}.de,{data / part}.en" for part in ("train", "val", "test_2016_flickr")
    )
    run = RUNS / f"bench-multi30k-{preset}"
    command = [*SEQLOOM, "train", train, "--valid", valid, "--model", preset, "--run", str(run)]
    subprocess.run(command, check=True)
    return {**spent(run), **evaluation(run, test, "--beam", "5", "--lowercase")}


def evaluation(run: Path, data: str, *options: str) -> dict[str, Any]:
    """The results of `seqloom evaluate`."""
    printed: dict[str, Any] = json.loads(
        output_of([*SEQLOOM, "evaluate", str(run), data, "--json", *options])
    )
    return printed


def write_between(marks: tuple[str, str], lines: list[str], page: Path) -> None:
    """Put these lines between the two marks of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        sys.exit(f"{page.name} has lost the marks between which its figures stand")
    page.write_text("\n".join([before + begin, *lines, end + after]), encoding="utf-8")


MEASURES: dict[str, Callable[[], dict[str, Any]]] = {
    "start": measure_start,
    "french": lambda: measure_demo("french"),
    "dates": lambda: measure_demo("dates"),
    "transformer": lambda: measure_multi30k("transformer"),
    "lstm": lambda: measure_multi30k("lstm"),
}


def surroundings() -> dict[str, Any]:
    """The machine and the versions of a result."""
    from importlib.metadata import version

    names = [line for line in Path("/proc/cpuinfo").read_text().split("\n") if "model name" in line]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": len(os.sched_getaffinity(0)),
        "processor": names[0].partition(":")[2].strip() if names else platform.processor(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "seqloom": version("seqloom"),
    }


def main(names: list[str]) -> None:
    """Measure what is named, keep the results, and rewrite the page."""
    unknown = set(names) - set(MEASURES)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))} to measure: {', '.join(MEASURES)}")
    RESULTS.mkdir(exist_ok=True)
    for name in names or list(MEASURES):
        result = {"surroundings": surroundings(), **MEASURES[name]()}
        (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
        print(name, json.dumps(result))
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
