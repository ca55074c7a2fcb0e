"""Connections between ranks: sums with the same bits everywhere, and only for ranks."""

import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor
from torch._C._distributed_c10d import HashStore
from torch.distributed.distributed_c10d import PrefixStore, Store

from seqloom.errors import RunError
from seqloom.training.distributed import all_reduce, joining
from seqloom.training.distributed.all_reduce import SENT_AT_ONCE, sum_in_rank_order
from seqloom.training.distributed.connections import PeerConnections, PeerLostError
from seqloom.training.distributed.joining import Address, Member, connect_ranks

PATIENCE = 60.0  # seconds
LOCAL = "file:///nowhere"  # all ranks are on this machine
LARGE = SENT_AT_ONCE // 4 + 5  # numbers, not a multiple of any number of ranks


class GivenUpError(Exception):
    """What the tests' checks raise."""


def never() -> None:
    """A check that always goes on waiting."""


def on_ranks(world: int, work: Callable[[Member, PeerConnections], object]) -> list[object]:
    """Do something on so many connected ranks, each a thread, and return what each returns."""
    board = PrefixStore(secrets.token_hex(4), HashStore())

    def run(rank: int) -> object:
        me = Member(rank, world)
        with connect_ranks(board, me, LOCAL, never) as connections:
            return work(me, connections)

    with ThreadPoolExecutor(world) as pool:
        running = [pool.submit(run, rank) for rank in range(world)]
        return [each.result(timeout=PATIENCE) for each in running]


def sums(parts: list[Tensor]) -> list[Tensor]:
    """The sum of the parts, as each rank gets it."""

    def work(me: Member, connections: PeerConnections) -> Tensor:
        values = parts[me.rank].clone()

        def transfer(outgoing: all_reduce.Buffers, incoming: all_reduce.Buffers) -> None:
            connections.transfer(outgoing, incoming, never)

        sum_in_rank_order(values, rank=me.rank, world=me.world, transfer=transfer)
        return values

    found = on_ranks(len(parts), work)
    return [each for each in found if isinstance(each, Tensor)]


@pytest.mark.parametrize("world", [2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 7, 1_000, LARGE])
def test_all_ranks_get_the_sum_in_rank_order(world: int, count: int) -> None:
    """Sent whole or in shares, no bit differs from adding one rank after the other."""
    parts = list(torch.randn(world, count, generator=torch.Generator().manual_seed(count)))
    expected = parts[0].clone()
    for part in parts[1:]:
        expected += part
    found = sums(parts)
    assert len(found) == world
    assert all(torch.equal(each, expected) for each in found)


def test_whole_numbers_are_summed_exactly() -> None:
    """Numbers that no float32 holds."""
    parts = [torch.tensor([2**53 + 1, -1]), torch.tensor([2**53, 1])]
    assert all(each.tolist() == [2**54 + 1, 0] for each in sums(parts))


