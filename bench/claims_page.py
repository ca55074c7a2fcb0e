"""Writes docs/claims.md and its plots from bench/results/claims.json (S6.9).

    python bench/claims_page.py

A number is a mean over seeds with its 95 % interval (Student's t); a claim about a difference holds
where the interval of the difference, seed by seed, does not reach 0.
"""

import json
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from claims import DISTANCES, RADII, SCHEDULES
from foundation import RESULTS, ROOT, write_between
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seqloom.drawing.image_files import save

PAGE, IMAGES = ROOT / "docs" / "claims.md", ROOT / "docs" / "images"
MARKS = (
    "<!-- claims: bench/claims_page.py writes what stands between these two lines -->",
    "<!-- end of claims -->",
)
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 20: 2.093}  # by the number of seeds
FORMS = {
    "a": "(a) state only, no feedback", "b": "(b) first state", "c": "(c) and every input",
    "d": "(d) and every output", "e": "(e) attention",
}  # fmt: skip
UNITS = ("Elman", "GRU", "LSTM")
KINDS = {
    "identity, orthogonal": "linear, W orthogonal", "identity, normal": "linear, W random",
    "tanh, normal": "tanh, W random", "relu, normal": "ReLU, W random",
}  # fmt: skip


class Interval(NamedTuple):
    """A mean and half the width of its 95 % interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.half:.1f}"


def interval(values: Sequence[float]) -> Interval:
    """Of values of several seeds."""
    spread = statistics.stdev(values) / len(values) ** 0.5
    return Interval(statistics.fmean(values), T95[len(values)] * spread)


class Results:
    """What was measured, by part, setting and seed."""

    def __init__(self) -> None:
        self.all: dict[str, Any] = json.loads((RESULTS / "claims.json").read_text())

    def of(self, part: str, setting: str) -> list[dict[str, Any]]:
        """The results of every seed, in order."""
        begin = f"{part}/{setting}/"
        names = [name for name in self.all if name.startswith(begin)]
        return [self.all[name] for name in sorted(names, key=lambda each: int(each[len(begin) :]))]

    def values(self, part: str, setting: str, pick: Callable[[Any], float]) -> list[float]:
        """One number of every seed."""
        return [pick(each) for each in self.of(part, setting)]

    def difference(self, one: tuple[str, str], other: tuple[str, str],
                   pick: Callable[[Any], float]) -> Interval:  # fmt: skip
        """One setting minus the other, seed by seed."""
        pairs = zip(self.values(*one, pick), self.values(*other, pick), strict=False)
        return interval([first - second for first, second in pairs])

    def has(self, part: str, *settings: str) -> bool:
        """Whether at least three seeds of each setting are there."""
        return all(len(self.of(part, each)) >= 3 for each in settings)


def verdict(difference: Interval) -> str:
    """Whether a difference is above 0, below it, or neither."""
    if difference.mean - difference.half > 0:
        return "borne out"
    return "contradicted" if difference.mean + difference.half < 0 else "not decided"


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Rows in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines] + [""]


def lines(axes: Axes, places: Sequence[float], label: str, found: Sequence[Interval]) -> None:
    """A line with a band for its interval."""
    means, halves = np.array([each.mean for each in found]), np.array([each.half for each in found])
    (line,) = axes.plot(places, means, marker=".", linewidth=1.8, label=label)
    axes.fill_between(places, means - halves, means + halves, color=line.get_color(), alpha=0.15,
                      linewidth=0)  # fmt: skip


def finish(axes: Axes, title: str, across: str, up: str) -> None:
    """The frame of a plot."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)


def panels(figure: Figure, count: int) -> list[Axes]:
    """Plots side by side."""
    figure.set_size_inches(4.6 * count, 3.4)
    figure.set_layout_engine("tight")
    return [figure.add_subplot(1, count, number + 1) for number in range(count)]


