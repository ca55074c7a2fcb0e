"""Measures forecasts of ETTh1 and writes bench/results/etth1.json.

    python bench/forecast.py

The file lies in the folder that SEQLOOM_SHARED_DATA names, as ett/ETTh1.csv. The usual split: 12, 4
and 4 months of 30 days to learn from, to hold out and to test on; 96 hours ahead, all seven columns
standardised by the first part. Both kinds of decoder are trained by `seqloom train`: the whole
horizon at once, and a GRU that is fed back.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "bench" / "results" / "etth1.json"
RUNS = ROOT / "runs"
SEQLOOM = [sys.executable, "-m", "seqloom"]
PARTS = ["--target", "all:series", "--set", "target.horizon=96"]
PARTS += ["--set", "data.parts=[8640,2880,2880]"]
KINDS = {
    "at once": [],
    "fed back": ["--model", "gru", "--set", "training.updates=1200"],
}


def measure_etth1() -> dict[str, Any]:
    """Errors on the test part for each kind of decoder, and those of the simple forecasts."""
    data = Path(os.environ["SEQLOOM_SHARED_DATA"]) / "ett" / "ETTh1.csv"
    results: dict[str, Any] = {}
    for name, options in KINDS.items():
        run = RUNS / f"bench-etth1-{name.replace(' ', '-')}-{int(time.time())}"
        began = time.perf_counter()
        command = [*SEQLOOM, "train", str(data), *PARTS, *options, "--run", str(run)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
        told = subprocess.run(
            [*SEQLOOM, "evaluate", str(run), str(data), "--json"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        results[name] = {"options": options, "seconds": seconds, **json.loads(told)}
    return results


def main() -> None:
    """Measure and write."""
    RESULT.write_text(json.dumps(measure_etth1(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(RESULT)


if __name__ == "__main__":
    main()
