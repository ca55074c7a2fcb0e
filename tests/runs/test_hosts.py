"""Several hosts: the same bits as one, and a host lost, hung or cut off comes back (A10)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tomli_w

from tests.counts import count
from tests.runs.hosts.network import Host, network, unavailable
from tests.runs.nursery import Nursery, nursery
from tests.runs.support import assert_same, last, options, write_pairs

pytestmark = [pytest.mark.faults, pytest.mark.skipif(bool(unavailable()), reason=unavailable())]
PORT = "29400"
PATIENCE = 400.0  # seconds, for processes that have to import torch on a busy machine
SILENCE = "15"  # seconds after which a host is given up
ONE_THREAD = {"OMP_NUM_THREADS": "1", "SEQLOOM_PEER_TIMEOUT": SILENCE}
# Without it torch 2.13 does not tell a host that joins later where to meet (docs/scale.md).
REJOINED = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
only_full = pytest.mark.skipif(
    os.environ.get("SEQLOOM_FAULTS") != "full", reason="takes minutes; scripts/faults runs it"
)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(tmp_path_factory.mktemp("nursery")) as process:
        yield process


def words(run: Path, updates: int) -> list[str]:
    """`train` with a model of a few hundred weights."""
    config = run.with_suffix(".toml")
    chosen = options(updates=updates, validate_every=updates // 6, patience=0)
    config.write_text(tomli_w.dumps(chosen))
    data = write_pairs(run.with_name("pairs.tsv"))
    return ["train", str(data), "--run", str(run), "--config", str(config)]


def start_rank(host: Host, rank: int, hosts: list[Host], arguments: list[str]) -> Path:
    """One rank on a host, without a launcher; where its output goes."""
    log = Path(arguments[3]).with_name(f"rank-{rank}.log")
    place = {"RANK": str(rank), "WORLD_SIZE": str(len(hosts)), "LOCAL_RANK": "0"}
    meeting = {"MASTER_ADDR": hosts[0].address, "MASTER_PORT": PORT}
    command = [sys.executable, "-m", "seqloom", *arguments]
    host.start(*command, log=log, **place, **meeting, **ONE_THREAD)
    return log


def torchrun(host: Host, hosts: list[Host], arguments: list[str]) -> "subprocess.Popen[str]":
    """The command of docs/scale.md for several machines."""
    number = hosts.index(host)
    elastic = ["--nnodes", str(len(hosts)), "--nproc-per-node", "1", "--max-restarts", "3"]
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{hosts[0].address}:{PORT}"]
    named = ["--rdzv-id", "mine", "--rdzv-conf", f"is_host={int(not number)}"]
    launcher = ["-m", "torch.distributed.run", *elastic, *meeting, *named]
    local = ["--local-addr", host.address, "-m", "seqloom", "--", *arguments]
    log = Path(arguments[3]).with_name(f"host-{number}-{time.monotonic_ns()}.log")
    return host.start(sys.executable, *launcher, *local, log=log, **ONE_THREAD, **REJOINED)


def wait_until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.2)


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=only_full)])
def test_hosts_are_as_good_as_ranks_of_one(started: Nursery, tmp_path: Path, world: int) -> None:
    """No bit differs between so many hosts and as many ranks on one, 5 ms apart or not."""
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert all(each.code == 0 for each in started.launch(*words(whole, 12), world=world))
    with network(world, delay=0.005) as hosts:
        logs = [start_rank(host, rank, hosts, words(run, 12)) for rank, host in enumerate(hosts)]
        for host, log in zip(hosts, logs, strict=True):
            assert host.processes[0].wait(timeout=PATIENCE) == 0, log.read_text()
    assert_same(run, whole)


def test_sums_take_one_round_trip_at_most(tmp_path: Path) -> None:
    """A tensor that is sent whole takes one one-way delay, and one that is sent in shares two."""
    delay = 0.2
    words = ["-m", "tests.runs.hosts.timed_sums", "5", "4000", "0"]
    logs = [tmp_path / f"rank-{rank}.log" for rank in range(2)]
    with network(2, delay=delay) as hosts:
        meeting = {"MASTER_ADDR": hosts[0].address, "MASTER_PORT": PORT, "WORLD_SIZE": "2"}
        for rank, (host, log) in enumerate(zip(hosts, logs, strict=True)):
            place = {**meeting, **ONE_THREAD, "RANK": str(rank)}
            host.start(sys.executable, *words, log=log, **place)
        for host, log in zip(hosts, logs, strict=True):
            assert host.processes[0].wait(timeout=PATIENCE) == 0, log.read_text()
    for whole, shares in map(numbers, logs):
        assert delay <= whole < 1.5 * delay
        assert 2 * delay <= shares < 2.5 * delay


def numbers(log: Path) -> list[float]:
    """What a rank has printed."""
    return [float(line) for line in log.read_text().splitlines()]


def lose(host: Host) -> None:
    """A power cut."""
    host.kill()


def hang(host: Host) -> None:
    host.signal_all(signal.SIGSTOP)


def unplug(host: Host) -> None:
    host.set_link("down")


def wake(host: Host) -> None:
    host.signal_all(signal.SIGCONT)


def plug_in(host: Host) -> None:
    host.set_link("up")


@only_full
@pytest.mark.parametrize("away", [5, 15, 40])
@pytest.mark.parametrize(
    ("fault", "mended"),
    [(lose, None), (hang, wake), (unplug, plug_in)],
    ids=["killed", "hung", "unplugged"],
)
def test_a_host_comes_back(
    started: Nursery,
    tmp_path: Path,
    fault: Callable[[Host], None],
    mended: Callable[[Host], None] | None,
    away: int,
) -> None:
    """A10: a host is gone for some seconds; its command is given again, or it goes on by itself.

    Training goes on from the newest checkpoint, and ends with the same bits.
    """
    count(1, 1)
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert all(each.code == 0 for each in started.launch(*words(whole, 600)))
    with network(2) as hosts:
        arguments = words(run, 600)
        first, other = [torchrun(host, hosts, arguments) for host in hosts]
        wait_until(lambda: any(run.glob("step-*")) or first.poll() is not None)
        fault(hosts[1])
        at = last(run).number
        time.sleep(away)
        if mended is None:
            other = torchrun(hosts[1], hosts, arguments)
        else:
            mended(hosts[1])
        wait_until(lambda: first.poll() is not None and other.poll() is not None)
        logs = "\n".join(path.read_text()[-3000:] for path in tmp_path.glob("host-*.log"))
        assert (first.returncode, other.returncode) == (0, 0), logs
        assert at < last(run).number
    assert_same(run, whole)
