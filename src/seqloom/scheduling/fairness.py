"""Whose turn it is: clients have equal shares of the work, and so have the requests of a client.

Start-time fair queueing (P. Goyal, H. M. Vin and H. Cheng 1996, Start-time fair queueing: a
scheduling algorithm for integrated services packet switching networks), once over clients and
within each over its requests. Whoever has had the least work is next. Those who come anew begin
where the one stands that was last taken, and an input further, so that no stream of newcomers keeps
others waiting for ever: however much others have asked for, a small request waits for about one
input of each of them.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from seqloom.scheduling.jobs import Job, Ticket

__all__ = ["FairQueue"]

MOST_DEBTS = 1_000  # that are remembered before those are forgotten that are settled
QUANTUM = 2_000.0  # the most that the clock moves for one input, whatever that costs


@dataclass
class JobFlow:
    """The inputs of a request that wait, in order."""

    job: Job
    tickets: deque[Ticket]
    served: float  # by the clock of its client


@dataclass
class ClientFlow:
    """The requests of a client that wait."""

    served: float
    clock: float = 0.0
    jobs: dict[Job, JobFlow] = field(default_factory=dict)

    def next_flow(self, accept: Callable[[Ticket], bool]) -> JobFlow | None:
        """The request whose turn it is, among those whose next input is accepted."""
        flows = (each for each in self.jobs.values() if accept(each.tickets[0]))
        return min(flows, key=lambda each: each.served, default=None)


def _any(_: Ticket) -> bool:
    return True


class FairQueue:
    """Inputs that wait, by client and request."""

    def __init__(self) -> None:
        self._clients: dict[str, ClientFlow] = {}
        self._debts: dict[str, float] = {}  # of clients that have had more than those who wait
        self._clock = 0.0
        self._length = 0

    def __len__(self) -> int:
        """Inputs that wait."""
        return self._length

    @property
    def jobs(self) -> Iterator[Job]:
        """Requests with inputs that wait."""
        return (job for client in self._clients.values() for job in client.jobs)

    @property
    def job_count(self) -> int:
        """How many these are."""
        return sum(len(client.jobs) for client in self._clients.values())

    def push(self, job: Job, tickets: list[Ticket]) -> None:
        """Let the inputs of a request wait for their turns."""
        if job.client not in self._clients:
            began = max(self._clock, self._debts.pop(job.client, 0.0))
            self._clients[job.client] = ClientFlow(began)
        client = self._clients[job.client]
        client.jobs[job] = JobFlow(job, deque(tickets), client.clock)
        self._length += len(tickets)

    def peek(self, accept: Callable[[Ticket], bool] = _any) -> Ticket | None:
        """The input whose turn it is, among those of requests whose next input is accepted."""
        found = self._next(accept)
        return None if found is None else found[1].tickets[0]

    def pop(self, accept: Callable[[Ticket], bool] = _any) -> Ticket | None:
        """The same, which waits no longer."""
        found = self._next(accept)
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
        if not flow.tickets:
            self._forget(flow.job)
        return ticket

    def remove(self, job: Job) -> None:
        """Let nothing of a request wait any longer."""
        flow = self._clients[job.client].jobs[job]
        self._length -= len(flow.tickets)
        self._forget(job)

    def _next(self, accept: Callable[[Ticket], bool]) -> tuple[ClientFlow, JobFlow] | None:
        flows = ((client, client.next_flow(accept)) for client in self._clients.values())
        ready = ((client, flow) for client, flow in flows if flow is not None)
        return min(ready, key=lambda each: each[0].served, default=None)

    def _forget(self, job: Job) -> None:
        """Drop a request, and its client where it has no other."""
        client = self._clients[job.client]
        del client.jobs[job]
        if not client.jobs:
            del self._clients[job.client]
            if client.served > self._clock:
                self._debts[job.client] = client.served
            if len(self._debts) > MOST_DEBTS:
                self._debts = {
                    name: debt for name, debt in self._debts.items() if debt > self._clock
                }
