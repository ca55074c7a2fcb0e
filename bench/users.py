"""Measures what a person with a file gets from default settings on public sets (docs/tasks.md).

    python bench/users.py FOLDER [NAME ...] [--seeds 1 2 3] [--set NAME=VALUE ...]

Names: inflection, slots, intents, pronunciation, capitals; all if none is given. FOLDER holds
clones, bare or not, of the public repositories named in `TASKS`, each as owner+name; `capitals`
tags UD English EWT, in the folder that SEQLOOM_SHARED_DATA names, and is trained with and without
rows in another case. Every seed is a training of its own; one that was stopped goes on where it
was, and a seed that has been evaluated is not trained again. The table is printed, and each task is
kept in bench/results/users-NAME.json with all seeds measured so far.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from foundation import RUNS, SEQLOOM, evaluation, shared, spent
from uses import USES, keep

PARTS = ("train", "valid", "test")
SEEDS = ("one seed", "mean of {} seeds, in brackets the lowest and the highest")
ESTIMATE = re.compile(r"about ([\d.]+|a|an) (second|minute|hour)")
MINUTES = {"second": 1 / 60, "minute": 1.0, "hour": 60.0}


class Task(NamedTuple):
    """A public set, how its table is written, the options of columns, and what others published."""

    repository: str
    table: Callable[[Path, str], str]
    columns: tuple[str, ...]
    published: str


def read(folder: Path, repository: str, path: str) -> list[str]:
    """The lines of a file in the newest commit of a clone."""
    clone = folder / repository.replace("/", "+")
    place = clone / "repo" if (clone / "repo").exists() else clone
    found = subprocess.run(
        ["git", "-C", str(place), "show", f"HEAD:{path}"], stdout=subprocess.PIPE, check=False
    )
    if found.returncode:
        sys.exit(f"{place}: no clone of {repository} that holds {path}; clone it there first")
    return found.stdout.decode("utf-8").splitlines()


def inflection(folder: Path, part: str) -> str:
    """Crimean Tatar: lemma, form and features."""
    names = {"train": "crh.trn", "valid": "crh.dev"}
    path = f"SURPRISE-LANGUAGES/Turkic/{names[part]}" if part in names else "GOLD-TEST/crh.tst"
    return "\n".join(read(folder, TASKS["inflection"].repository, path))


def snips(column: str) -> Callable[[Path, str], str]:
    """The utterances of SNIPS beside one of their annotations."""

    def table(folder: Path, part: str) -> str:
        texts, others = (
            read(folder, TASKS["slots"].repository, f"data/snips/{part}/{name}")
            for name in ("seq.in", column)
        )
        cells = zip(texts, others, strict=True)
        return "\n".join("\t".join(" ".join(cell.split()) for cell in row) for row in cells)

    return table


def pronunciation(folder: Path, part: str) -> str:
    """Modern Greek: spelling and sounds."""
    name = {"valid": "dev"}.get(part, part)
    path = f"task1/data/{name}/gre_{name}.tsv"
    return "\n".join(read(folder, TASKS["pronunciation"].repository, path))


SNIPS = "MiuLab/SlotGated-SLU"
TASKS = {
    "inflection": Task(
        "sigmorphon2020/task0-data",
        inflection,
        ("--source", "1,3", "--target", "2"),
        "a Transformer: 99.1 (Canby et al. 2020, University of Illinois Submission to the "
        "SIGMORPHON 2020 Shared Task 0)",
    ),
    "slots": Task(
        SNIPS,
        snips("seq.out"),
        ("--target", "2:tags"),
        "recurrent models without pretrained vectors: 87.3 and 87.8 (Hakkani-Tür et al. 2016 and "
        "Liu and Lane 2016, as measured by Goo et al. 2018), 88.8 (Goo et al. 2018, Slot-Gated "
        "Modeling for Joint Slot Filling and Intent Prediction); later ones that learn slots and "
        "intents together, from 90.0 (Li et al. 2018) to 94.2 (Qin et al. 2019, A "
        "Stack-Propagation Framework with Token-Level Intent Detection)",
    ),
    "intents": Task(
        SNIPS,
        snips("label"),
        ("--target", "2:label"),
        "recurrent models: 96.9, 96.7 and 97.0 (the same three); later ones that learn slots "
        "and intents together, from 97.2 to 98.0 (as listed by Qin et al. 2019)",
    ),
    "pronunciation": Task(
        "sigmorphon/2020",
        pronunciation,
        (),
        "LSTM baseline: 18.89 (Gorman et al. 2020, The SIGMORPHON 2020 Shared Task on "
        "Multilingual Grapheme-to-Phoneme Conversion)",
    ),
}


def write_tables(name: str, folder: Path) -> dict[str, Path]:
    """The three tables of a task, in a folder among the runs."""
    paths = {part: RUNS / f"users-{name}-data" / f"{part}.tsv" for part in PARTS}
    for part, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{TASKS[name].table(folder, part)}\n", encoding="utf-8")
    return paths


def estimated_minutes(words: Sequence[str]) -> float | None:
    """What `seqloom check` says of the time that a training will take."""
    command = [*SEQLOOM, "check", *words]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    found = ESTIMATE.search(said)
    if found is None:
        return None
    number = 1.0 if found[1] in ("a", "an") else float(found[1])
    return number * MINUTES[found[2]]


def measure_seed(name: str, seed: int, paths: dict[str, Path], options: Sequence[str]) -> Any:
    """One training and its evaluation, or what was kept of them."""
    run = RUNS / f"users-{name}-{seed}"
    kept = run.with_name(f"{run.name}.json")
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    words = [str(paths["train"]), "--valid", str(paths["valid"]), *TASKS[name].columns]
    settings = [f"seed={seed}", *options]
    words += [word for setting in settings for word in ("--set", setting)]
    estimate = None if run.exists() else estimated_minutes(words)
    subprocess.run([*SEQLOOM, "train", *words, "--run", str(run)], check=True)
    found = {**spent(run), **evaluation(run, str(paths["test"])), "estimate": estimate}
    kept.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    return found


def mean_scores(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean, the lowest and the highest of every score."""
    values: dict[str, list[float]] = {}
    for score in (each for run in runs for each in run["scores"]):
        values.setdefault(score["name"], []).append(score["value"])
    return [
        {"name": name, "value": mean(each), "low": min(each), "high": max(each)}
        for name, each in values.items()
    ]


