"""Times training against OpenNMT-py, eole and a plain loop around torch's modules, in one sitting.

    python bench/train.py [--rounds 3] [--updates 60] [--long 300] [--only transformer|lstm]

Both models of multi30k.py, same subwords, batches of about 4,096 positions, dropout and smoothing,
Adam at a constant rate; ours in the precision that `auto` chooses, the others in float32. In each
round every trainer makes some updates in a process of its own, one after the other; its speed is
target tokens a second over all updates but the first ten, and figures are medians over rounds. Then
Seqloom and OpenNMT-py each make the long run, and their held-out losses after equally many updates
are set side by side. A long run of ours that was stopped goes on. Results are printed and kept in
bench/results/train.json; docs/results.md is made anew.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from foundation import RESULTS, ROOT, RUNS, surroundings
from multi30k import MODELS, Eole, OpenNMT, data, options
from scale import WARM_UP, Meter

from seqloom.api.train import train
from seqloom.runs.process import cores
from seqloom.runs.progress import Validation, ValidationSample

RATE = 5e-4
AIMS = {"transformer": 2.0, "lstm": 2.0}
EQUAL: dict[str, Any] = {
    "rate": RATE,
    "warmup": 0,
    "decay": "constant",
    "clip_norm": 0.0,
    "average": "none",
    "patience": 0,
    "workers": cores(),  # as chosen for any run that is long enough, ...
    "precision": "auto",  # ... and so is this
}
THEIRS: dict[str, Any] = {
    "optim": "adam",
    "learning_rate": RATE,
    "decay_method": "none",
    "max_grad_norm": 0,
    "param_init": 0,
    "param_init_glorot": "true",
}


class Losses(Meter):
    """Keeps the held-out losses too."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def on_validation(
        self, validation: Validation, samples: list[ValidationSample], *, best: bool
    ) -> None:
        self.losses.append(validation.loss)


def ours(model: str, run: Path, updates: int) -> dict[str, Any]:
    """Be one run of ours."""
    meter = Losses()
    chosen = options(model, {**EQUAL, "updates": updates, "validate_every": updates})
    train(data("train"), run, valid=data("val"), options=chosen, watch=meter)
    return {"speed": meter.speed, "losses": meter.losses}


def ours_apart(model: str, updates: int, run: Path | None = None) -> dict[str, Any]:
    """One run of ours in a process of its own, which starts its workers itself."""
    with tempfile.TemporaryDirectory(prefix="seqloom-") as folder:
        place = Path(folder, "run") if run is None else run
        words = ["--one", model, "--updates", str(updates), "--in", str(place)]
        done = subprocess.run(
            [sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True, check=True
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def eole(fields: Path, updates: int) -> dict[str, Any]:
    """The same by eole."""
    names = ("optim", "learning_rate", "decay_method", "max_grad_norm")
    trainer = Eole("transformer", fields, RUNS / "bench-train-eole")
    reports, _ = trainer.train(updates, {name: THEIRS[name] for name in names})
    counted = [each.tokens_per_second for each in reports if each.step > WARM_UP]
    return {"speed": statistics.harmonic_mean(counted), "losses": []}


def theirs(peer: OpenNMT, updates: int) -> dict[str, Any]:
    """The same by OpenNMT-py."""
    import math

    reports, perplexities = peer.train(updates, {**THEIRS, "valid_steps": updates})
    counted = [each.tokens_per_second for each in reports if each.step > WARM_UP]
    losses = [math.log(each) for each in perplexities]
    return {"speed": statistics.harmonic_mean(counted), "losses": losses}


def plain(model: str, fields: Path, updates: int) -> dict[str, Any]:
    """The same by a plain loop, in a process of its own."""
    words = [model, str(fields), str(updates)]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("plain.py")), *words],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compared(model: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """All trainers in turn, round after round, then the two long runs."""
    longest = RUNS / f"bench-train-{model}"
    found = ours_apart(model, arguments.long, longest)
    peer = OpenNMT(model, longest / "fields", RUNS / f"bench-train-{model}-onmt")
    speeds: dict[str, list[float]] = {}
    for number in range(arguments.rounds):
        timed = {
            "Seqloom": ours_apart(model, arguments.updates),
            "OpenNMT-py": theirs(peer, arguments.updates),
        }
        if model == "transformer":
            timed["plain loop"] = plain(model, longest / "fields", arguments.updates)
            timed["eole"] = eole(longest / "fields", arguments.updates)
        for name, each in timed.items():
            speeds.setdefault(name, []).append(each["speed"])
            print(f"{model}, round {number + 1}: {name}: {each['speed']:,.0f}", flush=True)
    losses = {"Seqloom": found["losses"][-1:], "OpenNMT-py": theirs(peer, arguments.long)["losses"]}
    best = max(statistics.median(speed) for name, speed in speeds.items() if name != "Seqloom")
    ratio = statistics.median(speeds["Seqloom"]) / best
    return {"speeds": speeds, "losses": losses, "ratio": ratio, "aim": AIMS[model]}


def main() -> None:
    """Compare on both models, keep the figures, and write the page anew."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--long", type=int, default=300)
    parser.add_argument("--only", choices=list(MODELS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--in", dest="run", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(ours(arguments.one, arguments.run, arguments.updates)))
        return
    kept = RESULTS / "train.json"
    result = json.loads(kept.read_text()) if kept.exists() else {}
    for model in [arguments.only] if arguments.only else MODELS:
        around = {**surroundings(), "load": os.getloadavg()[1]}
        counts = {"rounds": arguments.rounds, "updates": arguments.updates, "long": arguments.long}
        result[model] = {"surroundings": around, **counts, **compared(model, arguments)}
        kept.write_text(json.dumps(result, indent=1) + "\n")
        print(json.dumps(result[model], indent=1))
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main()
