"""Measures how near the core's products come to what the processor can do, and draws it.

    python bench/roofline.py [--rounds 5] [--run DIR]

Products of the decoder of bench/decode.py (width 256, inner size 1,024, three blocks) are timed one
after the other, as a step makes them, for 1 to 240 rows in every precision, on one core. A row more
costs arithmetic but no further weights, so operations per byte of weights grow with the rows: few
rows are bound by how fast weights come from the cache, many by how fast the core multiplies. Both
bounds are measured: the fastest product of all, and the rate at which one row reads the weights.

With --run and `perf` installed, the parts of greedy search and of beam search in int8 with a
shortlist are sampled as well. Results are kept in bench/results/roofline.json, the picture in
docs/images/engine-roofline.png.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from engine import SEARCHES, learnt, ours
from foundation import RESULTS, ROOT, surroundings
from matplotlib.figure import Figure

from seqloom.drawing.image_files import save
from seqloom.engine.library import address, core
from seqloom.engine.matrices import Matrix, Precision

ROWS = (1, 2, 5, 12, 24, 60, 120, 240)
SHAPES = ((768, 256), (256, 256), (256, 256), (256, 256), (1_024, 256), (256, 1_024))  # of a block
BLOCKS = 3
BYTES: dict[Precision, int] = {"float32": 4, "bfloat16": 2, "int8": 1}
COLOURS = {"float32": "#4477aa", "bfloat16": "#228833", "int8": "#cc6677"}
USED = {"float32": 120, "bfloat16": 120, "int8": 24}  # rows that a thread reads at once
PARTS = {
    "products": ("sum_block",),
    "scales, bias, activation": ("multiply",),
    "attention": ("attend", "attend_path", "softmax", "transpose", "compare", "mix"),
    "inputs to bytes": ("quantise",),
    "norms": ("normalise",),
    "output sums and candidates": ("rank", "sl_rank_begin", "sl_rank_norm"),
    "columns of shortlists": ("sl_pack_bytes", "sl_shortlist_fill"),
}
PASSES = 12  # over the test set while it is sampled


def drawn_matrices(precision: Precision) -> list[Matrix]:
    """All products of a decoder's step."""
    random = np.random.default_rng(1)
    return [
        Matrix.pack(random.standard_normal(shape).astype(np.float32), precision=precision)
        for _ in range(BLOCKS)
        for shape in SHAPES
    ]