def combine(name: str, seeds: dict[int, Any], options: Sequence[str]) -> dict[str, Any]:
    """The mean and the range over seeds of every score, and what stands beside them."""
    runs = list(seeds.values())
    scores = runs[0]["scores"] if len(runs) == 1 else mean_scores(runs)
    leading = USES[f"users-{name}"].score
    each_seed = ", ".join(
        f"{each['value']:.2f} (seed {seed})"
        for seed, run in seeds.items()
        for each in run["scores"]
        if each["name"] == leading
    )
    estimates = [
        f"{run['estimate']:.1f} and {run['seconds'] / 60:.1f}"
        for run in runs
        if run.get("estimate")
    ]
    settings = "".join(f" --set {option}" for option in options)
    return {
        "command": " ".join(["seqloom train train.tsv --valid valid.tsv", *TASKS[name].columns])
        + f"{settings} --set seed={min(seeds)} --run runs/users-{name}-{min(seeds)}",
        "seconds": mean(run["seconds"] for run in runs),
        "updates": round(mean(run["updates"] for run in runs)),
        "rows": runs[0]["rows"],
        "scores": scores,
        "baselines": runs[0].get("baselines", {}),
        "notes": [
            SEEDS[len(seeds) > 1].format(len(seeds)),
            f"{leading}: {each_seed}",
            f"published: {TASKS[name].published}",
            f"data: {TASKS[name].repository} on GitHub",
            *(
                [f"minutes, estimated by `seqloom check` and taken: {'; '.join(estimates)}"]
                if estimates
                else []
            ),
        ],
    }