def lengths(results: Results) -> list[str]:
    """Claim 1: quality falls with length, and attention mends it."""
    parts = {part: score for part, score in (("letters", "exact"), ("sentences", "bleu"))
             if results.has(part, "b", "e")}  # fmt: skip
    names = {"letters": ("strings copied", "letters", "exact match, %"),
             "sentences": ("phrases into French", "words", "BLEU")}  # fmt: skip
    bins = {"letters": ("3–4", "5–6", "7–8", "9–10", "11–12"),
            "sentences": ("7", "11", "15")}  # fmt: skip

    def by_length(part: str, setting: str) -> list[Interval]:
        score = parts[part]
        return [interval(results.values(part, setting, lambda each, n=n: each["lengths"][n][score]))
                for n in range(len(bins[part]))]  # fmt: skip

    def fill(figure: Figure) -> None:
        for axes, part in zip(panels(figure, len(parts)), parts, strict=True):
            for setting, label in (("b", "fixed code"), ("e", "attention")):
                lines(axes, range(len(bins[part])), label, by_length(part, setting))
            axes.set_xticks(range(len(bins[part])), bins[part])
            finish(axes, names[part][0], f"source length, {names[part][1]}", names[part][2])

    save(IMAGES / "claims-length.png", fill)
    text = []
    for part, score in parts.items():
        text += [
            f"{names[part][0][0].upper()}{names[part][0][1:]}, {names[part][2]}, by source length:",
            "",
        ]
        text += table(("", *bins[part]), [(label, *by_length(part, setting)) for setting, label in
                      (("b", "fixed code"), ("e", "attention"))])  # fmt: skip
        gain = results.difference((part, "e"), (part, "b"),
                                  lambda each, s=score: fall(each, s, -1))  # fmt: skip
        text.append(f"Attention falls less from the shortest to the longest by {gain}: "
                    f"**{verdict(gain)}**.")  # fmt: skip
        text.append("")
    return ["## Quality by source length", "", "*Claim: a fixed code fails on long sources, and "
            "attention mends it.*", "", "![quality by length](images/claims-length.png)", "",
            *text]  # fmt: skip


def fall(result: dict[str, Any], score: str, sign: int) -> float:
    """By how much the longest are worse than the shortest, times a sign."""
    found = result["lengths"]
    return sign * float(found[0][score] - found[-1][score])


def codes(results: Results) -> list[str]:
    """Claim 2: the influence of the code fades."""
    parts = [part for part in ("letters", "sentences") if results.has(part, *FORMS)]
    names = {"letters": "strings copied, trained", "sentences": "phrases into French, trained"}
    chosen = [*((part, "dependence", names[part]) for part in parts),
              ("letters", "untrained", "untrained")]  # fmt: skip

    def steps(part: str, form: str, which: str) -> list[Interval]:
        count = len(results.of(part, form)[0][which])
        return [interval(results.values(part, form, lambda each, n=n: each[which][n]))
                for n in range(count)]  # fmt: skip

    def fill(figure: Figure) -> None:
        for axes, (part, which, title) in zip(panels(figure, len(chosen)), chosen, strict=True):
            for form, label in FORMS.items():
                found = steps(part, form, which)
                lines(axes, range(1, len(found) + 1), label, found)
            finish(axes, title, "output step t", "divergence, bits")
            if which == "untrained":
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
                axes.set_ylim(bottom=5e-7)
            else:
                axes.get_legend().remove()

    save(IMAGES / "claims-code.png", fill)
    rows, text = [], []
    for part, which, title in chosen:
        for form, label in FORMS.items():
            found = steps(part, form, which)
            kept = [each[which][-1] / each[which][0] for each in results.of(part, form)]
            cells = [f"{found[t].mean:.3f}" if which != "untrained" else f"{found[t].mean:.6f}"
                     for t in (0, 3, 7, 11)]  # fmt: skip
            rows.append((title, label, *cells, f"{statistics.fmean(kept):.2f}"))
    text += table(("", "decoder", "t = 1", "4", "8", "12", "t = 12 over t = 1"), rows)
    for part in parts:
        fades = interval([each["dependence"][0] - each["dependence"][-1]
                          for each in results.of(part, "b")])  # fmt: skip
        keeps = results.difference((part, "d"), (part, "b"), lambda each: each["dependence"][-1])
        text += [f"{names[part].capitalize()}: from t = 1 to t = 12 the divergence of (b) falls by "
                 f"{fades.mean:.3f} ± {fades.half:.3f}: **{verdict(fades)}**. At t = 12, (d) is "
                 f"above (b) by {keeps.mean:.3f} ± {keeps.half:.3f}: **{verdict(keeps)}**.",
                 ""]  # fmt: skip
    text += [
        "Before training, the influence fades fast where the code is the first state alone, in (a) "
        "and (b), and not where it joins every step, in (c) and (d), or is attended to: so far the "
        "claim is **borne out**. Training can undo it: a decoder that must copy learns to keep "
        "the code.", "",
    ]  # fmt: skip
    return [
        "## How long the code is felt", "",
        "*Claim: the influence of the code fades as the output grows, less so where the code joins "
        "every step.*", "",
        "The measure: both decoders read the row's own target up to t; one has the row's own code, "
        "the other that of another row. The Jensen–Shannon divergence of the two distributions of "
        "the next symbol is 0 bits where the code has no influence and 1 where they do not "
        "overlap. With attention, all states are exchanged.", "",
        "![divergence by output step](images/claims-code.png)", "", *text,
    ]  # fmt: skip