def seconds_of(matrices: Sequence[Matrix], rows: int, rounds: int) -> float:
    """The least time of all products, one after the other."""
    random = np.random.default_rng(2)
    inputs = {n: random.standard_normal((rows, n)).astype(np.float32) for n in (256, 1_024)}
    out = np.empty((rows, 1_024), dtype=np.float32)
    made = [(each.structure(), address(inputs[each.inputs])) for each in matrices]
    repeats = max(1, 2_000 // rows)
    times = []
    for _ in range(rounds):
        began = time.process_time()  # what others on the machine change little
        for _ in range(repeats):
            for structure, values in made:
                core().sl_multiply(structure, values, rows, address(out), 0, 0)
        times.append((time.process_time() - began) / repeats)
    return min(times)


def measure_products(rounds: int) -> dict[str, list[dict[str, float]]]:
    """Operations a second by rows, for every precision."""
    found: dict[str, list[dict[str, float]]] = {}
    values = BLOCKS * sum(outputs * inputs for outputs, inputs in SHAPES)
    for precision, size in BYTES.items():
        matrices = drawn_matrices(precision)
        found[precision] = []
        for rows in ROWS:
            seconds = seconds_of(matrices, rows, rounds)
            operations = 2.0 * rows * values
            found[precision].append(
                {
                    "rows": rows,
                    "per_byte": operations / (values * size),
                    "gops": operations / seconds / 1e9,
                    "bytes_per_second": values * size / seconds,
                }
            )
    return found


def sample(run: Path, search: str) -> dict[str, float]:
    """Shares of the core's samples by part, of a search in int8 with a shortlist."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "perf.data"))
        program = [sys.executable, __file__, "--run", str(run), "--decode", search]
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1500", "-o", data, "--"]
        subprocess.run([*record, *program], check=True, capture_output=True)
        report = ["perf", "report", "-i", data, "--stdio", "--no-children", "--sort", "symbol"]
        report += ["--dso", "_core.so", "-F", "overhead,symbol"]
        printed = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    shares: dict[str, float] = {}
    names = {symbol: part for part, symbols in PARTS.items() for symbol in symbols}
    for line in printed.splitlines():
        words = line.split()
        if len(words) >= 3 and words[0].endswith("%"):
            part = names.get(words[2].partition(".")[0], "other")
            shares[part] = shares.get(part, 0.0) + float(words[0].rstrip("%"))
    total = sum(shares.values())
    return {part: share / total for part, share in sorted(shares.items(), key=lambda x: -x[1])}


def decode(run: Path, search: str) -> None:
    """What is sampled: the test set again and again, on one thread."""
    work = learnt(run, 1_000)
    translate = ours(work, SEARCHES[search], "int8", short=True)
    for _ in range(PASSES):
        translate(work.rows)


def draw(result: dict[str, Any]) -> None:
    """The roofs with the products below them, and where the time of a search goes."""

    def fill(figure: Figure) -> None:
        shares = result.get("shares", {})
        figure.set_size_inches(9.5 if shares else 6, 4)
        figure.set_layout_engine("constrained")
        left, *others = figure.subplots(
            1, 1 + bool(shares), squeeze=False, width_ratios=(3, 2)[: 1 + bool(shares)]
        )[0]
        for precision, points in result["products"].items():
            draw_roof(left, precision, points)
        left.set_xscale("log", base=2)
        left.set_yscale("log", base=2)
        for axis in (left.xaxis, left.yaxis):
            axis.set_major_formatter("{x:g}")
        left.set_xlabel("operations per byte of weights")
        left.set_ylabel("10⁹ operations a second, one core")
        left.legend(frameon=False, fontsize=8, loc="lower right")
        left.grid(color="0.92")
        left.spines[["top", "right"]].set_visible(False)
        if others:
            draw_shares(others[0], shares)

    save(ROOT / "docs" / "images" / "engine-roofline.png", fill)


def draw_roof(axes: Any, precision: str, points: list[dict[str, float]]) -> None:
    """What is reached by rows, below the two bounds of a precision."""
    most = max(point["gops"] for point in points)
    rate = max(point["bytes_per_second"] for point in points[:2]) / 1e9
    x = np.array([point["per_byte"] for point in points])
    wide = np.geomspace(x[0], x[-1], 60)
    colour = COLOURS[precision]
    axes.plot(wide, np.minimum(wide * rate, most), color=colour, lw=1, alpha=0.6)
    axes.plot(x, [point["gops"] for point in points], "o", ms=4, color=colour, label=precision)
    for point in points:
        if point["rows"] == USED[precision]:
            axes.annotate(
                f"{point['rows']} rows",
                (point["per_byte"], point["gops"]),
                xytext=(4, -12),
                textcoords="offset points",
                fontsize=8,
                color=colour,
            )


def draw_shares(axes: Any, shares: dict[str, dict[str, float]]) -> None:
    """A bar for each search, cut into its parts."""
    names = list(dict.fromkeys(part for each in shares.values() for part in each))
    starts = np.zeros(len(shares))
    for number, part in enumerate(names):
        sizes = np.array([100 * each.get(part, 0.0) for each in shares.values()])
        axes.bar(list(shares), sizes, bottom=starts, width=0.6, color=f"C{number}", label=part)
        starts += sizes
    axes.set_ylabel("% of the core's samples, int8 with shortlist")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Measure, keep and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--decode", choices=SEARCHES, help="only decode, to be sampled")
    arguments = parser.parse_args()
    if arguments.decode is not None:
        decode(arguments.run, arguments.decode)
        return
    result: dict[str, Any] = {
        "surroundings": {**surroundings(), "instructions": core().sl_chosen().decode()},
        "products": measure_products(arguments.rounds),
    }
    if arguments.run is not None and shutil.which("perf"):
        result["shares"] = {search: sample(arguments.run, search) for search in SEARCHES}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "roofline.json").write_text(json.dumps(result, indent=1) + "\n")
    draw(result)


if __name__ == "__main__":
    main()
