"""Evaluates default settings on many kinds of data (docs/automatic.md).

    python bench/automatic.py [NAME ...] [--clones FOLDER] [--presets lstm transformer]
                              [--minutes N] [--set NAME=VALUE ...] [--page]

Every set is trained with default settings and compared with its trivial baseline, a classical model
and the published figure, if there is one; the estimate of `seqloom check` is compared with the time
taken. Without names, all sets without a result are measured, the small ones first. Public data lie
in the folder that SEQLOOM_SHARED_DATA names; FOLDER holds clones of the repositories that
`automatic_sets.py` names, each as owner+name. With presets, each of them is trained too, to check
the automatic choice. With minutes, a training ends annealed after so many, and the page says so. An
interrupted training resumes, and a finished one is repeated only if its folder among the runs is
removed. Every result is kept at once in bench/results/automatic.json, and the page is rewritten.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from automatic_sets import SETS, DataSet, Tables
from classical import classical_scores
from foundation import RESULTS, ROOT, RUNS, SEQLOOM, evaluation, spent, surroundings
from users import estimated_minutes

RESULT = RESULTS / "automatic.json"
PAGE = ROOT / "docs" / "automatic.md"
HEADINGS = (
    *("set", "rows", "automatic", "trivial", "classical", "published", "best other preset"),
    "minutes: estimated / taken",
)
INTRODUCTION = """# The automatic choice

What `seqloom train` reaches with default settings on sets that it was not tuned for, written by
`python bench/automatic.py` from the results that were measured. *Trivial* is the majority class,
the commonest tag of a word, a copy of the source, or the seasonal forecast; *classical* is the best
of the baselines of `seqloom evaluate` and, where the kind of data has one, of scikit-learn:
logistic regression over n-grams, over a window of words or over a spectrogram, or the target of
the nearest training source. A set that is not listed was not measured yet:
`python bench/automatic.py NAME` does it. Names: {names}.
"""


class Asked(NamedTuple):
    """Where clones lie, which presets are tried, and what bounds and settings trainings have."""

    folder: Path | None
    presets: Sequence[str]
    minutes: float
    options: Sequence[str]

    def settings(self) -> list[str]:
        """The options of a training beside those of its columns."""
        bound = [f"training.minutes={self.minutes:g}"] if self.minutes else []
        return [word for each in (*bound, *self.options) for word in ("--set", each)]


def measure(name: str, asked: Asked, preset: str = "auto") -> dict[str, Any]:
    """Train a set with default settings or a preset, and evaluate it; or what was kept of that."""
    chosen = SETS[name]
    tables = chosen.write(RUNS / f"automatic-{name}-data", asked.folder)
    run = RUNS / f"automatic-{name}{'' if preset == 'auto' else f'-{preset}'}"
    kept = run / "measured.json"
    if kept.exists():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    words = [str(tables.train), *chosen.options]
    words += ["--valid", str(tables.valid)] if tables.valid else []
    words += [] if preset == "auto" else ["--model", preset]
    said = run.with_name(f"{run.name}-estimate.json")
    if not said.exists():
        said.parent.mkdir(exist_ok=True)
        said.write_text(json.dumps(estimated_minutes([*words, *asked.settings()])))
    subprocess.run([*SEQLOOM, "train", *words, *asked.settings(), "--run", str(run)], check=True)
    result = {
        **spent(run),
        "estimate": json.loads(said.read_text()),
        **scores_of(evaluation(run, str(tables.test))),
        "rows": rows_of(tables),
        "bound": asked.minutes,
    }
    kept.write_text(json.dumps(result, ensure_ascii=False), encoding="utf-8")
    return result


def scores_of(found: dict[str, Any]) -> dict[str, Any]:
    """The scores of an evaluation by their names, and those of each baseline."""
    return {
        "scores": {each["name"]: each for each in found["scores"]},
        "baselines": {
            words: {each["name"]: each["value"] for each in listed(scores)}
            for words, scores in found.get("baselines", {}).items()
        },
    }


def listed(scores: Any) -> list[dict[str, Any]]:
    """The scores of a baseline, which is one alone for some kinds of target."""
    return [scores] if isinstance(scores, dict) else list(scores)


def rows_of(tables: Tables) -> int:
    """Rows to learn from: lines of a table, sentences of a CoNLL-U file."""
    text = Path(str(tables.train).partition(",")[0]).read_text(encoding="utf-8")
    return text.count("\n\n") if tables.train.suffix == ".conllu" else text.count("\n")


def compare(name: str, asked: Asked) -> dict[str, Any]:
    """Measure a set and its baselines."""
    chosen, found = SETS[name], measure(name, asked)
    tables = chosen.write(RUNS / f"automatic-{name}-data", asked.folder)
    classical = {}
    if chosen.classical:
        classical = classical_scores(chosen.classical, tables, chosen.score)
    others = {each: measure(name, asked, each)["scores"][chosen.score] for each in asked.presets}
    baselines = {**found["baselines"], **classical}
    return {**found, "baselines": baselines, "presets": others, "surroundings": surroundings()}


def load() -> dict[str, Any]:
    """The results so far."""
    return json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}


def beside(chosen: DataSet, found: dict[str, Any]) -> tuple[float | None, float | None]:
    """The trivial baseline and the best classical model."""
    values = [each[chosen.score] for each in found["baselines"].values() if chosen.score in each]
    if not values:
        return None, None
    worst, best = (min, max) if chosen.higher else (max, min)
    return worst(values), best(values)


def line(name: str, found: dict[str, Any]) -> str:
    """A set's row of the table."""
    chosen, score = SETS[name], found["scores"][SETS[name].score]
    trivial, classical = beside(chosen, found)
    interval = f" ({figure(score['low'])}–{figure(score['high'])})" if "low" in score else ""
    best = max if chosen.higher else min
    presets = found.get("presets", {})
    other = ""
    if presets:
        preset = best(presets, key=lambda each: presets[each]["value"])
        other = f"{preset} {figure(presets[preset]['value'])}"
    minutes = f"{found['estimate']:.1f} / " if found["estimate"] else ""
    cells = [
        f"{name}: {chosen.title}",
        f"{found['rows']:,}",
        f"{chosen.score} {figure(score['value'])}{interval}",
        figure(trivial),
        figure(classical) + (" **ahead**" if is_ahead(chosen, classical, score["value"]) else ""),
        chosen.published,
        other,
        f"{minutes}{found['seconds'] / 60:.1f}{', bounded' if found.get('bound') else ''}",
    ]
    return f"| {' | '.join(cells)} |"


