"""Measures what default settings reach on Multi30k, over several seeds.

    python bench/translation.py [NAME ...] [--seeds 1 2 3] [--set OPTION=VALUE ...]

Names: de-en and en-de (`seqloom train` with nothing set but the seed), lstm (German to English with
`--model lstm`). The files lie in the folder that SEQLOOM_SHARED_DATA names. The held-out rows
choose the step that is used; test_2016_flickr is then translated once, with beam 5, and scored
lower-cased. An interrupted training is resumed, and its minutes count every resumption. Processor
minutes do not depend on other work on the machine, minutes do. Results are kept in
bench/results/translation.json, and docs/results.md is written from them.
"""

import argparse
import json
import os
import resource
import subprocess
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import page
from cells import value
from foundation import RESULTS, RUNS, SEQLOOM, evaluation, shared, spent, surroundings

RESULT = RESULTS / "translation.json"


class Setting(NamedTuple):
    """A direction, the preset, and the BLEU to reach within an hour."""

    direction: tuple[str, str]
    preset: str
    aim: float


SETTINGS = {
    "de-en": Setting(("de", "en"), "auto", 42.0),
    "en-de": Setting(("en", "de"), "auto", 40.0),
    "lstm": Setting(("de", "en"), "lstm", 39.5),
}


def files(part: str, direction: tuple[str, str]) -> str:
    """The two files of a part of the data, as the commands take them."""
    return ",".join(str(shared("multi30k", f"{part}.{side}")) for side in direction)


def run_of(name: str, seed: int) -> Path:
    """The run directory of a setting with a seed."""
    return RUNS / f"bench-translation-{name}-{seed}"


def training_command(name: str, seed: int, options: list[str]) -> list[str]:
    """The command that trains a setting with a seed."""
    setting = SETTINGS[name]
    data, valid = (files(part, setting.direction) for part in ("train", "val"))
    chosen = [word for option in (f"seed={seed}", *options) for word in ("--set", option)]
    words = ["train", data, "--valid", valid, "--model", setting.preset]
    return [*SEQLOOM, *words, "--run", str(run_of(name, seed)), *chosen]


def measure(name: str, seed: int, options: list[str]) -> dict[str, Any]:
    """Train, or finish training, and score the held-out rows and the test set."""
    begun, before = run_of(name, seed).exists(), children_seconds()
    subprocess.run(training_command(name, seed, options), check=True)
    used = None if begun else children_seconds() - before  # that of earlier sittings is not known
    trained = {"processor_seconds": used, "load": os.getloadavg()[0]}
    run, direction = run_of(name, seed), SETTINGS[name].direction
    search = ("--beam", "5", "--lowercase")
    held_out = evaluation(run, files("val", direction), *search)
    found = evaluation(run, files("test_2016_flickr", direction), *search)
    return {
        "surroundings": surroundings(),
        **spent(run),
        **trained,
        "options": options,
        "held_out": value(held_out, "BLEU"),
        "scores": found["scores"],
        "rows": found["rows"],
    }


def children_seconds() -> float:
    """Processor seconds of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure what has no result yet, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*SETTINGS, []], metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--set", dest="options", action="append", default=[])
    asked = parser.parse_args()
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name in asked.names or SETTINGS:
        for seed in asked.seeds:
            seeds = results.setdefault(name, {"aim": SETTINGS[name].aim, "seeds": {}})["seeds"]
            if str(seed) in seeds and seeds[str(seed)]["options"] == asked.options:
                continue
            seeds[str(seed)] = measure(name, seed, asked.options)
            RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        found = results[name]["seeds"].values()
        print(f"{name}: BLEU {mean(value(each, 'BLEU') for each in found):.1f}")
    page.main()


if __name__ == "__main__":
    main()
