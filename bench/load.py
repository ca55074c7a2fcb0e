"""Load-tests a server from a separate process, and writes the results into docs/serve.md.

    python bench/load.py RUN FILE [--seconds 10] [--beam 5]

RUN is a trained run, FILE has an input a line. The server and the clients (bench/clients.py) are
processes of their own, on the same cores. First 1, 8, 64 and 512 clients send sentences in a closed
loop; the best rate is the capacity. Then requests arrive as a Poisson process at 50, 80 and 120 %
of it (an open loop). Last, a client sends single sentences alone, and then beside four clients that
send 64 at a time and two with the widest beam that the server permits, all from one address. Every
request is answered, refused (429 or 503, with Retry-After, which clients obey) or lost; the page
counts each. Results are kept in bench/results/load.json and written into docs/serve.md. It takes
nine times --seconds, and a few more.
"""

import argparse
import json
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

from clients import closed_loop, mixed_loop, open_loop, predict_request
from foundation import RESULTS, ROOT, surroundings, write_between
from serve import server

PAGE = ROOT / "docs" / "serve.md"
FILE = RESULTS / "load.json"
MARKS = ("<!-- written by bench/load.py -->", "<!-- end of load -->")
CLIENTS = (1, 8, 64, 512)
SHARES = (0.5, 0.8, 1.2)
BULK, EXTREME_BEAM = 64, 64


def drive(port: int, lines: list[str], beam: int, seconds: float) -> None:
    """Run as the clients' process; write the results to standard output."""
    small = cycle([predict_request([line], beam) for line in lines])
    bulk = cycle([predict_request((lines * BULK)[:BULK], beam)])
    extreme = cycle([predict_request([max(lines, key=len)], EXTREME_BEAM)])

    def end() -> float:
        return time.perf_counter() + seconds

    closed_loop(port, small, 8, until=end() - 0.7 * seconds)  # warm
    found: dict[str, Any] = {"closed": {}, "open": {}}
    for count in CLIENTS:
        found["closed"][count] = closed_loop(port, small, count, until=end()).summary()
    found["capacity"] = max(each["rate"] for each in found["closed"].values())
    for share in SHARES:
        tally = open_loop(port, small, share * found["capacity"], end())
        found["open"][share] = tally.summary()
    found["alone"] = closed_loop(port, small, 1, until=end()).summary()
    beside = mixed_loop(port, [(small, 1), (bulk, 4), (extreme, 2)], until=end())
    for name, tally in zip(("beside", "bulk", "extreme"), beside, strict=True):
        found[name] = tally.summary()
    print(json.dumps(found))


def table(found: dict[str, Any]) -> list[str]:
    """Format a row for each load."""
    lines = [
        "| load | answered/s | p50, ms | p99, ms | answered | refused | lost |",
        "| --- " * 7 + "|",
    ]
    rows = {f"{count} clients": each for count, each in found["closed"].items()}
    rows |= {
        f"arrivals at {float(share):.0%} of capacity": each for share, each in found["open"].items()
    }
    rows["one client alone, again"] = found["alone"]
    rows["the same client beside those of the next two rows"] = found["beside"]
    rows[f"four clients with {BULK} sentences at a time"] = found["bulk"]
    rows[f"two clients with a beam of {EXTREME_BEAM}"] = found["extreme"]
    for name, each in rows.items():
        lines.append(
            f"| {name} | {each['rate']:,.0f} | {each['median']:.1f} | {each['tail']:.1f} "
            f"| {each['answered']:,} | {each['refused']:,} | {each['lost']:,} |"
        )
    return lines


def main() -> None:
    """Start the server and the clients, and keep the results."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    lines = arguments.file.read_text(encoding="utf-8").splitlines()[:1_000]
    if arguments.port:
        drive(arguments.port, lines, arguments.beam, arguments.seconds)
        return
    with server(arguments.run) as port:
        ended = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--port", str(port)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found = json.loads(ended.stdout)
    overload = found["open"]["1.2"]
    found["overload share"] = overload["rate"] / found["capacity"]
    found["beside ratio"] = found["beside"]["tail"] / found["alone"]["median"]
    around = surroundings()
    FILE.write_text(json.dumps({"surroundings": around, **found}, indent=1) + "\n")
    lines = table(found)
    print("\n".join(lines))
    where = (
        f"`python bench/load.py`, {around['date']}, {around['cores']} cores of "
        f"{around['processor']} for the server and the clients together, {arguments.seconds:g} s "
        f"each. Overload keeps {found['overload share']:.0%} of the capacity; the p99 of a small "
        f"request beside others is {found['beside ratio']:.1f} times its lone median."
    )
    write_between(MARKS, ["", where, "", *lines, ""], PAGE)


if __name__ == "__main__":
    main()
