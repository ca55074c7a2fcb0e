"""Measures labels, tags and invented names on public data (docs/tasks.md).

    python bench/tasks.py [NAME ...]

Names: sst2, ewt, names. The files lie in the folder that SEQLOOM_SHARED_DATA names. A training that
was stopped goes on where it was; its time counts every resumption. Each result is kept in
bench/results/task-NAME.json, and a task that has one is not measured again unless it is named.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foundation import RESULTS, RUNS, SEQLOOM, evaluation, output_of, shared, spent
from uses import keep

DRAWN = 20  # names of each language


def trained(name: str, *arguments: str, members: int = 1) -> tuple[list[Path], dict[str, Any]]:
    """The runs of so many seeds, and their time, updates and command."""
    runs = [RUNS / f"task-{name}-{seed}" for seed in range(1, members + 1)]
    for seed, run in enumerate(runs, start=1):
        words = [*arguments, "--set", f"seed={seed}", "--run", str(run)]
        subprocess.run([*SEQLOOM, "train", *words], check=True)
    each_spent = [spent(run) for run in runs]
    words = [Path(each).name if Path(each).is_absolute() else each for each in arguments]
    return runs, {
        "command": f"seqloom train {' '.join(words)} --run runs/task-{name}-1",
        "members": members,
        "seconds": sum(each["seconds"] for each in each_spent),
        "updates": sum(each["updates"] for each in each_spent),
    }


def together(runs: Sequence[Path], test: str) -> dict[str, Any]:
    """What `seqloom evaluate` says of runs that are asked together."""
    others = [word for run in runs[1:] for word in ("--with", str(run))]
    return evaluation(runs[0], test, *others)


def measure_sst2() -> dict[str, Any]:
    """Movie reviews: positive or negative."""
    train, valid, test = (str(shared("sst2", f"{part}.tsv")) for part in ("train", "dev", "test"))
    runs, found = trained("sst2", train, "--valid", valid, "--target", "2:label", members=5)
    alone = [evaluation(run, test)["scores"][0]["value"] for run in runs]
    notes = [f"each model alone: {', '.join(f'{value:.1f}' for value in alone)}"]
    return {**found, **together(runs, test), "notes": notes}


def measure_ewt() -> dict[str, Any]:
    """English words and their universal parts of speech."""
    train, valid, test = (
        str(shared("ud_english_ewt", f"en_ewt-ud-{part}.conllu"))
        for part in ("train", "dev", "test")
    )
    runs, found = trained("ewt", train, "--valid", valid)
    return {**found, **together(runs, test)}


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
    (run,), found = trained("names", str(table), "--source", "1:label")
    asked = RUNS / "task-names.txt"
    asked.write_text("".join(f"{each}\n" * DRAWN for each in known), encoding="utf-8")
    drawn = output_of(
        [*SEQLOOM, "predict", str(run), str(asked), "--search", "sample", "--seed", "1"]
    ).splitlines()
    pairs = list(zip([each for each in known for _ in range(DRAWN)], drawn, strict=True))
    new = [(language, name) for language, name in pairs if name not in known[language]]
    share = 100 * len(new) / len(pairs)
    first = sorted(dict(reversed(new)).items())
    examples = ", ".join(f"{name} ({language})" for language, name in first)
    return {
        **found,
        "rows": len(pairs),
        "scores": [{"name": "novelty", "value": share, "signature": f"draws:{len(pairs)}"}],
        "notes": [f"the first new one of each: {examples}"],
    }


MEASURES = {"sst2": measure_sst2, "ewt": measure_ewt, "names": measure_names}


def main(names: Sequence[str]) -> None:
    """Measure what is named, or what has no result yet."""
    unknown = set(names) - set(MEASURES)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))} to measure: {', '.join(MEASURES)}")
    missing = [name for name in MEASURES if not (RESULTS / f"task-{name}.json").exists()]
    for name in names or missing:
        keep(f"task-{name}", MEASURES[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
