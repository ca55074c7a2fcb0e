"""Fair queueing: clients have equal shares of the work, and so have a client's requests.

Start-time fair queueing (P. Goyal, H. M. Vin and H. Cheng 1996, Start-time fair queueing: a
scheduling algorithm for integrated services packet switching networks), once over clients and
within each over its requests. Whoever has had the least work is next. Those who come anew begin
where the one stands that was last taken, and an input further, so that no stream of newcomers keeps
others waiting for ever: however much others have asked for, a small request waits for about one
input of each of them.
"""

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from seqloom.scheduling.jobs import Job, Ticket

__all__ = ["FairQueue", "Turns"]

MOST_DEBTS = 1_000  # remembered debts, beyond which settled ones are dropped
QUANTUM = 2_000.0  # the largest advance of the clock for one input


Item = TypeVar("Item", bound=Hashable)


class Turns(Generic[Item]):
    """Items by received service, the least first; ties in order of insertion."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Item]] = []
        self._entries: dict[Item, tuple[float, int, Item]] = {}  # valid entries of the heap
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Item]:
        """Iterate in no particular order."""
        return iter(self._entries)

    def put(self, item: Item, served: float) -> None:
        """Insert an item that has received this much service."""
        self._entries[item] = entry = (served, next(self._numbers), item)
        heapq.heappush(self._heap, entry)

    def remove(self, item: Item) -> None:
        """Remove an item."""
        del self._entries[item]

    def in_turn(self) -> Iterator[Item]:
        """Iterate in order of turns, lazily."""
        while self._heap and self._entries.get(self._heap[0][2]) is not self._heap[0]:
            heapq.heappop(self._heap)
        if self._heap:
            yield self._heap[0][2]
            for _, _, item in sorted(self._entries.values(), key=lambda entry: entry[:2])[1:]:
                yield item


@dataclass(eq=False)
class JobFlow:
    """The waiting inputs of a request, in order."""

    job: Job
    tickets: deque[Ticket]
    served: float  # service by the clock of its client


@dataclass(eq=False)
class ClientFlow:
    """The waiting requests of a client."""

    name: str
    served: float
    clock: float = 0.0
    flows: dict[Job, JobFlow] = field(default_factory=dict)
    turns: Turns[JobFlow] = field(default_factory=Turns)

    def next_flow(self, accept: Callable[[Ticket], bool]) -> JobFlow | None:
        """The next request in turn whose next input is accepted."""
        return next((each for each in self.turns.in_turn() if accept(each.tickets[0])), None)


def _any(_: Ticket) -> bool:
    return True


class FairQueue:
    """Waiting inputs, by client and request."""

    def __init__(self) -> None:
        self._clients: dict[str, ClientFlow] = {}
        self._turns: Turns[ClientFlow] = Turns()
        self._debts: dict[str, float] = {}  # of clients ahead of those that wait
        self._clock = 0.0
        self._length = 0
        self.job_count = 0  # requests with waiting inputs

    def __len__(self) -> int:
        """The number of waiting inputs."""
        return self._length

    @property
    def jobs(self) -> Iterator[Job]:
        """Requests with waiting inputs."""
        return (job for client in self._clients.values() for job in client.flows)

    def push(self, job: Job, tickets: list[Ticket]) -> None:
        """Enqueue the inputs of a request."""
        if job.client not in self._clients:
            began = max(self._clock, self._debts.pop(job.client, 0.0))
            self._clients[job.client] = ClientFlow(job.client, began)
            self._turns.put(self._clients[job.client], began)
        client = self._clients[job.client]
        client.flows[job] = flow = JobFlow(job, deque(tickets), client.clock)
        client.turns.put(flow, flow.served)
        self._length += len(tickets)
        self.job_count += 1

    def peek(self, accept: Callable[[Ticket], bool] = _any) -> Ticket | None:
        """The next input in turn whose request is accepted."""
        found = self._next(accept)
        return None if found is None else found[1].tickets[0]

    def pop(
        self,
        accept: Callable[[Ticket], bool] = _any,
        otherwise: Callable[[Ticket], bool] | None = None,
    ) -> Ticket | None:
        """Dequeue the next accepted input; if the very next in turn is not accepted, the first that
        `otherwise` accepts.
        """
        found = self._next(accept if otherwise is None else _any)
        if found is not None and otherwise is not None and not accept(found[1].tickets[0]):
            found = self._next(otherwise)
        if found is None:
            return None
        client, flow = found
        ticket = flow.tickets.popleft()
        self._length -= 1
        passed = min(ticket.cost, QUANTUM)
        self._clock = max(self._clock, client.served + passed)
        client.clock = max(client.clock, flow.served + passed)
        client.served += ticket.cost
        flow.served += ticket.cost
        self._turns.put(client, client.served)
        client.turns.put(flow, flow.served)
        if not flow.tickets:
            self._forget(flow)
        return ticket

    def remove(self, job: Job) -> None:
        """Remove all inputs of a request."""
        flow = self._clients[job.client].flows[job]
        self._length -= len(flow.tickets)
        self._forget(flow)

    def _next(self, accept: Callable[[Ticket], bool]) -> tuple[ClientFlow, JobFlow] | None:
        for client in self._turns.in_turn():
            if (flow := client.next_flow(accept)) is not None:
                return client, flow
        return None

    def _forget(self, flow: JobFlow) -> None:
        """Drop a request, and its client if it has no other."""
        client = self._clients[flow.job.client]
        del client.flows[flow.job]
        client.turns.remove(flow)
        self.job_count -= 1
        if not client.flows:
            del self._clients[client.name]
            self._turns.remove(client)
            if client.served > self._clock:
                self._debts[client.name] = client.served
            if len(self._debts) > MOST_DEBTS:
                self._debts = {
                    name: debt for name, debt in self._debts.items() if debt > self._clock
                }
