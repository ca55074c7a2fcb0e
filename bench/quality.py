"""Minutes of training until Multi30k German to English reaches a BLEU, beside OpenNMT-py.

    python bench/quality.py [--minutes 120] [--only seqloom|opennmt]

Ours is `seqloom train` with nothing set; OpenNMT-py has the Transformer of multi30k.py and the
schedule its manual gives for it, over the subwords that bench/train.py has made. Both look at the
held-out data and save a step every 500 updates. Each saved step is measured as the models of
foundation.py are: test_2016_flickr, beam 5, lower-cased. Ours is timed with what it does at each
look, theirs by its own clock, which leaves that out; measuring counts for neither. Theirs ends when
it has the last BLEU, or when it has taken twice as long as ours took to it: what it has not reached
by then takes it more than all of its time. A training that was stopped goes on where it was, and
its time counts every resumption. Results are kept in bench/results/quality.json; docs/results.md is
made anew.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from foundation import RESULTS, ROOT, RUNS, SEQLOOM, evaluation, surroundings
from multi30k import OpenNMT, cut, data, peer, trusting
from page import SIDES, value
from sacrebleu import corpus_bleu

AIMS = (32.0, 36.0, 40.0)
EVERY = 500  # updates
RESULT = RESULTS / "quality.json"
TEST = "test_2016_flickr"
RUN = RUNS / "bench-quality"
KEPT = RUNS / "bench-quality-steps"  # of which the run itself keeps the best and the newest
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
Curve = list[tuple[float, float]]  # minutes and BLEU of each saved step


def ours() -> Curve:
    """Minutes and BLEU of each step of our training."""
    words = ["train", data("train"), "--valid", data("val"), "--run", str(RUN)]
    settings = ["--set", f"training.validate_every={EVERY}"]
    with subprocess.Popen([*SEQLOOM, *words, *settings]) as training:
        while training.poll() is None:
            time.sleep(10)
            keep_steps()
    if training.returncode:
        sys.exit("the training has failed")
    keep_steps()
    events = [json.loads(line) for line in (RUN / "events.jsonl").read_text().splitlines()]
    looks = [each for each in events if each["event"] == "validation"]
    curve = [(each["seconds"] / 60, own_bleu(each["step"])) for each in looks]
    print("Seqloom:", ", ".join(f"BLEU {bleu:.1f} at {at:.1f} minutes" for at, bleu in curve))
    return curve


def keep_steps() -> None:
    """Copy the steps that are new into runs of their own, before the run lets them go."""
    for step in RUN.glob("step-[0-9]*"):
        own = KEPT / step.name
        if not own.exists():
            beginning = own.with_suffix(".new")
            shutil.rmtree(beginning, ignore_errors=True)
            shutil.copytree(RUN / "fields", beginning / "fields")
            shutil.copy(RUN / "config.toml", beginning)
            shutil.copytree(step, beginning / step.name)
            beginning.rename(own)


def own_bleu(step: int) -> float:
    """BLEU of a step of ours."""
    run = KEPT / f"step-{step:06}"
    return value(evaluation(run, data(TEST), "--beam", "5", "--lowercase"), "BLEU")


def theirs(minutes: float) -> Curve:
    """The same of OpenNMT-py, which is stopped after so many minutes, or at the last BLEU."""
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
    """Train from one saved step to the next; the seconds by its own clock, which counts neither
    its start nor its validation."""
    settings = dict(SCHEDULE)
    if step > EVERY:
        settings["train_from"] = PEER / f"model_step_{step - EVERY}.pt"
    reports, _ = trainer.train(step, settings)
    return reports[-1].seconds


def peer_bleu(step: int) -> float:
    """BLEU of a saved step of OpenNMT-py."""
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


def reached(curve: Curve, aim: float) -> dict[str, Any]:
    """Minutes until a BLEU, and whether it was reached in them."""
    found = [minutes for minutes, bleu in curve if bleu >= aim]
    return {"minutes": min(found, default=curve[-1][0]), "reached": bool(found)}


def keep(result: dict[str, Any]) -> None:
    """Write what is measured so far, with the minutes to each BLEU."""
    sides = [side for side in SIDES if side in result]
    result["aims"] = {
        f"{aim:g}": {side: reached(result[side]["curve"], aim) for side in sides} for aim in AIMS
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    """Train both, compare, keep."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--only", choices=["seqloom", "opennmt"])
    arguments = parser.parse_args()
    result: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if arguments.only != "opennmt":
        result["seqloom"] = {"surroundings": surroundings(), "curve": ours()}
        keep(result)
    if arguments.only != "seqloom":
        own = reached(result["seqloom"]["curve"], AIMS[-1])
        enough = 2 * own["minutes"] if own["reached"] else arguments.minutes
        curve = theirs(min(enough, arguments.minutes))
        result["opennmt"] = {"surroundings": surroundings(), "curve": curve}
        keep(result)
    print(json.dumps(result["aims"], indent=1))
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main()
