"""Measures students on Multi30k German to English beside their teachers and CTranslate2.

    python bench/students.py [NAME ...] [--rounds 3] [--teachers RUN ...] [--no-speed]

Names: fast and tiny (presets that learn from the first teacher alone), ensemble (a student of the
shape that `train` chooses, which learns from all of them), alone (the first teacher itself, as the
model trained without distillation). Teachers are those of bench/translation.py de-en, seeds 1 to 5,
as far as they are trained, unless runs are named. The files lie in the folder that
SEQLOOM_SHARED_DATA names. Students search greedily in int8 with a shortlist; the first teacher
decodes with beam 5, in float32 and int8 by Seqloom and in int8 by CTranslate2 with whichever batch,
threads and instruction set it is fastest with. Systems take turns over test_2016_flickr; speeds are
medians over the rounds. An interrupted distillation is resumed. Results are kept in
bench/results/students.json, and docs/results.md is written from them.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import page
from decode import (
    BEAM,
    GREEDY,
    SETS,
    Comparison,
    Decode,
    Peer,
    Timing,
    ours,
    their_settings,
)
from engine import Work, exported, learnt
from foundation import RESULTS, RUNS, SEQLOOM, evaluation, spent, surroundings
from translation import files, run_of

RESULT = RESULTS / "students.json"
DIRECTION = ("de", "en")
TRIED = 100  # sentences on which CTranslate2's settings are tried


class Student(NamedTuple):
    """How many teachers a student learns from, its preset, and further options of `distill`."""

    teachers: int
    preset: str
    options: tuple[str, ...] = ()


STUDENTS = {
    "fast": Student(1, "fast", ("--token-level",)),
    "tiny": Student(1, "tiny", ("--token-level",)),
    "ensemble": Student(5, "auto", ("--token-level",)),
}
FORMS = {
    "teacher, beam 5, float32": Comparison(BEAM, "float32", False, "float32", False, 0.0),
    "teacher, beam 5, int8": Comparison(BEAM, "int8", False, "int8", False, 0.0),
}
STUDENT_FORM = Comparison(GREEDY, "int8", True, "int8", False, 0.0)


def distilled(name: str, teachers: list[Path]) -> Path:
    """The student's run, trained as far as it is not yet."""
    student, run = STUDENTS[name], RUNS / f"bench-student-{name}"
    if len(teachers) < student.teachers:
        raise SystemExit(f"bench/students.py: {name} learns from {student.teachers} teachers")
    words = ["distill", *map(str, teachers[: student.teachers]), "--run", str(run), "--beam", "5"]
    subprocess.run([*SEQLOOM, *words, "--model", student.preset, *student.options], check=True)
    return run


def scores(run: Path, *search: str) -> dict[str, Any]:
    """Scores on the test set, lower-cased."""
    found = evaluation(run, files("test_2016_flickr", DIRECTION), *search, "--lowercase")
    weights = max(run.glob("step-*")) / "model.safetensors"
    return {**spent(run), "scores": found["scores"], "megabytes": weights.stat().st_size / 1e6}


def best_of(peers: list[Peer], work: Work, wanted: Comparison) -> tuple[str, Decode]:
    """The setting of CTranslate2 that is fastest on some of the sentences."""
    rows = work.rows[:: max(1, len(work.rows) // TRIED)]
    settings = dict(their_settings(peers, work, wanted))
    for decode in settings.values():
        decode(rows[:4])
    return min(settings.items(), key=lambda each: each[1](rows).seconds)


def speeds(teacher: Path, students: dict[str, Path], rounds: int) -> dict[str, Any]:
    """Sentences a second and BLEU of every system, which take turns."""
    work = {"teacher": learnt(teacher, 1_000)}
    systems: dict[str, tuple[Work, Decode]] = {
        name: (work["teacher"], ours(teacher, work["teacher"], form))
        for name, form in FORMS.items()
    }
    for name, run in students.items():
        work[name] = learnt(run, 1_000)
        systems[name] = (work[name], ours(run, work[name], STUDENT_FORM))
    with tempfile.TemporaryDirectory() as folder:
        exported(work["teacher"], Path(folder))
        peers = [Peer(Path(folder), each) for each in SETS]
        chosen, decode = best_of(peers, work["teacher"], FORMS["teacher, beam 5, int8"])
        systems["teacher, beam 5, int8, CTranslate2"] = (work["teacher"], decode)
        times: dict[str, list[Timing]] = {name: [] for name in systems}
        for _ in range(rounds):
            for name, (own, decode) in systems.items():
                times[name].append(decode(own.rows))
        for peer in peers:
            peer.process.terminate()
    return {"theirs": chosen} | {
        name: {
            "sentences_per_second": len(own.rows) / statistics.median(t.seconds for t in each),
            "processor_ms": 1e3 / len(own.rows) * statistics.median(t.processor for t in each),
            "bleu": own.bleu(each[-1].outputs) if own.bleu else None,
        }
        for (name, (own, _)), each in zip(systems.items(), times.values(), strict=True)
    }


def main() -> None:
    """Distill what has no result yet, measure all beside each other, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STUDENTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--teachers", nargs="+", type=Path)
    parser.add_argument("--no-speed", action="store_true", help="measure quality alone")
    asked = parser.parse_args()
    teachers = asked.teachers or [run_of("de-en", seed) for seed in range(1, 6)]
    teachers = [each for each in teachers if each.exists()]
    students = {name: distilled(name, teachers) for name in asked.names or STUDENTS}
    result: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    result["surroundings"] = {**surroundings(), "load": os.getloadavg()[0], "rounds": asked.rounds}
    result["teacher"] = scores(teachers[0], "--beam", "5")
    for name, run in students.items():
        search = ("--beam", "5") if STUDENTS[name].teachers > 1 else ()
        found = scores(run, *search)
        result.setdefault("students", {})[name] = {**found, **STUDENTS[name]._asdict()}
    if not asked.no_speed:
        small = {name: run for name, run in students.items() if STUDENTS[name].teachers == 1}
        result["speeds"] = speeds(teachers[0], small, asked.rounds)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    page.main()


if __name__ == "__main__":
    main()
