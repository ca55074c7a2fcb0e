"""Times a server over the loopback, from a second process, against `predict` over the same lines.

    python bench/serve.py RUN FILE [--sentences 1000] [--rounds 5] [--beam 5]

RUN is a trained run, FILE has an input a line. A server of the run is started; in every round the
lines are decoded by `predict` in this process while the server is idle, then sent one by one by a
lone client, by 4 clients and by 32. Figures are medians over the rounds. The aims: with 32 clients
85 % of the sentences a second of `predict` and a 99th percentile of at most 1.8 times the median;
with 4 clients a median latency of at most 2.5 times that of a lone client; a lone client within
2 ms of `predict` of one line. Clients take processor time of the same cores, which is told as their
share; they are raw sockets in one process (bench/clients.py), so that it is the server that is
measured. The processor time that a sentence takes is told beside the rates, of `predict`, of the
server's own process, of those that decode and of the clients, and how much of the cores' time was
idle or stolen, and the memory of all its processes at the end, shared pages in part. Results are
printed and kept in bench/results/serve.json, by the form in which the run decodes (float32, or what
`seqloom optimize` has chosen); docs/results.md is made anew.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from clients import closed_loop, predict_request
from foundation import RESULTS, ROOT, SEQLOOM, surroundings
from rows import used_memory

from seqloom.api.load import load
from seqloom.prediction import TextPredictor
from seqloom.search import Beam, Greedy, Ranking

FILE = RESULTS / "serve.json"
CLIENTS = (1, 4, 32)
ALONE = 100  # lines that a lone client sends
CORES = len(os.sched_getaffinity(0))


class Timed(NamedTuple):
    """What clients saw."""

    rate: float  # sentences a second
    median: float  # milliseconds
    tail: float  # the 99th percentile, in milliseconds
    share: float  # of all cores' time that the clients took
    client: float  # microseconds of processor time a sentence: of the clients, ...
    server: float  # ... the server's own process ...
    decoding: float  # ... and all that it has started
    idle: float  # share of all cores' time in which nothing ran
    stolen: float  # ... and that the machine's host gave to others


class Predicted(NamedTuple):
    """What `predict` gave."""

    rate: float  # sentences a second
    processor: float  # microseconds of processor time a sentence


def processor_times(process: int) -> tuple[float, float]:
    """Seconds of processor time that a process has taken, and that all it has started have; none
    of one that has ended meanwhile."""
    place = Path("/proc", f"{process}")
    try:
        own = sum(map(int, (place / "stat").read_text().rsplit(") ")[1].split()[11:13]))
        started = [path.read_text() for path in place.glob("task/*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0, 0.0
    children = [int(each) for numbers in started for each in numbers.split()]
    theirs = sum(sum(processor_times(each)) for each in children)
    return own / os.sysconf("SC_CLK_TCK"), theirs


def system_times() -> tuple[float, float]:
    """Seconds for which cores were idle since the system began, and that its host took from it."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    ticks = [int(each) / os.sysconf("SC_CLK_TCK") for each in fields]
    return ticks[3] + ticks[4], ticks[7]


@contextmanager
def server(run: Path) -> Iterator[int]:
    """The port of a server of the run, which ends with the block."""
    with server_process(run) as (port, _):
        yield port


