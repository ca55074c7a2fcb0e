"""A worker decodes whatever has arrived, together where it can be, a step at a time.

It is a thread with one core, or with a process that has one. Between two steps it lets newcomers
join, takes out what is done, and gives up what is late or whose client has gone. The batch that has
had the least time has the next step.
"""

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from seqloom.errors import LimitError
from seqloom.parallel import use_one_thread
from seqloom.prediction.output import Output
from seqloom.prediction.request import PendingInput, batch_key
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.scheduling.errors import ProcessLost
from seqloom.scheduling.jobs import Event, Job, RenderedOutput, Ticket
from seqloom.scheduling.processes import Decoding, Process, RemoteDecoding, start_decoding

__all__ = ["Worker"]

ADMISSION_INTERVAL = (
    16  # steps from newcomers to newcomers, for whom all wait; fewer where there are fewer
)
SHORT_LENGTH = (
    64  # source tokens up to which inputs share a batch; then up to four times as many, ...
)
MOST_LOSSES = 2  # processes that may end while they decode an input


class WorkerObserver(Protocol):
    """What is counted of the work."""

    def on_step(self, sentences: int, rows: int, seconds: float) -> None: ...

    def on_join(self, sentences: int) -> None: ...

    def on_loss(self, process: int) -> None: ...

    def on_replacement(self, process: int) -> None: ...


class TicketSource(Protocol):
    """Where a worker has its work from."""

    @property
    def watch(self) -> WorkerObserver: ...

    @property
    def generation(self) -> int: ...

    def take(self, worker: "Worker") -> list[Ticket] | None: ...

    def remove_expired(self) -> list[tuple[Job, Event]]: ...

    def new_process(self) -> Process | None: ...

    def text_predictor(self, name: str) -> TextPredictor: ...


@dataclass(eq=False)
class DecodingBatch:
    """Tickets that are decoded together."""

    key: Hashable
    running: Decoding[Ticket]
    seconds: float  # that its steps took, and those of the batch that had the least when it began

    @property
    def tickets(self) -> list[Ticket]:
        return self.running.tags

    @property
    def rows(self) -> int:
        return sum(ticket.rows for ticket in self.tickets)


