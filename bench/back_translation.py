"""Measures back-translation: a tenth of Multi30k's pairs, and the rest as English text alone.

    python bench/back_translation.py [--minutes M] [--seeds 1 2 3]

For each seed: a model of the tenth alone, German to English; one of the other direction, from the
same tenth; and one of the tenth and of the other nine tenths' English sentences, whose German the
second model writes (`seqloom distill --back`). Held-out rows choose the steps, and BLEU is that of
test_2016_flickr. The files lie in the folder that SEQLOOM_SHARED_DATA names. Each training has M
minutes, or as many updates as default settings choose; one that was stopped goes on where it was.
The result is kept in bench/results/back-translation.json.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from foundation import RESULTS, RUNS, SEQLOOM, evaluation, shared, spent, surroundings

SHARE = 10
FOLDER = RUNS / "back-translation-data"


def write_tables() -> None:
    """The tenth of the pairs in both directions, and the other English sentences."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    german, english = (
        shared("multi30k", f"train.{side}").read_text(encoding="utf-8").splitlines()
        for side in ("de", "en")
    )
    pairs = list(zip(german, english, strict=True))
    write("pairs.tsv", [f"{one}\t{other}" for one, other in pairs[::SHARE]])
    write("turned.tsv", [f"{other}\t{one}" for one, other in pairs[::SHARE]])
    write("more.txt", [other for number, (_, other) in enumerate(pairs) if number % SHARE])


def write(name: str, lines: Sequence[str]) -> None:
    """A file of lines."""
    (FOLDER / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def train(name: str, seed: int, words: Sequence[str], minutes: float) -> Path:
    """The run of a command that trains."""
    run = RUNS / f"back-translation-{name}-{seed}"
    settings = [f"seed={seed}", *([f"training.minutes={minutes:g}"] if minutes else [])]
    given = [word for setting in settings for word in ("--set", setting)]
    subprocess.run([*SEQLOOM, *words, "--run", str(run), *given], check=True)
    return run


def measure(seed: int, minutes: float) -> dict[str, Any]:
    """BLEU of the tenth alone and with back-translation."""
    valid, test = (
        [str(shared("multi30k", f"{part}.{side}")) for side in ("de", "en")]
        for part in ("val", "test_2016_flickr")
    )
    pairs, turned, more = (str(FOLDER / name) for name in ("pairs.tsv", "turned.tsv", "more.txt"))
    alone = train("alone", seed, ["train", pairs, "--valid", ",".join(valid)], minutes)
    back = train("back", seed, ["train", turned, "--valid", ",".join(valid[::-1])], minutes)
    both = train("both", seed, ["distill", str(back), "--back", "--more", more], minutes)
    found = {}
    for name, run in (("alone", alone), ("both", both)):
        scores = evaluation(run, ",".join(test), "--lowercase")["scores"]
        found[name] = {**spent(run), "scores": {each["name"]: each["value"] for each in scores}}
    return found


def main(arguments: Sequence[str]) -> None:
    """Measure every seed, and keep the mean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    asked = parser.parse_args(arguments)
    write_tables()
    seeds = {seed: measure(seed, asked.minutes) for seed in asked.seeds}
    bleu = {
        name: mean(each[name]["scores"]["BLEU"] for each in seeds.values())
        for name in ("alone", "both")
    }
    result = {
        "surroundings": surroundings(),
        "minutes": asked.minutes,
        "BLEU": bleu,
        "seeds": seeds,
    }
    kept = RESULTS / "back-translation.json"
    kept.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(bleu))


if __name__ == "__main__":
    main(sys.argv[1:])