def reversal(results: Results) -> list[str]:
    """Claim 3: reversing the source helps."""
    tasks = {"letters": ("strings copied", "exact"), "backwards": ("strings written backwards",
             "exact"), "sentences": ("phrases into French", "bleu")}  # fmt: skip
    rows = []
    for part, (name, score) in tasks.items():
        if not results.has(part, "b", "b reversed"):
            continue
        plain, turned = (interval(results.values(part, each, lambda r, s=score: r["whole"][s]))
                         for each in ("b", "b reversed"))  # fmt: skip
        gain = results.difference((part, "b reversed"), (part, "b"),
                                  lambda each, s=score: each["whole"][s])  # fmt: skip
        measure = "BLEU" if score == "bleu" else "exact match, %"
        rows.append((name, measure, plain, turned, gain, verdict(gain)))
    return [
        "## Reversing the source", "",
        "*Claim: a fixed code works better where the source is read backwards.* Where the output "
        "is itself backwards, reading backwards moves the first pairs apart, so the claim "
        "there would be contradicted.", "",
        *table(("", "", "plain", "reversed", "gain", "the claim is"), rows),
    ]  # fmt: skip


def exposure(results: Results) -> list[str]:
    """Claim 4: teacher forcing leaves a gap."""
    names = {"": "always", **{f" {each}": each for each in SCHEDULES}}
    rows, gaps = [], {}
    for suffix, name in names.items():
        setting = f"b{suffix}"
        gaps[name] = results.values("letters", setting, lambda each: each["gap"])
        loss = interval(results.values("letters", setting, lambda each: each["loss"]))
        exact = interval(results.values("letters", setting, lambda each: each["whole"]["exact"]))
        gap = interval(gaps[name])
        rows.append((name, f"{loss.mean:.2f} ± {loss.half:.2f}", f"{gap.mean:.2f} ± {gap.half:.2f}",
                     exact))  # fmt: skip
    first = interval(gaps["always"])
    less = interval([a - b for a, b in zip(gaps["always"], gaps["never"], strict=True)])
    speed = results.difference(("letters", "b"), ("letters", "b never"),
                               lambda each: each["whole"]["exact"])  # fmt: skip

    def fill(figure: Figure) -> None:
        (axes,) = panels(figure, 1)
        found = [interval(each) for each in gaps.values()]
        axes.errorbar([*gaps], [each.mean for each in found], [each.half for each in found],
                      fmt="o", capsize=4, label="mean and 95 % interval")  # fmt: skip
        finish(axes, "exposure gap, strings copied", "label is read", "nats per letter")

    save(IMAGES / "claims-exposure.png", fill)
    return [
        "## The exposure gap", "",
        "*Claim: a decoder that always read the labels in training does worse where it reads its "
        "own outputs.* The gap is the held-out loss on its own outputs minus that under teacher "
        "forcing, in nats per letter. Fixed code, strings copied, 600 updates.", "",
        "![exposure gap by schedule](images/claims-exposure.png)", "",
        *table(("label is read", "loss, labels read", "gap", "exact match, %"), rows),
        f"With labels always read the gap is {first.mean:.2f} ± {first.half:.2f}: "
        f"**{verdict(first)}**. It is larger than without labels by {less.mean:.2f} ± "
        f"{less.half:.2f}: **{verdict(less)}**. *Claim: teacher forcing speeds training.* After "
        f"the same 600 updates its exact match is higher than without by {speed}: "
        f"**{verdict(speed)}**.",
        "",
    ]  # fmt: skip


