"""Measures time to quality: minutes of training to a BLEU on Multi30k, compared with OpenNMT-py.

    python bench/quality.py [--minutes 120] [--seeds 1 2 3] [--only seqloom|opennmt]

Seqloom runs with default settings, once with each seed, and its runs are those of translation.py;
OpenNMT-py trains the Transformer of multi30k.py with the schedule of its manual, over the subwords
that bench/train.py writes, and saves a checkpoint every 500 updates. Each checkpoint is evaluated
as in foundation.py: test_2016_flickr, beam 5, lower-cased. Seqloom's time includes validation,
OpenNMT-py's own clock excludes it; evaluation counts for neither. OpenNMT-py stops at the last
BLEU, or after twice Seqloom's time to it; a BLEU it has not reached by then is reported as taking
longer. An interrupted training resumes, and its time includes all sessions. Results are kept in
bench/results/quality.json, and docs/results.md is rewritten.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

from cells import value
from foundation import RESULTS, ROOT, RUNS, evaluation, surroundings
from multi30k import OpenNMT, cut, data, peer, trusting
from page import SIDES
from sacrebleu import corpus_bleu
from translation import run_of, training_command

AIMS = (32.0, 36.0, 40.0)
EVERY = 500  # updates
RESULT = RESULTS / "quality.json"
TEST = "test_2016_flickr"
PEER = RUNS / "bench-quality-onmt"
SUBWORDS = RUNS / "bench-train-transformer" / "fields"
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
Curve = list[tuple[float, float]]  # minutes and BLEU of each checkpoint


def ours(seed: int) -> Curve:
    """Minutes and BLEU of each checkpoint of Seqloom."""
    run, kept = run_of("de-en", seed), RUNS / f"bench-quality-steps-{seed}"
    with subprocess.Popen(training_command("de-en", seed, [])) as training:
        while training.poll() is None:
            time.sleep(10)
            keep_steps(run, kept)
    if training.returncode:
        sys.exit("the training has failed")
    keep_steps(run, kept)
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    found = [each for each in events if each["event"] == "validation"]
    curve = [(each["seconds"] / 60, own_bleu(kept / f"step-{each['step']:06}")) for each in found]
    print("Seqloom:", ", ".join(f"BLEU {bleu:.1f} at {at:.1f} minutes" for at, bleu in curve))
    return curve


def keep_steps(run: Path, kept: Path) -> None:
    """Copy new checkpoints into runs of their own, before they are pruned."""
    for step in run.glob("step-[0-9]*"):
        own = kept / step.name
        if not own.exists():
            beginning = own.with_suffix(".new")
            shutil.rmtree(beginning, ignore_errors=True)
            shutil.copytree(run / "fields", beginning / "fields")
            shutil.copy(run / "config.toml", beginning)
            shutil.copytree(step, beginning / step.name)
            beginning.rename(own)


def own_bleu(run: Path) -> float:
    """BLEU of a checkpoint of Seqloom, in a run of its own."""
    return value(evaluation(run, data(TEST), "--beam", "5", "--lowercase"), "BLEU")


def theirs(minutes: float) -> Curve:
    """Minutes and BLEU of each checkpoint of OpenNMT-py, stopped after so many minutes or at the
    last BLEU.
    """
    if not SUBWORDS.exists():
        sys.exit("OpenNMT-py reads the subwords of bench/train.py: run that first")
    trainer = OpenNMT("transformer", SUBWORDS, PEER)
    cut(SUBWORDS, TEST, PEER)
    times = PEER / "times.json"
    known: dict[str, float] = json.loads(times.read_text()) if times.exists() else {}
    curve: Curve = [(0.0, 0.0)]
    while curve[-1][0] < minutes and curve[-1][1] < AIMS[-1]:
        step = EVERY * len(curve)
        if str(step) not in known:
            known[str(step)] = advance(trainer, step)
            times.write_text(json.dumps(known, indent=1))
        curve.append((curve[-1][0] + known[str(step)] / 60, peer_bleu(step)))
        found = f"BLEU {curve[-1][1]:.1f} at {curve[-1][0]:.1f} minutes"
        print(f"OpenNMT-py, {step} updates: {found}", flush=True)
    return curve[1:]


def advance(trainer: OpenNMT, step: int) -> float:
    """Train from one checkpoint to the next; return the seconds by its own clock, without start and
    validation.
    """
    settings = dict(SCHEDULE)
    if step > EVERY:
        settings["train_from"] = PEER / f"model_step_{step - EVERY}.pt"
    reports, _ = trainer.train(step, settings)
    return reports[-1].seconds


def peer_bleu(step: int) -> float:
    """BLEU of a checkpoint of OpenNMT-py."""
    output = PEER / f"step-{step}.txt"
    if not output.exists():
        words = ["-model", PEER / f"model_step_{step}.pt", "-src", PEER / f"{TEST}.source"]
        words += ["-output", output, "-beam_size", 5, "-batch_size", 64]
        program = peer("onmt") / "onmt_translate"
        command = [str(program), *map(str, words)]
        subprocess.run(command, check=True, env=trusting(), stdout=subprocess.DEVNULL)
    texts = [line.replace(" ", "").replace("▁", " ").strip() for line in lines(output)]
    references = lines(Path(data(TEST).split(",")[1]))
    return float(corpus_bleu(texts, [references], lowercase=True).score)


def lines(path: Path) -> list[str]:
    """The lines of a text."""
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


def reached(curves: dict[str, Curve], aim: float) -> dict[str, Any]:
    """Mean minutes to a BLEU over the seeds, and whether each of them reached it."""
    found = [[minutes for minutes, bleu in curve if bleu >= aim] for curve in curves.values()]
    ends = [curve[-1][0] for curve in curves.values()]
    minutes = [min(each, default=end) for each, end in zip(found, ends, strict=True)]
    return {"minutes": mean(minutes), "range": [min(minutes), max(minutes)], "reached": all(found)}


def keep(result: dict[str, Any]) -> None:
    """Write the results so far, with the minutes to each BLEU."""
    sides = [side for side in SIDES if side in result]
    result["aims"] = {
        f"{aim:g}": {side: reached(result[side]["curves"], aim) for side in sides} for aim in AIMS
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    """Train both, compare them, and write the results."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--only", choices=["seqloom", "opennmt"])
    arguments = parser.parse_args()
    result: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if arguments.only != "opennmt":
        curves = result.get("seqloom", {}).get("curves", {})
        for seed in arguments.seeds:
            curves[str(seed)] = ours(seed)
            result["seqloom"] = {"surroundings": surroundings(), "curves": curves}
            keep(result)
    if arguments.only != "seqloom":
        own = reached(result["seqloom"]["curves"], AIMS[-1])
        enough = 2 * own["minutes"] if own["reached"] else arguments.minutes
        curve = theirs(min(enough, arguments.minutes))
        result["opennmt"] = {"surroundings": surroundings(), "curves": {"1": curve}}
        keep(result)
    print(json.dumps(result["aims"], indent=1))
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main()
