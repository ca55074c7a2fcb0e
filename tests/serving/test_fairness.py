"""RELIABILITY D9: nobody waits long for what others have asked."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from seqloom.scheduling.fairness import QUANTUM, FairQueue
from seqloom.scheduling.jobs import Job, Ticket
from tests.prediction.untrained import SOURCES
from tests.serving.support import Served, serving, until
from tests.serving.wrapped import Slow, endless, slow


def job(queue: FairQueue, client: str, *costs: float) -> Job:
    """A request of inputs with these costs, in the queue."""
    made = Job("model", 0.0, lambda told: None, client=client, cost=sum(costs))
    queue.push(made, [Ticket(made, number=n, cost=cost) for n, cost in enumerate(costs)])
    return made


def drained(queue: FairQueue) -> Iterator[Ticket]:
    while (ticket := queue.pop()) is not None:
        yield ticket


def test_clients_have_equal_shares_of_the_work() -> None:
    """Whatever their inputs cost, and however many requests they send."""
    queue = FairQueue()
    job(queue, "narrow", *[10.0] * 400)
    for _ in range(20):
        job(queue, "wide", *[100.0] * 4)
    job(queue, "mixed", *[10.0, 250.0] * 30)
    had: Counter[str] = Counter()
    for ticket in itertools.islice(drained(queue), 200):
        had[ticket.job.client] += int(ticket.cost)
    assert max(had.values()) - min(had.values()) <= 250


def test_others_come_only_where_the_next_in_turn_is_not_accepted() -> None:
    queue = FairQueue()
    large, small = job(queue, "a", 50.0, 50.0), job(queue, "b", 5.0)
    taken = [
        queue.pop(lambda _: False, lambda ticket: ticket.cost < 10),
        queue.pop(lambda _: True, lambda _: False),
        queue.pop(lambda _: False, lambda _: False),
    ]
    assert [each and each.job for each in taken] == [small, large, None]
    assert len(queue) == 1


def test_requests_of_a_client_have_equal_shares() -> None:
    queue = FairQueue()
    many, few = job(queue, "one", *[5.0] * 100), job(queue, "one", *[50.0] * 10)
    first = list(itertools.islice(drained(queue), 44))
    assert sum(each.cost for each in first if each.job is many) == pytest.approx(200, abs=50)
    assert sum(each.cost for each in first if each.job is few) == pytest.approx(200, abs=50)


def test_a_newcomer_waits_for_about_one_input_of_each() -> None:
    """A queue that is first in, first out would let it wait for all 256 of them."""
    queue = FairQueue()
    for client in "abcd":
        job(queue, client, *[370.0] * 64)
    for _ in range(100):
        queue.pop()
    small = job(queue, "e", 100.0)
    assert small in [each.job for each in itertools.islice(drained(queue), 6)]


def test_what_costs_most_delays_newcomers_by_a_bounded_cost() -> None:
    """Inputs of extreme work do not set back whoever comes after them."""
    queue = FairQueue()
    job(queue, "extreme", 400_000.0, 400_000.0)
    job(queue, "bulk", *[100.0] * 200)
    assert queue.pop() is not None
    small = job(queue, "small", 100.0)
    before = list(itertools.takewhile(lambda each: each.job is not small, drained(queue)))
    assert sum(each.cost for each in before) <= QUANTUM + 100


def test_newcomers_keep_nobody_waiting_for_ever() -> None:
    """Eight small requests wait at any time, all of new clients, and the large one goes on."""
    queue = FairQueue()
    large = job(queue, "large", *[300.0] * 50)
    taken = 0
    for number in range(2_000):
        job(queue, f"new {number}", 100.0)
        if number >= 8:
            ticket = queue.pop()
            assert ticket is not None
            taken += ticket.job is large
    assert taken == 50


def test_a_client_that_had_much_lets_others_go_first() -> None:
    """It has nothing waiting for a moment, and comes back."""
    queue = FairQueue()
    job(queue, "greedy", 5_000.0)
    assert queue.pop() is not None
    job(queue, "greedy", 5_000.0)
    for _ in range(3):
        job(queue, "modest", 500.0)
    assert [each.job.client for each in drained(queue)] == ["modest"] * 3 + ["greedy"]


def test_nothing_is_lost() -> None:
    queue = FairQueue()
    jobs = [
        job(queue, client, *[1.0] * count) for client, count in zip("aab", (3, 2, 4), strict=True)
    ]
    assert (len(queue), queue.job_count) == (9, 3)
    queue.remove(jobs[1])
    assert (len(queue), set(queue.jobs)) == (7, {jobs[0], jobs[2]})
    found = [(each.job, each.number) for each in drained(queue)]
    assert sorted(number for one, number in found if one is jobs[2]) == [0, 1, 2, 3]
    assert (len(queue), len(found), queue.pop()) == (0, 7, None)


def latencies(served: Served, decoders: list[Slow], number: int) -> list[int]:
    """Steps of all decoders while a small request is under way, again and again: the machine may be
    busy with other things.
    """
    found = []
    for count in range(number):
        before = sum(each.steps for each in decoders)
        answer = served.predict(SOURCES[count % len(SOURCES)], search={"kind": "greedy"})
        assert answer.status == 200, answer.body
        found.append(sum(each.steps for each in decoders) - before)
    return sorted(found)


def beside(
    served: Served, decoders: list[Slow], clients: int, ask: Callable[[], object]
) -> list[int]:
    """The same while others ask without a pause."""
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            ask()

    others = [threading.Thread(target=go_on) for _ in range(clients)]
    before = sum(each.steps for each in decoders)
    for each in others:
        each.start()
    try:
        until(lambda: sum(each.steps for each in decoders) > before + 50)
        return latencies(served, decoders, 10)
    finally:
        over.set()
        for each in others:
            each.join()


def test_a_small_request_beside_bulk() -> None:
    """Four clients with 64 sentences each: with a queue that is first in, first out it would wait
    for all of these, twenty times as long as alone and more."""
    model, decoder = slow(0.005)
    bulk = [SOURCES[number % len(SOURCES)] for number in range(64)]
    with serving({"only": model}) as served:
        alone = latencies(served, [decoder], 10)[5]
        found = beside(served, [decoder], 4, lambda: served.predict(*bulk))
    assert found[-2] <= 5 * alone


def test_a_small_request_beside_extreme_work() -> None:
    """The widest beams and longest outputs, more of them than there are workers."""
    model, decoder = slow(0.005)
    long, other = endless(0.005)
    wide = {"kind": "beam", "width": 64}
    with serving({"only": model, "long": long}, deadline=5) as served:
        alone = latencies(served, [decoder, other], 10)[5]
        found = beside(
            served,
            [decoder, other],
            4,
            lambda: served.predict("abc", model="long", search=wide),
        )
    assert found[-2] <= 5 * alone