def is_ahead(chosen: DataSet, baseline: float | None, value: float) -> bool:
    """Whether a baseline is better than the model."""
    if baseline is None:
        return False
    return baseline > value if chosen.higher else baseline < value


def figure(value: float | None) -> str:
    """A number to about three digits."""
    if value is None:
        return ""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def write_page(results: dict[str, Any]) -> None:
    """Write the page from all results."""
    ordered = [name for name in SETS if name in results]
    machines = {
        f"{each['date']}, {each['cores']} cores of {each['processor']}, torch {each['torch']}"
        for each in (results[name]["surroundings"] for name in ordered)
    }
    lines = [
        INTRODUCTION.format(names=", ".join(SETS)),
        f"| {' | '.join(HEADINGS)} |",
        f"|{' --- |' * len(HEADINGS)}",
        *(line(name, results[name]) for name in ordered),
        "",
        f"One seed. Measured on {'; '.join(sorted(machines))}. Minutes are those of training and "
        "validating; other work ran on the same machine, which lengthens them.",
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """Measure what is named or missing, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *SETS])
    parser.add_argument("--clones", type=Path, metavar="FOLDER")
    parser.add_argument("--presets", nargs="*", default=[])
    parser.add_argument("--minutes", type=float, default=0.0, metavar="N")
    parser.add_argument("--set", action="append", default=[], dest="options", metavar="NAME=VALUE")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    asked = parser.parse_args(arguments)
    request = Asked(asked.clones, asked.presets, asked.minutes, asked.options)
    results = load()
    names = [] if asked.page else asked.names or [each for each in SETS if each not in results]
    for name in names:
        if SETS[name].repository and asked.clones is None:
            print(f"{name}: needs --clones with {SETS[name].repository}", file=sys.stderr)
            continue
        results = {**load(), name: compare(name, request)}
        RESULT.write_text(
            json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        print(line(name, results[name]), flush=True)
    write_page(results)


if __name__ == "__main__":
    main(sys.argv[1:])