@pytest.mark.parametrize(
    ("count", "transfers"), [(SENT_AT_ONCE // 12, 1), (SENT_AT_ONCE // 12 + 1, 2)]
)
def test_how_often_ranks_wait_for_each_other(count: int, transfers: int) -> None:
    """One transfer, which takes one one-way delay, for small tensors, and two for large ones."""
    sent: list[int] = []

    def count_bytes(outgoing: all_reduce.Buffers, _: all_reduce.Buffers) -> None:
        sent.append(sum(each.nbytes for each in outgoing.values()))

    sum_in_rank_order(torch.ones(count), rank=1, world=4, transfer=count_bytes)
    assert len(sent) == transfers
    assert sum(sent) <= SENT_AT_ONCE


def test_a_rank_that_ends_is_lost() -> None:
    """The other is told so, at once and ever after."""

    def work(me: Member, connections: PeerConnections) -> None:
        if me.rank == 0:
            return
        for _ in range(2):
            with pytest.raises(PeerLostError, match="a worker was lost"):
                connections.transfer({}, {0: memoryview(bytearray(8))}, never)

    on_ranks(2, work)


def test_a_message_of_another_length_is_refused() -> None:
    """It is read no further, however long it says it is."""

    def work(me: Member, connections: PeerConnections) -> None:
        if me.rank == 0:
            connections.transfer({1: memoryview(bytes(1 << 10))}, {}, never)
            return
        buffer = bytearray(8)
        with pytest.raises(PeerLostError, match="rank 0 has sent 1024 bytes as message 1, not 8"):
            connections.transfer({}, {0: memoryview(buffer)}, never)
        assert buffer == bytes(8)

    on_ranks(2, work)


def test_waiting_ends_when_the_check_says_so() -> None:
    """After which nothing can be sent, since a message may be half read."""
    done = threading.Event()

    def give_up() -> None:
        raise GivenUpError

    def work(me: Member, connections: PeerConnections) -> None:
        if me.rank == 0:
            assert done.wait(PATIENCE)
            return
        buffer = memoryview(bytearray(8))
        with pytest.raises(GivenUpError):
            connections.transfer({}, {0: buffer}, give_up)
        with pytest.raises(PeerLostError):
            connections.transfer({0: buffer}, {}, never)
        done.set()

    on_ranks(2, work)


@contextmanager
def strangers(address: Address, *greetings: bytes) -> Iterator[list[socket.socket]]:
    """Connections to a rank by others, with what they say."""
    made = [socket.create_connection(address[:2]) for _ in greetings]
    try:
        for each, said in zip(made, greetings, strict=True):
            each.settimeout(PATIENCE)
            each.sendall(said)
        yield made
    finally:
        for each in made:
            each.close()


def test_only_ranks_are_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not present the token, or presents it as no rank to come, is sent away."""
    monkeypatch.setattr(joining, "GREETING_TIME", 0.5)
    board = HashStore()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(meet, board, 0)
        address = Address(*joining._read(board, "address/0", never))
        assert address.host == "127.0.0.1"
        token = address.token.encode()
        right, wrong = (joining.GREETING.pack(1, each) for each in (token, bytes(32)))
        with strangers(address, wrong, joining.GREETING.pack(7, token), b"GET /", b"") as made:
            assert [each.recv(1) for each in made] == [b""] * 4
        with strangers(address, right[:-1]):
            assert [pool.submit(meet, board, 1).result(PATIENCE), first.result(PATIENCE)] == [0, 1]


def meet(board: Store, rank: int) -> int:
    """Connect as one of two ranks, and return the number that the other sends: its own."""
    with connect_ranks(board, Member(rank, 2), LOCAL, never) as connections:
        buffer = bytearray(1)
        connections.transfer(
            {1 - rank: memoryview(bytes([rank]))}, {1 - rank: memoryview(buffer)}, never
        )
        return buffer[0]


def test_many_strangers_keep_no_rank_out() -> None:
    """There is room for a rank, whoever else waits without a word."""
    board = HashStore()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(meet, board, 0)
        address = Address(*joining._read(board, "address/0", never))
        with strangers(address, *[b""] * (2 * joining.MOST_GUESTS)):
            assert [pool.submit(meet, board, 1).result(PATIENCE), first.result(PATIENCE)] == [0, 1]


def test_a_rank_that_cannot_be_reached_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    board = HashStore()
    board.set("address/0", f'["127.0.0.1", {port}, "{"0" * 32}"]')
    with (
        pytest.raises(PeerLostError, match=f"rank 0 cannot be reached at 127.0.0.1:{port}"),
        connect_ranks(board, Member(1, 2), LOCAL, never),
    ):
        pass


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [(["127.0.0.1", "127.0.0.1"], "127.0.0.1"), (["192.0.2.2", "192.0.2.1"], "192.0.2.1")],
    ids=["one machine", "two machines"],
)
def test_ranks_listen_where_the_rendezvous_is_reached(
    theirs: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine of the rendezvous knows its own name as the loopback interface."""
    board = HashStore()
    board.set("route/1", f'["{theirs[0]}", "{theirs[1]}"]')
    with socket.create_server(("127.0.0.1", 0)) as meeting:
        monkeypatch.setenv("MASTER_ADDR", "localhost")
        monkeypatch.setenv("MASTER_PORT", str(meeting.getsockname()[1]))
        assert joining._own_host(board, Member(0, 2), never) == expected


def test_an_address_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, with the address."""
    with pytest.raises(RunError, match="cannot listen at 192.0.2.1: "):
        joining._listen("192.0.2.1", 1)
