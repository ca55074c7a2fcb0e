"""Hosts in network namespaces of their own, joined by a switch, with no route to anywhere else."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Host", "network", "unavailable"]

ROOT = Path(__file__).resolve().parents[3]
LINK = "eth0"
RULE = "reno"  # congestion control, which every Linux has
ENDING = 10.0  # seconds that a killed process has to be gone


@dataclass
class Host:
    """A namespace with one network interface and an address."""

    namespace: str
    address: str
    processes: list["subprocess.Popen[str]"] = field(default_factory=list)

    def start(self, *command: str, log: Path, **environment: str) -> "subprocess.Popen[str]":
        """Run a command on this host, as a session of its own; what it prints goes to a file."""
        with log.open("w") as file:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *command],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def pids(self) -> list[int]:
        """Every process in the namespace, whatever session it is in."""
        listed = _ip("netns", "pids", self.namespace)
        return [int(word) for word in listed.split()]

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to all that runs on this host."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Lose the host: everything on it ends at once."""
        self.signal_all(signal.SIGKILL)
        for process in self.processes:
            process.wait(timeout=ENDING)
        self.processes.clear()

    def set_link(self, state: str) -> None:
        """Plug the cable in (`up`) or pull it out (`down`)."""
        _ip("-n", self.namespace, "link", "set", LINK, state)


def unavailable() -> str:
    """Why there can be no hosts here, or nothing."""
    if shutil.which("ip") is None:
        return "needs ip, of Debian's iproute2"
    name = f"seqloom-{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if made.returncode:
        return "needs permission to make network namespaces"
    _ip("netns", "delete", name)
    return ""


@contextmanager
def network(count: int, *, delay: float = 0.0, rate: float = 0.0) -> Iterator[list[Host]]:
    """So many hosts behind one switch, which delays frames by `delay` seconds in each direction."""
    prefix = f"seqloom-{os.getpid()}"
    with ExitStack() as stack:
        switch = stack.enter_context(_namespace(f"{prefix}-switch"))
        hosts = []
        for number in range(count):
            namespace = stack.enter_context(_namespace(f"{prefix}-{number}"))
            hosts.append(Host(namespace, f"192.0.2.{number + 1}"))
            _join(hosts[-1], switch, f"port{number}")
        ports = [f"port{number}" for number in range(count)]
        words = [sys.executable, "-m", "tests.runs.hosts.switch", str(delay), str(rate), *ports]
        running = subprocess.Popen(["ip", "netns", "exec", switch, *words], cwd=ROOT)
        try:
            yield hosts
        finally:
            for host in hosts:
                host.kill()
            running.kill()
            running.wait()


@contextmanager
def _namespace(name: str) -> Iterator[str]:
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        _ip("netns", "delete", name)


def _join(host: Host, switch: str, port: str) -> None:
    """A cable from a host to a port of the switch.

    Hosts send as fast as the link takes it, by the oldest rule of TCP; newer ones may spread a
    message over time.
    """
    rule = f"echo {RULE} > /proc/sys/net/ipv4/tcp_congestion_control"
    _ip("netns", "exec", host.namespace, "sh", "-c", rule)
    ends = ["link", "add", LINK, "type", "veth", "peer", "name", port, "netns", switch]
    _ip("-n", host.namespace, *ends)
    _ip("-n", switch, "link", "set", port, "up")
    _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", LINK)
    _ip("-n", host.namespace, "link", "set", LINK, "up")


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout
