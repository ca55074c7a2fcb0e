"""Measures what a tagger gains by reading its own last tag, on the slots of SNIPS (docs/tags.md).

    python bench/tag_feedback.py FOLDER [--seeds 1 2 3]

FOLDER holds a clone, bare or not, of MiuLab/SlotGated-SLU, as for bench/users.py. Two encoders are
compared, each with an independent tag for every word and with tags that read the tag before: a
bidirectional LSTM layer, and the words' own vectors, which know nothing of their neighbours. Every
evaluation is kept in bench/results/tag-feedback.json at once and is not made again.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from foundation import RESULTS, RUNS, evaluation, surroundings, trained
from users import write_tables

KEPT = RESULTS / "tag-feedback.json"
UPDATES = 500
SIZES = ("model.embedding=64", f"training.updates={UPDATES}", "training.validate_every=100",
         "training.rate=0.005", "training.samples=0", "training.workers=1")  # fmt: skip
ENCODERS = {
    "words alone": ("model.encoder.kind=vectors",),
    "bidirectional LSTM": ("model.encoder.layers=1", "model.encoder.width=64"),
}
FEEDBACK = ("model.decoder.kind=recurrent-tags", "model.decoder.width=64")
SEARCHES: dict[str, tuple[str, ...]] = {
    "greedy": ("--search", "greedy"),
    "beam of 5": ("--search", "beam", "--beam", "5"),
}


def measure(encoder: str, feedback: bool, seed: int, paths: dict[str, Path]) -> dict[str, float]:
    """The span F1 of one training in per cent, by the search that finds the tags."""
    chosen = [*SIZES, *ENCODERS[encoder], *(FEEDBACK if feedback else ()), f"seed={seed}"]
    run = RUNS / f"tag-feedback-{encoder.replace(' ', '-')}-{int(feedback)}-{seed}"
    options = [word for each in chosen for word in ("--set", each)]
    trained(run, str(paths["train"]), "--target", "2:tags", *options, valid=str(paths["valid"]))
    searches = SEARCHES if feedback else {"each alone": ()}
    return {
        name: float(score["value"])
        for name, words in searches.items()
        for score in evaluation(run, str(paths["test"]), *words)["scores"]
        if score["name"] == "span F1"
    }


def main(arguments: Sequence[str]) -> None:
    """Measure what is not there yet and print every score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    asked = parser.parse_args(arguments)
    found = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    paths = write_tables("slots", asked.folder)
    for encoder in ENCODERS:
        for seed in asked.seeds:
            for feedback in (False, True):
                name = f"{encoder}/{'own last tag' if feedback else 'none'}/{seed}"
                if name not in found:
                    found[name] = measure(encoder, feedback, seed, paths)
                    found["surroundings"] = surroundings()
                    KEPT.write_text(json.dumps(found, indent=1) + "\n")
                print(name, found[name], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
