"""Times a training step of each recurrent unit against torch's own of the same size (S2).

    python bench/units.py [--rounds 15]

A step is forward and backward of a batch of 64 rows of 20 inputs, gradients of inputs included.
In each round every unit takes one step, so that whatever else the machine does falls on all alike;
times are medians over rounds, and a ratio is the median of the rounds' own ratios. Beside it stands
the ratio of the quickest steps, which a busy machine disturbs least; the load is kept with the
result. The aim is at most twice torch's time where torch has no such unit: a GRU that resets before
the product, and Elman units with other activations. The table is printed and kept in
bench/results/units.json.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from foundation import RESULTS, surroundings
from torch import Tensor, nn

from seqloom.nn.units import Elman, Gru, Lstm, Ssru

ROWS, STEPS = 64, 20
SIZES = ((128, 128), (256, 512))  # inputs and width
THREADS = (1, 2)
WARM_UP = 2
AIM = 2.0

TORCH = {"torch.nn.RNN": nn.RNN, "torch.nn.GRU": nn.GRU, "torch.nn.LSTM": nn.LSTM}
UNITS: dict[str, tuple[Callable[..., nn.Module], str]] = {
    "Elman tanh": (Elman, "torch.nn.RNN"),
    "Elman relu": (partial(Elman, activation="relu"), "torch.nn.RNN"),
    "Elman sigmoid": (partial(Elman, activation="sigmoid"), "torch.nn.RNN"),
    "Elman identity": (partial(Elman, activation="identity"), "torch.nn.RNN"),
    "GRU before, keep": (Gru, "torch.nn.GRU"),
    "GRU before, take": (partial(Gru, update="take"), "torch.nn.GRU"),
    "GRU after, keep": (partial(Gru, reset="after"), "torch.nn.GRU"),
    "GRU after, take": (partial(Gru, reset="after", update="take"), "torch.nn.GRU"),
    "SSRU": (Ssru, "torch.nn.GRU"),
    "LSTM": (Lstm, "torch.nn.LSTM"),
}


def step(module: nn.Module, inputs: Tensor, gradient: Tensor) -> float:
    """Seconds of one training step."""
    began = time.perf_counter()
    state = () if isinstance(module, nn.RNNBase) else (module.zero_state(inputs),)
    outputs, _ = module(inputs, *state)
    outputs.backward(gradient)
    return time.perf_counter() - began


def measure(inputs: int, width: int, rounds: int) -> dict[str, list[float]]:
    """The seconds of every round, for torch's units and ours."""
    torch.manual_seed(1)
    modules = {name: make(inputs, width, batch_first=True) for name, make in TORCH.items()}
    modules |= {name: make(inputs, width) for name, (make, _) in UNITS.items()}
    batch = torch.randn(ROWS, STEPS, inputs, requires_grad=True)
    gradient = torch.randn(ROWS, STEPS, width)
    seconds: dict[str, list[float]] = {name: [] for name in modules}
    for number in range(WARM_UP + rounds):
        for name, module in modules.items():
            found = step(module, batch, gradient)
            if number >= WARM_UP:
                seconds[name].append(found)
    return seconds


def rows(threads: int, size: tuple[int, int], rounds: int) -> list[dict[str, Any]]:
    """A row of the table for each unit."""
    torch.set_num_threads(threads)
    seconds = measure(*size, rounds)
    return [
        {
            "threads": threads,
            "inputs": size[0],
            "width": size[1],
            "unit": name,
            "milliseconds": 1e3 * statistics.median(seconds[name]),
            "against": against,
            "its_milliseconds": 1e3 * statistics.median(seconds[against]),
            "ratio": statistics.median(
                ours / theirs for ours, theirs in zip(seconds[name], seconds[against], strict=True)
            ),
            "quickest_ratio": min(seconds[name]) / min(seconds[against]),
        }
        for name, (_, against) in UNITS.items()
    ]


def show(row: dict[str, Any]) -> str:
    """A row as it is printed."""
    return (
        f"| {row['threads']} | {row['inputs']} → {row['width']} | {row['unit']} "
        f"| {row['milliseconds']:.2f} | {row['against']} {row['its_milliseconds']:.2f} "
        f"| {row['ratio']:.2f} | {row['quickest_ratio']:.2f} |"
    )


def main() -> None:
    """Measure all sizes, print the table and keep it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    print(
        "| threads | size | unit | ms | against, ms | ratio | of quickest |\n" + "| --- " * 7 + "|"
    )
    table = []
    for threads in THREADS:
        for size in SIZES:
            found = rows(threads, size, rounds)
            table += found
            print("\n".join(map(show, found)), flush=True)
    worst = max(table, key=lambda row: float(row["ratio"]))
    print(f"\nthe largest ratio is {worst['ratio']:.2f} ({worst['unit']}); the aim is {AIM:g}")
    result = {
        "surroundings": {**surroundings(), "load": os.getloadavg()[1]},
        "batch": [ROWS, STEPS],
        "rounds": rounds,
        "aim": AIM,
        "rows": table,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "units.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
