"""Puts a server under load from a process of its own, and writes what clients saw (docs/serve.md).

    python bench/load.py RUN FILE [--seconds 10] [--beam 5]

RUN is a trained run, FILE has an input a line. The server and the clients are processes of their
own. First 1, 8, 64 and 512 clients send one sentence after the other, each waiting for its answer;
the best rate of these is the capacity. Then requests arrive by chance (a Poisson process) at 50, 80
and 120 % of it, whether or not earlier ones were answered. Last, a client sends single sentences
alone, and then beside four clients that send 64 at a time and two that ask for a beam of 100. Every
request ends in an answer, in a refusal (429 or 503, with Retry-After) or is lost; the page has how
many of each. Results are kept in bench/results/load.json and written into docs/serve.md.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

from foundation import RESULTS, ROOT, surroundings, write_between
from serve import server

PAGE = ROOT / "docs" / "serve.md"
FILE = RESULTS / "load.json"
MARKS = ("<!-- written by bench/load.py -->", "<!-- end of load -->")
CLIENTS = (1, 8, 64, 512)
SHARES = (0.5, 0.8, 1.2)
BULK, EXTREME_BEAM = 64, 100
REFUSED = (429, 503)


class Tally:
    """What became of requests: seconds of those answered, and how many were refused or lost."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.refused = self.lost = 0
        self.began = time.perf_counter()

    def summary(self, *, inputs: int = 1) -> dict[str, float]:
        """The rate and the latencies of what was answered."""
        ordered = sorted(self.seconds) or [float("nan")]
        return {
            "rate": inputs * len(self.seconds) / (time.perf_counter() - self.began),
            "median": 1_000 * ordered[len(ordered) // 2],
            "tail": 1_000 * ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
            "answered": len(self.seconds),
            "refused": self.refused,
            "lost": self.lost,
        }


def request(lines: list[str], beam: int) -> bytes:
    """A whole HTTP request."""
    search = {"kind": "beam", "width": beam} if beam > 1 else {"kind": "greedy"}
    body = json.dumps({"inputs": lines, "search": search}).encode()
    head = f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Content-Type: application/json\r\n\r\n".encode() + body


class Client:
    """Sends one request after the other on a connection, which it opens anew when it is lost."""

    def __init__(self, port: int, tally: Tally) -> None:
        self._port, self._tally = port, tally
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, sent: bytes, began: float) -> None:
        """Send a request and wait for its answer."""
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._streams
            writer.write(sent)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].split()[0]
            await reader.readexactly(int(length))
        except (OSError, asyncio.IncompleteReadError, IndexError):
            self._streams = None
            self._tally.lost += 1
            return
        status = int(head.split()[1])
        if status == 200:
            self._tally.seconds.append(time.perf_counter() - began)
        elif status in REFUSED and b"retry-after" in head:
            self._tally.refused += 1
            await asyncio.sleep(0.05)
        else:
            self._tally.lost += 1

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()


async def closed_loop(port: int, sent: Iterator[bytes], clients: int, until: float) -> Tally:
    """So many clients, each of which waits for its answer before it sends again."""
    tally = Tally()

    async def work() -> None:
        client = Client(port, tally)
        while time.perf_counter() < until:
            await client.send(next(sent), time.perf_counter())
        client.close()

    await asyncio.gather(*(work() for _ in range(clients)))
    return tally


async def open_loop(port: int, sent: Iterator[bytes], rate: float, until: float) -> Tally:
    """Requests that arrive by chance, whether or not others were answered."""
    tally, chance = Tally(), random.Random(1)
    idle: list[Client] = []
    tasks: set[asyncio.Task[None]] = set()

    async def arrive(began: float) -> None:
        client = idle.pop() if idle else Client(port, tally)
        await client.send(next(sent), began)
        idle.append(client)

    due = time.perf_counter()
    while due < until:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(arrive(due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        due += chance.expovariate(rate)
    await asyncio.gather(*tasks)
    for client in idle:
        client.close()
    return tally


async def beside_others(port: int, lines: list[str], beam: int, until: float) -> Tally:
    """A client with single sentences, beside bulk and extreme requests."""
    bulk = request((lines * BULK)[:BULK], beam)
    extreme = request(lines[:1], EXTREME_BEAM)
    others = [
        asyncio.create_task(_tally_of(closed_loop(port, cycle([kind]), 1, until)))
        for kind in (*[bulk] * 4, *[extreme] * 2)
    ]
    await asyncio.sleep(1.0)
    small = cycle([request([line], beam) for line in lines])
    tally = await closed_loop(port, small, 1, until)
    await asyncio.gather(*others)
    return tally


async def _tally_of(work: Awaitable[Tally]) -> Tally:
    return await work


def drive(port: int, lines: list[str], beam: int, seconds: float) -> None:
    """Be the clients' process; the results go to standard output."""
    sent = cycle([request([line], beam) for line in lines])

    def during(work: Callable[[float], Awaitable[Tally]]) -> dict[str, float]:
        return asyncio.run(_tally_of(work(time.perf_counter() + seconds))).summary()

    during(lambda until: closed_loop(port, sent, 8, until - 0.7 * seconds))  # warm
    found: dict[str, Any] = {"closed": {}, "open": {}}
    for count in CLIENTS:
        found["closed"][count] = during(
            lambda until, count=count: closed_loop(port, sent, count, until)
        )
    found["capacity"] = max(each["rate"] for each in found["closed"].values())
    for share in SHARES:
        rate = share * found["capacity"]
        found["open"][share] = during(lambda until, rate=rate: open_loop(port, sent, rate, until))
    found["beside"] = during(lambda until: beside_others(port, lines, beam, until))
    print(json.dumps(found))


def table(found: dict[str, Any]) -> list[str]:
    """A row for each load."""
    lines = [
        "| load | answered/s | p50, ms | p99, ms | answered | refused | lost |",
        "| --- " * 7 + "|",
    ]
    rows = {f"{count} clients": each for count, each in found["closed"].items()}
    rows |= {
        f"arrivals at {float(share):.0%} of capacity": each for share, each in found["open"].items()
    }
    rows["one sentence beside bulk and extreme requests"] = found["beside"]
    for name, each in rows.items():
        lines.append(
            f"| {name} | {each['rate']:,.0f} | {each['median']:.1f} | {each['tail']:.1f} "
            f"| {each['answered']:,} | {each['refused']:,} | {each['lost']:,} |"
        )
    return lines


def main() -> None:
    """Start the server and the clients, and keep what they saw."""
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
    lone, overload = found["closed"]["1"], found["open"]["1.2"]
    found["overload share"] = overload["rate"] / found["capacity"]
    found["beside ratio"] = found["beside"]["tail"] / lone["median"]
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
