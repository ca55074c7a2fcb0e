"""Ablations of training on Multi30k German to English, one change at a time.

    python bench/levers.py [NAME ...] [--page]

Every lever is one change of the same training: a Transformer of 3 × 192 with dropout 0.3 and AdamW,
1,300 updates of 4,096 positions in one process. A lever that changes the batch size changes the
number of updates to keep the number of tokens. Scores are on held-out data; the test set is not
read. Cost is measured in processor time, which does not depend on the load of the machine. An
interrupted training resumes. Results are kept in bench/results/levers.json, and docs/results.md is
rewritten.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
from typing import Any

import page
from foundation import RESULTS, RUNS, SEQLOOM, evaluation, spent, surroundings
from multi30k import data

RESULT = RESULTS / "levers.json"
UPDATES = 1_300
ADAMW = {
    "training.optimizer.kind": "adamw",
    "training.rate": "2e-3",
    "training.updates": UPDATES,
    **{f"model.{side}.width": 192 for side in ("encoder", "decoder")},
    **{f"model.{side}.inner": 768 for side in ("encoder", "decoder")},
    **{f"model.{side}.dropout": 0.3 for side in ("encoder", "decoder")},
    "model.embedding": 192,
}
MUON = {"training.optimizer.kind": "muon", "training.rate": "1e-2"}
NARROW = {
    **MUON,
    **{f"model.{side}.width": 128 for side in ("encoder", "decoder")},
    **{f"model.{side}.inner": 512 for side in ("encoder", "decoder")},
    **{f"model.{side}.dropout": 0.2 for side in ("encoder", "decoder")},
    "model.embedding": 128,
    "training.updates": 2 * UPDATES,
}
LEVERS: dict[str, dict[str, Any]] = {
    "AdamW": {},
    "Muon": MUON,
    "Muon, half the rate": {**MUON, "training.rate": "5e-3"},
    "Muon, half the batch": {
        **MUON,
        "training.batch_tokens": 2_048,
        "training.updates": 2 * UPDATES,
    },
    "Muon, twice the batch": {
        **MUON,
        "training.rate": "1.4e-2",
        "training.batch_tokens": 8_192,
        "training.updates": UPDATES // 2,
    },
    "Muon, 3,000 subwords": {**MUON, "source.size": 3_000, "target.size": 3_000},
    "Muon, R-Drop, half the batch": {
        **MUON,
        "training.agreement": 5,
        "training.batch_tokens": 2_048,
    },
    "Muon, no rows in another case": {**MUON, "data.recased": 0},
    "Muon, source words left out": {**MUON, "model.forget": 0.1},
    "Muon, dropout 0.2": {**MUON, "model.encoder.dropout": 0.2, "model.decoder.dropout": 0.2},
    "Muon, width 256": {
        **MUON,
        **{f"model.{side}.width": 256 for side in ("encoder", "decoder")},
        **{f"model.{side}.inner": 1_024 for side in ("encoder", "decoder")},
        "model.embedding": 256,
    },
    "Muon, width 128, dropout 0.2, twice the updates": NARROW,
    "Muon, width 128, dropout 0.1, twice the updates": {
        **NARROW,
        **{f"model.{side}.dropout": 0.1 for side in ("encoder", "decoder")},
    },
    "Muon, moving average": {**MUON, "training.average": "moving"},
}


def measure(name: str) -> dict[str, Any]:
    """Train with one lever, and evaluate on the held-out data."""
    run = RUNS / f"bench-levers-{name.lower().replace(', ', '-').replace(' ', '-')}"
    words = ["train", data("train"), "--valid", data("val"), "--run", str(run), "--workers", "1"]
    for option, value in {**ADAMW, **LEVERS[name]}.items():
        words += ["--set", f"{option}={value}"]
    subprocess.run([*SEQLOOM, *words, "--model", "transformer"], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = evaluation(run, data("val"), "--beam", "5", "--lowercase")
    return {
        **spent(run),
        "options": LEVERS[name],
        "processor_seconds": used.ru_utime + used.ru_stime,
        "surroundings": surroundings(),
        "scores": found["scores"],
        "word_perplexity": word_perplexity(found["scores"]),
    }


def word_perplexity(scores: list[dict[str, Any]]) -> float:
    """Perplexity per word, which does not depend on the tokenization."""
    (found,) = (each for each in scores if each["name"] == "perplexity")
    counts = dict(each.split(":") for each in found["signature"].split("|"))
    with open(data("val").split(",")[1], encoding="utf-8") as lines:
        words = sum(len(line.split()) for line in lines)
    return math.exp(math.log(found["value"]) * int(counts["tokens"]) / words)


def main() -> None:
    """Measure the named levers, or all without a result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(LEVERS))
    parser.add_argument("--page", action="store_true", help="only write the page")
    asked = parser.parse_args()
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if unknown := set(asked.names) - set(LEVERS):
        sys.exit(f"there is no lever {', '.join(sorted(unknown))}: {', '.join(LEVERS)}")
    names = asked.names or [name for name in LEVERS if name not in results]
    for name in [] if asked.page else names:
        results[name] = measure(name)
        kept = {each: results[each] for each in LEVERS if each in results}
        RESULT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    page.main()


if __name__ == "__main__":
    main()