class Worker:
    """One thread's batches, which a process decodes where there is one."""

    def __init__(self, source: TicketSource, *, small_only: bool = False) -> None:
        self.source = source
        self.small_only = small_only
        self.process: Process | None = None
        self.batches: list[DecodingBatch] = []
        self.held = 0  # tickets, as of its last taking
        self.has_large = False  # whether some are of large requests

    @property
    def tickets(self) -> list[Ticket]:
        """What it decodes."""
        return [ticket for batch in self.batches for ticket in batch.tickets]

    @property
    def ticket_count(self) -> int:
        """How much that is."""
        return len(self.tickets)

    @property
    def is_outdated(self) -> bool:
        """Whether its process has models that were replaced; it takes no more until it has done
        what it has, and then has another process."""
        return self.process is not None and self.process.generation < self.source.generation

    def note_load(self, taken: list[Ticket]) -> None:
        """Remember what it is busy with, for others to see."""
        every = [*self.tickets, *taken]
        self.held = len(every)
        self.has_large = any(not each.job.is_small for each in every)

    def wait_until_ready(self) -> None:
        """Wait until its process has tried the models; where it is lost at once, go without."""
        if self.process is not None:
            try:
                self.process.wait_until_ready()
            except ProcessLost:
                self.process = None

    def run(self) -> None:
        """Until there is nothing more to come and everything is done."""
        use_one_thread()
        rounds = 0
        while True:
            taken = self.source.take(self) if rounds == 0 else []
            if taken is None:
                if self.process is not None:
                    self.process.close()
                return
            if not taken and not self.batches:
                self._check_process()
            try:
                told = self._round(taken)
            except Exception as error:  # a fault of ours: all are told, and the worker goes on
                told = [
                    (each.job, Event(each.number, error=error)) for each in (*taken, *self.tickets)
                ]
                self.batches = []
            rounds = rounds + 1 if rounds < min(self.ticket_count, ADMISSION_INTERVAL) else 0
            _deliver(told)

    def _round(self, taken: list[Ticket]) -> list[tuple[Job, Event]]:
        """Let newcomers in, and make a step of one batch."""
        told = [*self.source.remove_expired(), *self._give_up(), *self._admit(taken)]
        if self.batches:
            told += self._step(min(self.batches, key=lambda each: each.seconds))
        self.batches = [batch for batch in self.batches if not batch.running.done]
        return told

    def _admit(self, tickets: list[Ticket]) -> Iterator[tuple[Job, Event]]:
        """Let each into the batch that it fits, or begin one."""
        groups: dict[Hashable, list[Ticket]] = {}
        for ticket in tickets:
            if ticket.pending is None:
                yield ticket.job, _run_work(ticket)
            else:
                key = _key(ticket, self.source.generation)
                groups.setdefault(key, []).append(ticket)
        for key, group in groups.items():
            batch = next((each for each in self.batches if each.key == key), None)
            if batch is None:
                least = min((each.seconds for each in self.batches), default=0.0)
                batch = DecodingBatch(key, self._decoding(group[0]), least)
                self.batches.append(batch)
            self.source.watch.on_join(len(group))
            waiting = [ticket.pending for ticket in group if ticket.pending is not None]
            yield from self._attempt(batch, group, partial(_add, waiting))

    def _decoding(self, ticket: Ticket) -> Decoding[Ticket]:
        model, whole = ticket.job.model, ticket.in_one_go
        if self.process is not None:
            return RemoteDecoding(self.process, model, whole=whole)
        return start_decoding(self.source.text_predictor(model), whole=whole)

    def _step(self, batch: DecodingBatch) -> Iterator[tuple[Job, Event]]:
        if batch.running.done:
            return
        began, sentences, rows = time.perf_counter(), len(batch.tickets), batch.rows
        yield from self._attempt(batch, [], lambda running: running.advance())
        seconds = time.perf_counter() - began
        batch.seconds += seconds
        self.source.watch.on_step(sentences, rows, seconds)

    def _attempt(
        self,
        batch: DecodingBatch,
        newcomers: list[Ticket],
        work: Callable[[Decoding[Ticket]], Mapping[Ticket, Output | RenderedOutput]],
    ) -> Iterator[tuple[Job, Event]]:
        """The events of some work; where it fails, the one that is to blame is looked for."""
        tickets = [*batch.tickets, *newcomers]
        try:
            outputs = work(batch.running)
        except ProcessLost as error:
            self.batches.remove(batch)
            self._replace_process(batch.running)
            yield from self._begin_anew(tickets, error)
            return
        except Exception as error:  # whatever a model raises, the others go on
            self.batches.remove(batch)
            if len(tickets) == 1:
                yield tickets[0].job, Event(tickets[0].number, error=error)
                return
            for ticket in tickets:
                ticket.isolated = True
            yield from self._admit(tickets)
            return
        for ticket, output in outputs.items():
            done = (RenderedOutput.of(output),)
            yield ticket.job, Event(ticket.number, outputs=done, piece=ticket.piece)
        for ticket in batch.tickets:
            if ticket.streams and (
                certain := batch.running.stable_tokens(ticket, ticket.streamed_count)
            ):
                ticket.streamed_count += len(certain)
                yield ticket.job, Event(ticket.number, tuple(certain))

    def _begin_anew(self, tickets: list[Ticket], error: ProcessLost) -> Iterator[tuple[Job, Event]]:
        """Decode once more what a process has not; what ends every process is given up."""
        again = []
        for ticket in tickets:
            ticket.losses += 1
            if ticket.losses > MOST_LOSSES:
                yield ticket.job, Event(ticket.number, error=error)
            else:
                ticket.isolated = ticket.losses == MOST_LOSSES
                again.append(ticket)
        yield from self._admit(again)

    def _check_process(self) -> None:
        """Replace a process that has ended while there was nothing to do, or is outdated."""
        if self.process is not None and self.process.has_ended:
            self._replace(self.process)
        elif self.process is not None and self.is_outdated:
            outdated, self.process = self.process, self.source.new_process()
            self.wait_until_ready()
            outdated.close()

    def _replace_process(self, running: Decoding[Ticket]) -> None:
        """Replace the process that something ran in, unless that was done already."""
        if isinstance(running, RemoteDecoding) and running.process is self.process:
            self._replace(running.process)

    def _replace(self, lost: Process) -> None:
        self.source.watch.on_loss(lost.pid)
        self.process = self.source.new_process()
        self.wait_until_ready()
        self.source.watch.on_replacement(0 if self.process is None else self.process.pid)

    def _give_up(self) -> Iterator[tuple[Job, Event]]:
        """Take out what is late or whose client has gone; so between any two steps."""
        now = time.monotonic()
        for batch in self.batches:
            over = {
                each: why
                for each in batch.tickets
                if (why := each.job.stop_reason(now)) is not None
            }
            if over:
                batch.running.cancel(set(over))
                yield from ((each.job, Event(each.number, error=why)) for each, why in over.items())
        self.batches = [batch for batch in self.batches if not batch.running.done]


def _add(
    newcomers: list[PendingInput[Ticket]], running: Decoding[Ticket]
) -> Mapping[Ticket, Output | RenderedOutput]:
    return running.add(newcomers)


def _key(ticket: Ticket, generation: int) -> Hashable:
    """Tickets with equal keys share a batch: the same model and search, and a like length; each is
    searched for as a whole, or none is; small requests are not held up by large ones."""
    waiting = ticket.pending
    shared = None if waiting is None or ticket.isolated else batch_key(waiting.request)
    if shared is None or waiting is None:
        return ticket
    room = SHORT_LENGTH
    while len(waiting.encoded.values) > room:
        room *= 4
    return (ticket.job.model, generation, shared, room, ticket.in_one_go, ticket.job.is_small)


def _run_work(ticket: Ticket) -> Event:
    """Work that is not decoding, all at once."""
    why = ticket.job.stop_reason(time.monotonic())
    if why is not None or ticket.work is None:
        return Event(ticket.number, error=why or LimitError("there is nothing to do"))
    try:
        return Event(ticket.number, outputs=ticket.work())
    except Exception as error:
        return Event(ticket.number, error=error)


def _deliver(told: list[tuple[Job, Event]]) -> None:
    """Hand events over, all of a request's loop at once."""
    if told:
        told[0][0].deliver(told)
