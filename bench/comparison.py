"""Writes docs/comparison.md from what bench/architectures.py measured."""

import json
from statistics import mean
from typing import Any

from architectures import ATTENTIONS, FORMS, RESULT, SEEDS, TRANSFORMERS, UNITS, form_cell
from foundation import ROOT

INTRODUCTION = """# Architectures side by side

Each unit with each attention, each form of decoder, and the Transformers, on the same task: the
French–English demo set, width 128, batches of 1,024 positions, {updates:,} updates (10 epochs), one
process with one thread. `python bench/architectures.py` made these tables; it can be stopped and
goes on where it was.

BLEU is that of the 636 test sentences with beam 5, the mean over seeds {seeds}; in brackets the
95 % bootstrap interval over the test sentences, then the lowest and highest of the seeds. Time is
the processor time of one training in seconds; other work shared the machine while these cells were
trained, so times are rough.
"""


def tables(cells: dict[str, Any]) -> list[str]:
    """The three tables."""
    lines = ["", "## Units and attention", ""]
    lines += ["| unit | " + " | ".join(f"attention: {name}" for name in ATTENTIONS) + " |"]
    lines += ["| --- |" + " --- |" * len(ATTENTIONS)]
    for unit in UNITS:
        found = [shown(cells, f"{unit}/{attention}") for attention in ATTENTIONS]
        lines.append(f"| {unit} | " + " | ".join(found) + " |")
    lines += ["", "## Forms of the decoder (LSTM)", "", "| form | BLEU and time | parameters |"]
    lines += ["| --- | --- | --- |"]
    lines += [row(cells, form, form_cell(form)) for form in FORMS]
    lines += ["", "## Transformers", "", "| preset | BLEU and time | parameters |"]
    lines += ["| --- | --- | --- |"]
    lines += [row(cells, name, name) for name in TRANSFORMERS]
    return lines


OLDER_FAST = "1,547,087"  # parameters before the preset had four blocks of two widths


def row(cells: dict[str, Any], label: str, name: str) -> str:
    """One line of a table with the number of parameters."""
    found = measured(cells, name)
    parameters = f"{found[0]['parameters']:,}" if found else ""
    if name == "fast" and parameters == OLDER_FAST:
        label += " as it was, with six encoder blocks and inner sizes of four widths"
    return f"| {label} | {shown(cells, name)} | {parameters} |"


def shown(cells: dict[str, Any], name: str) -> str:
    """BLEU with its intervals and the time, over the seeds that are done."""
    found = measured(cells, name)
    if not found:
        return "not measured"
    value, low, high = (mean(each[key] for each in found) for key in ("value", "low", "high"))
    values = [each["value"] for each in found]
    missing = "" if len(found) == len(SEEDS) else f"; {len(found)} of {len(SEEDS)} seeds"
    return (
        f"**{value:.1f}** ({low:.1f}–{high:.1f}; {min(values):.1f}–{max(values):.1f}), "
        f"{mean(each['seconds'] for each in found):.0f} s{missing}"
    )


def measured(cells: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The results of a cell, one for each seed."""
    return [cells[key] for seed in SEEDS if (key := f"{name} #{seed}") in cells]


def main() -> None:
    """Write the page."""
    found = json.loads(RESULT.read_text())
    cells, around = found["cells"], found["surroundings"]
    updates = next(iter(cells.values()))["updates"]
    seeds = ", ".join(map(str, SEEDS))
    page = [INTRODUCTION.format(updates=updates, seeds=seeds).rstrip(), *tables(cells)]
    page += [
        "",
        f"{around['date']}, {around['cores']} cores of {around['processor']}, Python "
        f"{around['python']}, torch {around['torch']}.",
    ]
    (ROOT / "docs" / "comparison.md").write_text("\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
