"""Minutes of training until Multi30k German to English reaches a BLEU, beside OpenNMT-py.

    python bench/quality.py [--minutes 120] [--only seqloom|opennmt]

Ours is `seqloom train` with nothing set; OpenNMT-py has the Transformer of multi30k.py and the
schedule its manual gives for it. Both look at the held-out data every 500 updates, and their BLEU
there is compared: ours as the training itself reports it, theirs by its beam search of 5 over each
saved step, whose time does not count. A BLEU that is not reached counts as all of the time. A
training that was stopped goes on where it was, and its time is that of all sittings. Results are
kept in bench/results/quality.json; docs/results.md is made anew.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from foundation import RESULTS, ROOT, RUNS, SEQLOOM, surroundings
from multi30k import OpenNMT, data, peer
from sacrebleu import corpus_bleu

AIMS = (32.0, 36.0, 40.0)
EVERY = 500  # updates
RUN = RUNS / "bench-quality"
PEER = RUNS / "bench-quality-onmt"
SCHEDULE: dict[str, Any] = {
    "optim": "adam",
    "adam_beta2": 0.998,
    "decay_method": "noam",
    "warmup_steps": 8_000,
    "learning_rate": 2,
    "max_grad_norm": 0,
    "param_init": 0,
    "param_init_glorot": "true",
    "save_checkpoint_steps": EVERY,
    "valid_steps": EVERY,
    "report_every": 50,
}
Curve = list[tuple[float, float]]  # minutes and BLEU


def ours() -> Curve:
    """Minutes and held-out BLEU of our training."""
    words = ["train", data("train"), "--valid", data("val"), "--run", str(RUN)]
    settings = ["--set", f"training.validate_every={EVERY}"]
    subprocess.run([*SEQLOOM, *words, *settings], check=True)
    events = [json.loads(line) for line in (RUN / "events.jsonl").read_text().splitlines()]
    found = [each for each in events if each["event"] == "validation"]
    return [(each["seconds"] / 60, each["metric"]) for each in found]


def theirs(minutes: float) -> Curve:
    """The same of OpenNMT-py, which is stopped after so many minutes."""
    trainer = OpenNMT("transformer", RUN / "fields", PEER)
    spent, step = 0.0, 0
    times = PEER / "times.json"
    known: dict[str, float] = json.loads(times.read_text()) if times.exists() else {}
    while spent < 60 * minutes:
        step += EVERY
        if str(step) not in known:
            known[str(step)] = advance(trainer, step)
            times.write_text(json.dumps(known, indent=1))
        spent += known[str(step)]
    steps = [number * EVERY for number in range(1, step // EVERY + 1)]
    total, curve = 0.0, []
    for each in steps:
        total += known[str(each)]
        curve.append((total / 60, bleu(each)))
    return curve


def advance(trainer: OpenNMT, step: int) -> float:
    """Train from one saved step to the next; the seconds by its own clock, which counts neither
    its start nor its validation."""
    settings = dict(SCHEDULE)
    if step > EVERY:
        settings["train_from"] = PEER / f"model_step_{step - EVERY}.pt"
    reports, _ = trainer.train(step, settings)
    return reports[-1].seconds


def bleu(step: int) -> float:
    """Held-out BLEU of a saved step of OpenNMT-py."""
    output = PEER / f"step-{step}.txt"
    if not output.exists():
        words = ["-model", PEER / f"model_step_{step}.pt", "-src", PEER / "val.source"]
        words += ["-output", output, "-beam_size", 5, "-batch_size", 64]
        program = peer("onmt") / "onmt_translate"
        subprocess.run([str(program), *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    lines = output.read_text(encoding="utf-8").rstrip("\n").split("\n")
    texts = [line.replace(" ", "").replace("▁", " ").strip() for line in lines]
    wanted = Path(data("val").split(",")[1]).read_text(encoding="utf-8").rstrip("\n").split("\n")
    return float(corpus_bleu(texts, [wanted]).score)


def reached(curve: Curve, aim: float, most: float) -> float:
    """Minutes until a BLEU, or all of them."""
    return min((minutes for minutes, found in curve if found >= aim), default=most)


def main() -> None:
    """Train both, compare, keep."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--only", choices=["seqloom", "opennmt"])
    arguments = parser.parse_args()
    kept = RESULTS / "quality.json"
    result: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    if arguments.only != "opennmt":
        result["seqloom"] = {"surroundings": surroundings(), "curve": ours()}
    if arguments.only != "seqloom":
        curve = theirs(arguments.minutes)
        result["opennmt"] = {"surroundings": surroundings(), "curve": curve}
    sides = [name for name in ("seqloom", "opennmt") if name in result]
    result["minutes"] = {
        f"{aim:g}": {side: reached(result[side]["curve"], aim, arguments.minutes) for side in sides}
        for aim in AIMS
    }
    kept.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["minutes"], indent=1))
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main()