def eigenvalues(results: Results) -> list[str]:
    """Claim 5: the largest eigenvalue decides."""
    found = {kind: [interval(results.values("eigenvalues", kind, lambda each, n=n:
                    each["factors"][n])) for n in range(len(RADII))] for kind in KINDS}  # fmt: skip

    def fill(figure: Figure) -> None:
        (axes,) = panels(figure, 1)
        figure.set_size_inches(6.5, 3.8)
        for kind, label in KINDS.items():
            lines(axes, RADII, label, found[kind])
        axes.axhline(1, color="0.6", linewidth=0.8)
        axes.axvline(1, color="0.6", linewidth=0.8)
        finish(axes, "change of ‖∂C/∂h‖ per step back", "spectral radius of W_hh", "factor")

    save(IMAGES / "claims-eigenvalues.png", fill)
    rows = []
    for kind, label in KINDS.items():
        crossings = [crossing(each["factors"]) for each in results.of("eigenvalues", kind)]
        known = [each for each in crossings if each is not None]
        where = interval(known) if len(known) == 20 else None
        rows.append((label, *(f"{found[kind][RADII.index(radius)].mean:.3f}" for radius in
                     (0.5, 0.9, 1.0, 1.1, 1.5)), f"{where.mean:.2f} ± {where.half:.2f}" if where
                     else f"beyond 1.5 in {20 - len(known)} of 20"))  # fmt: skip
    return [
        "## Where the eigenvalue decides", "",
        "*Claim: gradients vanish where the largest eigenvalue of W_hh is below 1 and explode "
        "where it is above.* The mean factor per step over 50 steps, 20 draws of W_hh (32 × 32) "
        "and of the inputs.", "",
        "![factor per step back](images/claims-eigenvalues.png)", "",
        *table(("unit", "ρ = 0.5", "0.9", "1.0", "1.1", "1.5", "factor 1 at ρ ="), rows),
        "For the linear unit the claim is **borne out**: the factor is ρ itself, up to what a "
        "random matrix does in 50 steps. For tanh it is **not**: its slope is below 1, so a larger "
        "eigenvalue is needed, and gradients vanish where the claim has them explode. A ReLU "
        "passes about half of the state, with the same effect. Below 1 gradients vanish in "
        "every case.",
        "",
    ]  # fmt: skip


def crossing(factors: Sequence[float]) -> float | None:
    """The first radius at which the factor is 1 or more, between two by a line."""
    for number in range(1, len(factors)):
        below, above = factors[number - 1], factors[number]
        if below < 1 <= above:
            share = (1 - below) / (above - below)
            return RADII[number - 1] + share * (RADII[number] - RADII[number - 1])
    return RADII[0] if factors[0] >= 1 else None


def recall(results: Results) -> list[str]:
    """Claim 6: gates keep what simple units lose."""
    found = {unit: [interval(results.values("recall", f"{unit} {distance}",
                    lambda each: each["accuracy"])) for distance in DISTANCES]
             for unit in UNITS}  # fmt: skip

    def fill(figure: Figure) -> None:
        (axes,) = panels(figure, 1)
        for unit in UNITS:
            lines(axes, range(len(DISTANCES)), unit, found[unit])
        axes.set_xticks(range(len(DISTANCES)), [str(each) for each in DISTANCES])
        axes.axhline(25, color="0.6", linewidth=0.8)
        finish(axes, "first symbol recalled", "symbols after it", "accuracy, %")

    save(IMAGES / "claims-recall.png", fill)
    compared = []
    for unit in UNITS[1:]:
        for distance in DISTANCES[2:]:
            gain = results.difference(("recall", f"{unit} {distance}"),
                                      ("recall", f"Elman {distance}"),
                                      lambda each: each["accuracy"])  # fmt: skip
            compared.append(f"{unit} at {distance} {gain} (**{verdict(gain)}**)")
    return [
        "## Long distances", "",
        "*Claim: simple units miss links over long distances that gated units keep.* The first of "
        "four symbols is asked for after random ones; 300 updates, width 32, chance is 25 %.", "",
        "![accuracy by distance](images/claims-recall.png)", "",
        *table(("symbols after it", *map(str, DISTANCES)),
               [(unit, *each) for unit, each in found.items()]),
        "Against the Elman unit, whose W_hh begins orthogonal: " + "; ".join(compared) + ". "
        "At these sizes the claim does not hold in general: what counts more is how a unit begins.",
        "",
    ]  # fmt: skip


def main() -> None:
    """Write plots and page."""
    results = Results()
    parts = (lengths, codes, reversal, exposure, eigenvalues, recall)
    text = [line for part in parts for line in part(results)]
    seconds = sum(each["seconds"] for each in results.all.values() if "seconds" in each)
    text.append(f"All trainings and measurements took {seconds / 60:.0f} minutes of one core.")
    write_between(MARKS, ["", *text, ""], PAGE)


if __name__ == "__main__":
    main()