@contextmanager
def server_process(run: Path) -> Iterator[tuple[int, int]]:
    """The same with the number of its process."""
    process = subprocess.Popen(
        [*SEQLOOM, "serve", str(run), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        if "127.0.0.1:" not in line:
            raise SystemExit(f"bench/serve.py: the server did not start: {line.strip()}")
        yield int(line.split("127.0.0.1:")[1].split("/")[0]), process.pid
    finally:
        process.terminate()
        process.wait()


def driven(port: int, process: int, sent: list[bytes], clients: int) -> Timed:
    """All requests by so many clients at once, to a server that is this process."""
    before = (*processor_times(process), *system_times())
    tally = closed_loop(port, iter(sent), clients)
    after = (*processor_times(process), *system_times())
    own, theirs, idle, stolen = (now - then for now, then in zip(after, before, strict=True))
    if len(tally.seconds) < len(sent):
        raise SystemExit(f"bench/serve.py: {len(sent) - len(tally.seconds)} requests failed")
    cores = (tally.ended - tally.began) * CORES
    return Timed(
        tally.rate,
        tally.quantile(0.5),
        tally.quantile(0.99),
        tally.processor / cores,
        *(1e6 * seconds / len(sent) for seconds in (tally.processor, own, theirs)),
        idle / cores,
        stolen / cores,
    )


def predicted(model: TextPredictor, lines: list[str], beam: int) -> Predicted:
    """How fast `predict` is, in its own batches, on all cores."""
    ranking = Ranking.from_config(model.config.search)
    began, used = time.perf_counter(), time.process_time()
    model.predict(lines, search=Beam(beam, ranking) if beam > 1 else Greedy())
    rate = len(lines) / (time.perf_counter() - began)
    return Predicted(rate, 1e6 * (time.process_time() - used) / len(lines))


def lone(model: TextPredictor, lines: list[str], beam: int) -> float:
    """Milliseconds of `predict` of one line after the other, the median."""
    return statistics.median(1_000 / predicted(model, [line], beam).rate for line in lines)


def measured(run: Path, lines: list[str], beam: int, rounds: int) -> dict[str, Any]:
    """Every round's figures, and their medians."""
    model = load(run)
    if not isinstance(model, TextPredictor):
        raise SystemExit(f"bench/serve.py: {run} does not decode")
    predicted(model, lines[:ALONE], beam)  # not timed, as below: both begin warm
    sent = [predict_request([line], beam) for line in lines]
    found: dict[str, list[Any]] = {
        "predict": [],
        "processor": [],
        "alone": [],
        **{f"{count} clients": [] for count in CLIENTS},
    }
    with server_process(run) as (port, process):
        driven(port, process, sent[:ALONE], CLIENTS[-1])
        for _ in range(rounds):
            for name, value in zip(
                ("predict", "processor"), predicted(model, lines, beam), strict=True
            ):
                found[name].append(value)
            found["alone"].append(lone(model, lines[:ALONE], beam))
            for count in CLIENTS:
                chosen = sent[:ALONE] if count == 1 else sent
                timed = driven(port, process, chosen, count)
                found[f"{count} clients"].append(timed._asdict())
        memory = used_memory(process)
    medians = {
        name: {key: statistics.median(each[key] for each in timed) for key in Timed._fields}
        for name, timed in found.items()
        if name.endswith("clients")
    }
    rate = statistics.median(found["predict"])
    one, few, many = (medians[f"{count} clients"] for count in CLIENTS)
    return {
        "form": form_of(model),
        "memory": memory,
        "rounds": found,
        "predict": rate,
        "processor": statistics.median(found["processor"]),
        **medians,
        "share of predict": many["rate"] / rate,
        "tail over median": many["tail"] / many["median"],
        "latency over lone": few["median"] / one["median"],
        "ms over predict": one["median"] - statistics.median(found["alone"]),
    }


def form_of(model: TextPredictor) -> str:
    """The precision in which a model decodes, and whether it does with a shortlist."""
    return ", ".join(str(model.engine).split(", ")[2:]) or str(model.engine)


def main() -> None:
    """Measure, print a table, keep the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beam", type=int, default=5)
    options = parser.parse_args()
    lines = options.file.read_text(encoding="utf-8").splitlines()[: options.sentences]
    result = measured(options.run, lines, options.beam, options.rounds)
    print(f"{'predict in batches':<20}{result['predict']:>8.1f} sentences/s")
    for count in CLIENTS:
        each = result[f"{count} clients"]
        print(
            f"{f'{count} clients':<20}{each['rate']:>8.1f} sentences/s"
            f"{each['median']:>9.1f} ms median{each['tail']:>9.1f} ms 99 %"
            f"{100 * each['share']:>7.0f} % of the processor by clients"
        )
    many = result[f"{CLIENTS[-1]} clients"]
    print(
        f"processor time a sentence, us: predict {result['processor']:.0f}; server "
        f"{many['server']:.0f}, decoding {many['decoding']:.0f}, clients {many['client']:.0f}; "
        f"with {CLIENTS[-1]} clients {100 * many['idle']:.0f} % of the cores' time is idle and "
        f"{100 * many['stolen']:.0f} % stolen"
    )
    print(f"memory of all processes: {result['memory'] / 1e6:.0f} MB")
    for name, aim in (
        ("share of predict", 0.85),
        ("tail over median", 1.8),
        ("latency over lone", 2.5),
        ("ms over predict", 2.0),
    ):
        reached = result[name] >= aim if name == "share of predict" else result[name] <= aim
        print(f"{name:<20}{result[name]:>8.2f}   aim {aim}: {'reached' if reached else 'missed'}")
    facts = {
        "sentences": len(lines),
        "beam": options.beam,
        **result,
        "surroundings": surroundings(),
    }
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    kept[result["form"]] = facts
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    subprocess.run([sys.executable, str(ROOT / "bench" / "page.py")], check=True)


if __name__ == "__main__":
    main()
