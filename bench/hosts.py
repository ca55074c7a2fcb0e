"""Measures the time of an update across hosts by the delay and bandwidth of their link.

    python bench/hosts.py [--updates 40] [--rounds 3] [--part 1/3]

Hosts are network namespaces on this machine with a switch between them that delays frames and
limits their rate (tests/runs/hosts); this needs root and Debian's iproute2. Of a small model each
host sends its gradients to every other; of a larger one each sums a share. For each link the table
has the median time of an update, and the prediction of the formula of docs/scale.md. The table is
printed, kept in bench/results/hosts.json and written into docs/scale.md. With --part only some
links are measured and merged with earlier results.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from foundation import RESULTS, ROOT, surroundings, write_between

sys.path.insert(0, str(ROOT))
from seqloom.api.train import train
from seqloom.runs.progress import SilentObserver
from seqloom.training import Update
from seqloom.training.distributed.all_reduce import SENT_AT_ONCE
from tests.runs.hosts.network import Host, network

PAGE = ROOT / "docs" / "scale.md"
MARKS = ("<!-- written by bench/hosts.py -->", "<!-- end of hosts -->")
FILE = RESULTS / "hosts.json"
WARM_UP = 10  # updates
PORT = "29500"
MEGABYTE = 1e6


class Link(NamedTuple):
    """Hosts, seconds of delay in each direction, bytes a second (0: no limit), and a width."""

    hosts: int
    delay: float
    rate: float
    width: int


LINKS = [
    Link(hosts, delay, rate, width)
    for hosts, width in ((2, 16), (2, 128), (4, 16))
    for delay, rate in (
        (0.0, 0.0),
        (0.005, 0.0),
        (0.02, 0.0),
        (0.0, 20 * MEGABYTE),
        (0.02, 20 * MEGABYTE),
    )
]


class Clock(SilentObserver):
    """Records the time of each update."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_update(self, update: Update) -> None:
        self.times.append(time.perf_counter())

    def median(self) -> float:
        """Median seconds of an update, after warm-up.

        Two successive updates are taken together: of hosts that began at different times, one
        waits longer at every other update.
        """
        pairs = zip(self.times[WARM_UP:], self.times[WARM_UP + 2 :], strict=False)
        return statistics.median(later - earlier for earlier, later in pairs) / 2


def be_a_rank(folder: Path, width: int, updates: int) -> None:
    """Train as a rank; rank 0 writes the time of an update and the bytes sent."""
    stack = {"kind": "transformer", "width": width, "inner": 4 * width, "heads": 2, "layers": 2}
    options = {
        "model": {"embedding": width, "encoder": stack, "decoder": stack},
        "training": {"updates": updates, "validate_every": updates, "batch_tokens": 256},
    }
    rows = [(f"{n * 7919 % 100_003}", f"{n * 104_729 % 100_003}") for n in range(2_000)]
    clock = Clock()
    train(rows[50:], folder / "run", valid=rows[:50], options=options, watch=clock)
    if os.environ["RANK"] == "0":
        weights = max((folder / "run").glob("step-*")) / "model.safetensors"
        result = {"seconds": clock.median(), "bytes": weights.stat().st_size}
        (folder / "result.json").write_text(json.dumps(result))


def measured(link: Link, updates: int) -> dict[str, float]:
    """One training over one link."""
    with (
        tempfile.TemporaryDirectory(prefix="seqloom-") as folder,
        network(link.hosts, delay=link.delay, rate=link.rate) as hosts,
    ):
        for rank, host in enumerate(hosts):
            start_rank(host, rank, hosts, [folder, str(link.width), str(updates)])
        for host in hosts:
            for process in host.processes:
                process.wait(timeout=300)
        found: dict[str, float] = json.loads((Path(folder) / "result.json").read_text())
    return found


def start_rank(host: Host, rank: int, hosts: list[Host], arguments: list[str]) -> None:
    """Start this program as one rank on a host."""
    place = {"RANK": str(rank), "WORLD_SIZE": str(len(hosts)), "LOCAL_RANK": "0"}
    meeting = {"MASTER_ADDR": hosts[0].address, "MASTER_PORT": PORT, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__)), "--rank", *arguments]
    host.start(*command, log=Path(arguments[0]) / f"{rank}.log", **place, **meeting)


def predicted(link: Link, still: float, size: float) -> float:
    """The predicted seconds of an update over a link, from those without delay."""
    others = link.hosts - 1
    if others * size <= SENT_AT_ONCE:
        delays, sent = 1, others * size
    else:
        delays, sent = 2, 2 * others / link.hosts * size
    return still + delays * link.delay + (sent / link.rate if link.rate else 0.0)


def table(found: dict[Link, dict[str, float]]) -> list[str]:
    """A row for each link."""
    lines = [
        "| hosts | gradients, MB | delay, ms | MB/s | ms an update | predicted |",
        "| --- " * 6 + "|",
    ]
    for link, result in found.items():
        still = found[link._replace(delay=0.0, rate=0.0)]["seconds"]
        guess = predicted(link, still, result["bytes"])
        ratio = guess / result["seconds"]
        rate = f"{link.rate / MEGABYTE:g}" if link.rate else "–"
        sizes = (
            f"| {link.hosts} | {result['bytes'] / MEGABYTE:.2f} | {link.delay * 1000:g} | {rate}"
        )
        lines.append(
            f"{sizes} | {result['seconds'] * 1000:.0f} | {guess * 1000:.0f} ({ratio:.2f}) |"
        )
    return lines


def main() -> None:
    """Measure all links in alternating rounds."""
    if sys.argv[1:2] == ["--rank"]:
        folder, width, updates = sys.argv[2:]
        be_a_rank(Path(folder), int(width), int(updates))
        return
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", default="1/1", help="such as 2/3: the second third of the links")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    results = kept_results() if parts > 1 else {link: [] for link in LINKS}
    for number in range(arguments.rounds):
        for link in LINKS[part - 1 :: parts]:
            results[link].append(measured(link, arguments.updates))
            print(f"round {number + 1}: {link}: {results[link][-1]}", flush=True)
            keep(results)


def kept_results() -> dict[Link, list[dict[str, float]]]:
    """The results of earlier parts, by link."""
    results: dict[Link, list[dict[str, float]]] = {link: [] for link in LINKS}
    if FILE.is_file():
        for row in json.loads(FILE.read_text())["links"]:
            link = Link(*(row[name] for name in Link._fields))
            results.setdefault(link, []).extend(row["rounds"])
    return results


def keep(results: dict[Link, list[dict[str, float]]]) -> None:
    """Write the results and the table."""
    around = surroundings()
    rows: list[dict[str, Any]] = [
        {**link._asdict(), "rounds": rounds} for link, rounds in results.items()
    ]
    FILE.write_text(json.dumps({"surroundings": around, "links": rows}, indent=1) + "\n")
    found = {
        link: {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
        for link, rounds in results.items()
        if rounds
    }
    if len(found) < len(LINKS):
        return
    where = (
        f"`python bench/hosts.py`, {around['date']}, hosts that share {around['cores']} cores of "
        f"{around['processor']}, torch {around['torch']}, medians of "
        f"{min(map(len, results.values()))} rounds or more:"
    )
    write_between(MARKS, ["", where, "", *table(found), ""], PAGE)


if __name__ == "__main__":
    main()
