"""Measures the uses of Seqloom on public data and writes docs/tasks.md from the results.

    python bench/tasks.py [NAME ...] [--table]

The files lie in the folder that SEQLOOM_SHARED_DATA names. A training that was stopped goes on
where it was; its time is that of all sittings. Each result is kept in bench/results/task-NAME.json,
and a task that has one is not measured again unless it is named. `--table` measures nothing.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from foundation import RESULTS, ROOT, RUNS, SEQLOOM, evaluation, output_of, surroundings

DRAWN = 20  # names of each language
INTRODUCTION = """# Measured tasks

Every figure here was measured and written by `python bench/tasks.py NAME`. Intervals are 95 %
bootstrap intervals over the test rows. Below a result stand the baselines that `seqloom evaluate`
prints beside it.
"""


class Task(NamedTuple):
    """What is measured, and the aim: so good a score in so many minutes; 0 is only reported."""

    title: str
    measure: Callable[[], dict[str, Any]]
    score: str
    least: float
    minutes: float


def shared(*names: str) -> Path:
    """A file among the public data."""
    folder = os.environ.get("SEQLOOM_SHARED_DATA")
    if not folder:
        sys.exit("SEQLOOM_SHARED_DATA must name the folder that holds the data sets")
    return Path(folder).joinpath(*names)


def trained(name: str, *arguments: str) -> tuple[Path, dict[str, Any]]:
    """The run of a training, and its time, updates and command."""
    run = RUNS / f"task-{name}"
    subprocess.run([*SEQLOOM, "train", *arguments, "--run", str(run)], check=True)
    steps = sorted(run.glob("step-*"))
    progress = json.loads((steps[-1] / "progress.json").read_text())
    words = [Path(each).name if Path(each).is_absolute() else each for each in arguments]
    command = f"seqloom train {' '.join(words)} --run runs/task-{name}"
    return run, {
        "command": command,
        "seconds": progress["seconds"],
        "updates": progress["step"],
    }


def measure_sst2() -> dict[str, Any]:
    """Movie reviews: positive or negative."""
    train, valid, test = (str(shared("sst2", f"{part}.tsv")) for part in ("train", "dev", "test"))
    run, found = trained("sst2", train, "--valid", valid, "--target", "2:label")
    return {**found, **evaluation(run, test)}


def measure_ewt() -> dict[str, Any]:
    """English words and their universal parts of speech."""
    train, valid, test = (
        str(shared("ud_english_ewt", f"en_ewt-ud-{part}.conllu"))
        for part in ("train", "dev", "test")
    )
    run, found = trained("ewt", train, "--valid", valid)
    return {**found, **evaluation(run, test)}


def measure_names() -> dict[str, Any]:
    """From a language to invented names; how many of those drawn are new."""
    known: dict[str, set[str]] = {}
    for path in sorted(shared("names18").glob("*.txt")):
        if path.stem != "SOURCE":
            known[path.stem] = set(path.read_text(encoding="utf-8").split("\n")) - {""}
    table = RUNS / "task-names.tsv"
    table.parent.mkdir(exist_ok=True)
    rows = [f"{language}\t{name}\n" for language, names in known.items() for name in sorted(names)]
    table.write_text("".join(rows), encoding="utf-8")
    run, found = trained("names", str(table), "--source", "1:label")
    asked = RUNS / "task-names.txt"
    asked.write_text("".join(f"{each}\n" * DRAWN for each in known), encoding="utf-8")
    drawn = output_of(
        [*SEQLOOM, "predict", str(run), str(asked), "--search", "sample", "--seed", "1"]
    ).splitlines()
    pairs = list(zip([each for each in known for _ in range(DRAWN)], drawn, strict=True))
    new = [(language, name) for language, name in pairs if name not in known[language]]
    share = 100 * len(new) / len(pairs)
    examples = dict(reversed(new))
    score = {"name": "novelty", "value": share, "low": share, "high": share}
    return {
        **found,
        "rows": len(pairs),
        "scores": [{**score, "signature": f"draws:{len(pairs)}"}],
        "examples": dict(sorted(examples.items())),
    }


TASKS = {
    "sst2": Task("SST-2, 6,920 sentences → positive or negative", measure_sst2, "accuracy", 82, 10),
    "ewt": Task("UD English EWT, words → parts of speech", measure_ewt, "accuracy", 94, 20),
    "names": Task("18 languages → invented names", measure_names, "novelty", 0, 20),
}


def page(results: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The page of all results there are."""
    yield INTRODUCTION
    yield "| task | measured | aim | |"
    yield "| --- | --- | --- | --- |"
    for name, found in results.items():
        task = TASKS[name]
        minutes, score = found["seconds"] / 60, leading(found, task)
        good = "reached" if score >= task.least and minutes <= task.minutes else "missed"
        aim = f"at least {task.least:g} in " if task.least else ""
        yield (
            f"| {task.title} | {task.score} {score:.1f} in {minutes:.1f} minutes | {aim}at most "
            f"{task.minutes:g} minutes | {good} |"
        )
    for name, found in results.items():
        yield from details(name, found)


def leading(found: dict[str, Any], task: Task) -> float:
    """The score that has an aim."""
    return float(next(each["value"] for each in found["scores"] if each["name"] == task.score))


def details(name: str, found: dict[str, Any]) -> Iterator[str]:
    """A task's command, machine, scores and baselines."""
    around = found["surroundings"]
    yield f"\n## {name}\n"
    yield f"`{found['command']}`\n"
    yield (
        f"{around['date']}, {around['cores']} cores of {around['processor']}, Python "
        f"{around['python']}, torch {around['torch']}; {found['updates']:,} updates, "
        f"{found['rows']:,} test rows\n"
    )
    beside = found.get("baselines", {}).items()
    for label, each in [*((e["name"], e) for e in found["scores"]), *beside]:
        kind = f"{label}: {each['name']}" if label != each["name"] else label
        yield f"- {kind} {each['value']:.1f} ({each['low']:.1f}–{each['high']:.1f})"
    if "examples" in found:
        drawn = ", ".join(f"{invented} ({of})" for of, invented in found["examples"].items())
        yield f"- the first new one of each: {drawn}"


def main(arguments: list[str]) -> None:
    """Measure what is named, or what has no result yet, and write the page."""
    names = [each for each in arguments if each != "--table"]
    unknown = set(names) - set(TASKS)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))} to measure: {', '.join(TASKS)}")
    paths = {name: RESULTS / f"task-{name}.json" for name in TASKS}
    if "--table" not in arguments:
        for name in names or [name for name, path in paths.items() if not path.exists()]:
            result = {"surroundings": surroundings(), **TASKS[name].measure()}
            paths[name].write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    results = {n: json.loads(path.read_text()) for n, path in paths.items() if path.exists()}
    text = "\n".join(page(results)) + "\n"
    (ROOT / "docs" / "tasks.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
