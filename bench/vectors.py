"""Measures what word vectors do for SST-2, beside the same models without them (docs/vectors.md).

    python bench/vectors.py

The vectors are learnt from the training sentences and the Penn Treebank's text, both in the folder
that SEQLOOM_SHARED_DATA names. Each setting is trained with several seeds, whose mean is compared.
"""

import re
import statistics
import subprocess
from pathlib import Path
from typing import Any

from foundation import RUNS, SEQLOOM, evaluation, shared
from tasks import trained
from uses import keep

SEEDS = 3
SIZE = 128  # as the models without given vectors have


def texts() -> Path:
    """Sentences to learn vectors from, one a line, without the Treebank's own marks for words that
    it leaves out."""
    path = RUNS / "vectors.txt"
    path.parent.mkdir(exist_ok=True)
    rows = shared("sst2", "train.tsv").read_text(encoding="utf-8").splitlines()
    news = shared("ptb", "ptb.train.txt").read_text(encoding="utf-8").splitlines()
    lines = [row.split("\t")[0] for row in rows] + [re.sub(r"<unk>|\bN\b", "", row) for row in news]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def learnt(kind: str) -> Path:
    """The file of vectors of one kind."""
    path = RUNS / f"vectors-{kind}.bin"
    options = ["--kind", kind, "--size", str(SIZE), "--least", "2"]
    subprocess.run([*SEQLOOM, "vectors", str(texts()), "--to", str(path), *options], check=True)
    return path


def measured(name: str, *options: str) -> dict[str, Any]:
    """The accuracies of a setting's seeds on the test sentences, and what training took."""
    train, valid, test = (str(shared("sst2", f"{part}.tsv")) for part in ("train", "dev", "test"))
    arguments = [train, "--valid", valid, "--target", "2:label", *options]
    runs, found = trained(f"vectors-{name}", *arguments, members=SEEDS)
    return {**found, "all": [evaluation(run, test) for run in runs]}


def measure() -> dict[str, Any]:
    """SST-2 with new vectors, and with those of either kind, frozen and improved."""
    settings: dict[str, list[str]] = {"new": []}
    for kind in ("skip-gram", "cbow"):
        given = ["--set", f"model.source_vectors={learnt(kind)}"]
        settings[f"{kind}-improved"] = given
        settings[f"{kind}-frozen"] = [*given, "--set", "model.frozen_vectors=true"]
    found = {name: measured(name, *options) for name, options in settings.items()}
    lines = [line(name, each["all"]) for name, each in found.items()]
    first = found["skip-gram-improved"]
    scores = [scored(first["all"])]
    beside = {f"{name}, mean": scored(each["all"]) for name, each in found.items()}
    kept = {key: first[key] for key in ("seconds", "updates")}
    kept["command"] = first["command"].replace(f"{RUNS}/", "runs/")
    rows = first["all"][0]["rows"]
    return {**kept, "rows": rows, "scores": scores, "baselines": beside, "notes": lines}


def accuracies(all_found: list[dict[str, Any]]) -> list[float]:
    """The accuracy of each seed."""
    return [each["scores"][0]["value"] for each in all_found]


def scored(all_found: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean accuracy, between the worst and the best seed's."""
    values = accuracies(all_found)
    mean = statistics.mean(values)
    return {"name": "accuracy", "value": mean, "low": min(values), "high": max(values)}


def line(name: str, all_found: list[dict[str, Any]]) -> str:
    """A setting and its seeds in words."""
    return f"{name}: {', '.join(f'{value:.1f}' for value in accuracies(all_found))}"


if __name__ == "__main__":
    keep("vectors-sst2", measure())
