"""How ranks find and connect to each other, through the key-value store of the rendezvous.

Each rank listens on the interface that leads to the rendezvous, and writes its address and a random
token to the store. It accepts only peers that present the token.
"""

import json
import os
import secrets
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hmac import compare_digest
from ipaddress import ip_address
from typing import Any, NamedTuple

from torch.distributed.distributed_c10d import Store

from seqloom.errors import RunError
from seqloom.training.distributed.connections import QUIETLY, SLICE, PeerConnections, PeerLostError

__all__ = ["Member", "agree_on_name", "connect_ranks", "worker_errors"]

LOOPBACK = "127.0.0.1"
GREETING = struct.Struct("!I32s")  # the rank that connects, and the other's token
GREETING_TIME = 10.0  # seconds that a connection has to present the token
MOST_GUESTS = 64  # connections that have not presented it yet
ROUTE = "give each machine an interface of its own that leads to MASTER_ADDR"
POLLING = 0.02  # seconds between two looks into the store

Check = Callable[[], None]  # called while waiting; raises when that is to end


class Member(NamedTuple):
    """A rank among so many."""

    rank: int
    world: int

    @property
    def others(self) -> list[int]:
        """The other ranks."""
        return [other for other in range(self.world) if other != self.rank]


class Address(NamedTuple):
    """Where a rank listens, and the token to present there."""

    host: str
    port: int
    token: str


def agree_on_name(board: Store, me: Member, check: Check) -> str:
    """Agree on a name for this attempt that no earlier attempt has used.

    torchrun's store keeps the keys of a dead attempt, addresses included, and its restart count
    differs between machines. So each other worker writes a random word, and rank 0 answers every
    word it sees until all have found their answer.
    """
    word = secrets.token_hex(16)
    if me.rank:
        board.set(f"here/{me.rank}", word)
        _wait_until(lambda: board.check([f"answer/{word}"]), check)
        attempt = board.get(f"answer/{word}").decode()
        board.set(f"met/{attempt}/{me.rank}", word)
        return attempt

    def all_met() -> bool:
        for rank in me.others:
            if board.check([f"here/{rank}"]):
                board.set(f"answer/{board.get(f'here/{rank}').decode()}", word)
        return all(board.check([f"met/{word}/{rank}"]) for rank in me.others)

    _wait_until(all_met, check)
    return word


@contextmanager
def connect_ranks(board: Store, me: Member, place: str, check: Check) -> Iterator[PeerConnections]:
    """Connect this rank to all others, which do the same with the same board.

    The board must be new to this attempt. `place` is that of the rendezvous: a file, if all ranks
    are on this machine, or `env://`.
    """
    with ExitStack() as stack:
        host = LOOPBACK if place.startswith("file:") else _own_host(board, me, check)
        with _listen(host, me.world + MOST_GUESTS) as server:
            own = Address(host, server.getsockname()[1], secrets.token_hex(16))
            board.set(f"address/{me.rank}", json.dumps(own))
            found = {}
            for rank in range(me.rank):
                address = Address(*_read(board, f"address/{rank}", check))
                found[rank] = stack.enter_context(_call(rank, address, me, check))
            for rank, connection in _admitted(server, own.token, me, check):
                found[rank] = stack.enter_context(connection)
        connections = PeerConnections(found)
        stack.callback(connections.close)
        yield connections