def evaluate_cases(run: Path) -> dict[str, float]:
    """The accuracy of a tagger on test sentences as they are, and in capitals."""
    test = shared("ud_english_ewt", "en_ewt-ud-test.conllu")
    capitals = RUNS / "users-capitals-test.conllu"
    lines = [line.split("\t") for line in test.read_text(encoding="utf-8").splitlines()]
    written = [[*cells[:1], *map(str.upper, cells[1:2]), *cells[2:]] for cells in lines]
    capitals.write_text("".join("\t".join(cells) + "\n" for cells in written), encoding="utf-8")
    return {
        case: float(evaluation(run, str(path))["scores"][0]["value"])
        for case, path in (("normal", test), ("capitals", capitals))
    }


def measure_cases(seed: int, options: Sequence[str]) -> dict[str, Any]:
    """A tagger that learns some rows in another case, and one that does not."""
    found: dict[str, Any] = {}
    for name, own in (("recased", ()), ("plain", ("data.recased=0",))):
        run = RUNS / f"users-capitals-{name}-{seed}"
        kept = run.with_name(f"{run.name}.json")
        if not kept.exists():
            files = [
                shared("ud_english_ewt", f"en_ewt-ud-{part}.conllu") for part in ("train", "dev")
            ]
            words = [str(files[0]), "--valid", str(files[1]), "--run", str(run)]
            sets = [word for each in (f"seed={seed}", *own, *options) for word in ("--set", each)]
            subprocess.run([*SEQLOOM, "train", *words, *sets], check=True)
            kept.write_text(json.dumps({**spent(run), **evaluate_cases(run)}), encoding="utf-8")
        found[name] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def combine_cases(seeds: dict[int, Any], options: Sequence[str]) -> dict[str, Any]:
    """What other cases cost on normal text, and what is kept in capitals."""
    costs = [each["plain"]["normal"] - each["recased"]["normal"] for each in seeds.values()]
    kept = [
        [100 * each[name]["capitals"] / each[name]["normal"] for each in seeds.values()]
        for name in ("recased", "plain")
    ]
    figures = {"cost": costs, "kept in capitals": kept[0], "kept without such rows": kept[1]}
    settings = "".join(f" --set {option}" for option in options)
    return {
        "command": f"seqloom train en_ewt-ud-train.conllu --valid en_ewt-ud-dev.conllu{settings} "
        f"--set seed={min(seeds)} --run runs/users-capitals-recased-{min(seeds)}",
        "seconds": mean(each["recased"]["seconds"] for each in seeds.values()),
        "updates": round(mean(each["recased"]["updates"] for each in seeds.values())),
        "scores": [
            {"name": name, "value": mean(values), "low": min(values), "high": max(values)}
            for name, values in figures.items()
        ],
        "notes": [
            "cost: accuracy on normal text without such rows less that with them; kept: accuracy "
            "in capitals in per cent of that on normal text; mean of the seeds, and their range",
            *(
                f"seed {seed}, {name}: {each[name]['normal']:.2f} normal, "
                f"{each[name]['capitals']:.2f} in capitals"
                for seed, each in seeds.items()
                for name in ("recased", "plain")
            ),
        ],
    }


def line(name: str, found: dict[str, Any]) -> str:
    """A task's row of the printed table."""
    use = USES[f"users-{name}"]
    (score,) = [each for each in found["scores"] if each["name"] == use.score]
    return (
        f"{name:14} {use.score:12} {score['value']:6.2f} ({score['low']:.2f}–{score['high']:.2f})  "
        f"{use.aim:14} {found['seconds'] / 60:5.1f} minutes"
    )


def main(arguments: Sequence[str]) -> None:
    """Measure what is named with every seed, keep it, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    known = [*TASKS, "capitals"]
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *known])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--set", action="append", default=[], dest="options", metavar="NAME=VALUE")
    asked = parser.parse_args(arguments)
    table = []
    for name in asked.names or known:
        seeds: dict[int, Any] = {}
        paths = write_tables(name, asked.folder) if name in TASKS else {}
        for seed in asked.seeds:
            if name in TASKS:
                seeds[seed] = measure_seed(name, seed, paths, asked.options)
                result = combine(name, seeds, asked.options)
            else:
                seeds[seed] = measure_cases(seed, asked.options)
                result = combine_cases(seeds, asked.options)
            keep(f"users-{name}", result)
        table.append(line(name, result))
    print("\n".join(table))


if __name__ == "__main__":
    main(sys.argv[1:])