@contextmanager
def worker_errors() -> Iterator[None]:
    """Report errors of the store, of connections and of NCCL as the loss of a worker."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        raise PeerLostError from error


def _own_host(board: Store, me: Member, check: Check) -> str:
    """The address of this machine's interface that leads to the rendezvous.

    On the machine of the rendezvous this may be the loopback interface; if other machines take
    part, it is rather the address by which they reach the rendezvous.
    """
    meeting = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    with socket.create_connection(meeting, timeout=GREETING_TIME) as probe:
        own, reached = probe.getsockname()[0], probe.getpeername()[0]
    board.set(f"route/{me.rank}", json.dumps([own, reached]))
    if ip_address(own).is_loopback:
        for rank in me.others:
            theirs, reached = _read(board, f"route/{rank}", check)
            if not ip_address(theirs).is_loopback:
                return str(reached)
    return str(own)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _listen(host: str, backlog: int) -> socket.socket:
    try:
        return socket.create_server((host, 0), family=_family(host), backlog=backlog)
    except OSError as error:
        raise RunError(f"cannot listen at {host}: {error.strerror}", remedy=ROUTE) from error


def _call(rank: int, address: Address, me: Member, check: Check) -> socket.socket:
    """Connect to a lower rank and present its token."""
    connection = socket.socket(_family(address.host))
    try:
        connection.setblocking(False)
        connection.connect_ex(address[:2])
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_WRITE)
            while not selector.select(SLICE):
                check()
        connection.send(GREETING.pack(me.rank, address.token.encode()), QUIETLY)
    except OSError as error:
        connection.close()
        problem = f"rank {rank} cannot be reached at {address.host}:{address.port}"
        raise PeerLostError(problem) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _admitted(
    server: socket.socket, token: str, me: Member, check: Check
) -> Iterator[tuple[int, socket.socket]]:
    """The connections of the higher ranks, as these present the token."""
    expected = {rank for rank in me.others if rank > me.rank}
    with _Guests(server) as guests:
        while expected:
            for guest in guests.greeting(check):
                rank, said = GREETING.unpack(guest.greeting)
                if compare_digest(said, token.encode()) and rank in expected:
                    expected.remove(rank)
                    yield rank, guest.socket
                else:
                    guest.socket.close()


class _Guest:
    """A connection from which the greeting has not arrived yet."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.since = time.monotonic()
        self.greeting = b""

    def read(self) -> None:
        """Read what has arrived of the greeting; ConnectionResetError at its end."""
        part = self.socket.recv(GREETING.size - len(self.greeting))
        if not part:
            raise ConnectionResetError
        self.greeting += part


class _Guests:
    """All connections from which the greeting has not arrived yet; few, and not for long."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._selector = selectors.DefaultSelector()
        self._waiting: list[_Guest] = []

    def __enter__(self) -> "_Guests":
        self._server.setblocking(False)
        self._selector.register(self._server, selectors.EVENT_READ)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for guest in self._waiting:
            guest.socket.close()

    def greeting(self, check: Check) -> Iterator[_Guest]:
        """Wait; then those whose greeting is complete, which are the caller's to close."""
        check()
        for key, _ in self._selector.select(SLICE):
            if key.fileobj is self._server:
                self._accept()
                continue
            guest: _Guest = key.data
            try:
                guest.read()
            except BlockingIOError:
                continue
            except OSError:
                self._forget(guest)
                guest.socket.close()
                continue
            if len(guest.greeting) == GREETING.size:
                self._forget(guest)
                yield guest
        self._send_away()

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:  # it has gone again
            return
        connection.setblocking(False)
        self._waiting.append(_Guest(connection))
        self._selector.register(connection, selectors.EVENT_READ, self._waiting[-1])

    def _forget(self, guest: _Guest) -> None:
        self._waiting.remove(guest)
        self._selector.unregister(guest.socket)

    def _send_away(self) -> None:
        """Close connections that are too many or too slow."""
        latest = time.monotonic() - GREETING_TIME
        slow = [guest for guest in self._waiting if guest.since < latest]
        for guest in slow or self._waiting[:-MOST_GUESTS]:
            self._forget(guest)
            guest.socket.close()


def _read(board: Store, name: str, check: Check) -> list[Any]:
    """What another rank has written to the board, once it has."""
    _wait_until(lambda: board.check([name]), check)
    found: list[Any] = json.loads(board.get(name))
    return found


def _wait_until(ready: Callable[[], bool], check: Check) -> None:
    while not ready():
        check()
        time.sleep(POLLING)
