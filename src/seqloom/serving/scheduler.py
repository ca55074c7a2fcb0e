"""Workers that decode whatever has arrived, together where it can be, a step at a time.

Each worker is a thread with one core, or with a process that has one. Between two steps of its
batches it lets newcomers join, takes out what is done, and gives up what is late or whose client
has gone.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

import torch

from seqloom.errors import LimitError
from seqloom.prediction import (
    Output,
    PendingInput,
    Predictor,
    TextPredictor,
    batch_key,
    fits_whole_batch,
)
from seqloom.serving.errors import ProcessLost, QueueFull, ServerStopping
from seqloom.serving.jobs import Event, Job, Ticket
from seqloom.serving.processes import Decoding, Process, RemoteDecoding, start_decoding

__all__ = ["Scheduler", "SchedulerObserver"]

ADMISSION_INTERVAL = (
    16  # steps from newcomers to newcomers, for whom all wait; fewer where there are fewer
)
LENGTH_PRIORITY = (
    0.02  # seconds by which an input comes before others for each token that it is longer
)
SHORT_LENGTH = (
    64  # source tokens up to which inputs share a batch; then up to four times as many, ...
)


class SchedulerObserver(Protocol):
    """What is counted of the work; called by workers, of which there are several."""

    def on_step(self, sentences: int, rows: int, seconds: float) -> None:
        """A decode step of a batch was made."""
        ...

    def on_join(self, sentences: int) -> None:
        """So many inputs were let into a batch at once."""
        ...


@dataclass(eq=False)
class DecodingBatch:
    """Tickets that are decoded together."""

    key: Hashable
    running: Decoding[Ticket]

    @property
    def tickets(self) -> list[Ticket]:
        return self.running.tags

    @property
    def rows(self) -> int:
        return sum(ticket.rows for ticket in self.tickets)


class Scheduler:
    """A bounded queue and the workers that empty it."""

    def __init__(
        self,
        models: Mapping[str, Predictor],
        *,
        queue: int,
        rows: int,
        workers: Sequence[Process | None],
        watch: SchedulerObserver,
    ) -> None:
        self.models = models
        self.limit = queue
        self.rows = rows
        self.watch = watch
        self._tickets: list[tuple[float, int, Ticket]] = []  # a heap, by when each has its turn
        self._numbers = count()
        self._jobs: dict[Job, int] = {}  # those that wait, with how many tickets
        self._changed = threading.Condition()
        self._closing = False
        self._workers = [
            threading.Thread(target=Worker(self, each).run, name=f"model-{number}", daemon=True)
            for number, each in enumerate(workers)
        ]
        self._held: dict[Worker, int] = {}  # tickets that each worker decodes

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        return len(self._jobs)

    def start(self) -> None:
        """Let the workers begin."""
        for worker in self._workers:
            worker.start()

    def submit(self, job: Job, tickets: Sequence[Ticket]) -> None:
        """Put a request at the end of the queue; Full where there is no room, or Stopping."""
        with self._changed:
            if self._closing:
                raise ServerStopping("the server is stopping", remedy="ask another one")
            if len(self._jobs) >= self.limit:
                raise QueueFull(
                    f"{self.limit:,} requests wait already", remedy="try again in a moment"
                )
            self._jobs[job] = len(tickets)
            for ticket in tickets:
                heappush(self._tickets, (_priority(ticket), next(self._numbers), ticket))
            self._changed.notify(len(tickets))

    def close(self) -> None:
        """Finish what there is, and end; nothing more is taken on."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for worker in self._workers:
            if worker.ident is not None:
                worker.join()

    def take(self, worker: "Worker") -> list[Ticket] | None:
        """The next tickets for a worker; None when there will be no more.

        One that has nothing else to do waits for one. All take their share of those that wait, or
        as many as make them hold what others do.
        """
        held, idle = worker.ticket_count, not worker.batches
        free = self.rows - worker.rows
        with self._changed:
            self._held[worker] = held
            while idle and not self._tickets:
                if self._closing:
                    return None
                self._changed.wait()
            waiting, workers = len(self._tickets), max(1, len(self._workers))
            every = waiting + sum(self._held.values())
            share = max(-(-waiting // workers), -(-every // workers) - held)
            taken: list[Ticket] = []
            while self._tickets and len(taken) < share:
                *_, ticket = self._tickets[0]
                if ticket.rows > free and not (idle and not taken):
                    break
                free -= ticket.rows
                heappop(self._tickets)
                taken.append(ticket)
                self._remove_waiting(ticket.job)
            self._held[worker] += len(taken)
            return taken

    def text_predictor(self, name: str) -> TextPredictor:
        """The model of that name, which decodes."""
        model = self.models[name].as_text_predictor()
        if model is None:
            raise TypeError("a model that judges has nothing to decode")
        return model

    def remove_expired(self) -> list[tuple[Job, Event]]:
        """What has waited too long or been given up, which waits no longer."""
        with self._changed:
            now = time.monotonic()
            over = {job: why for job in self._jobs if (why := job.stop_reason(now)) is not None}
            if not over:
                return []
            self._tickets = [each for each in self._tickets if each[2].job not in over]
            heapify(self._tickets)
            for job in over:
                self._jobs.pop(job, None)
        return [(job, Event(0, error=why)) for job, why in over.items()]

    def _remove_waiting(self, job: Job) -> None:
        self._jobs[job] -= 1
        if not self._jobs[job]:
            del self._jobs[job]


class Worker:
    """One thread's batches, which a process decodes where there is one."""

    def __init__(self, scheduler: Scheduler, process: Process | None = None) -> None:
        self.scheduler = scheduler
        self.process = process
        self.batches: list[DecodingBatch] = []

    @property
    def ticket_count(self) -> int:
        """Tickets that it decodes."""
        return sum(len(batch.tickets) for batch in self.batches)

    @property
    def rows(self) -> int:
        """Paths of all these."""
        return sum(batch.rows for batch in self.batches)

    def run(self) -> None:
        """Until the scheduler closes and everything is done."""
        torch.set_num_threads(1)
        rounds = 0
        while True:
            taken = self.scheduler.take(self) if rounds == 0 else []
            if taken is None:
                if self.process is not None:
                    self.process.close()
                return
            try:
                told = self._round(taken)
            except Exception as error:  # a fault of ours: all are told, and the worker goes on
                tickets = [*taken, *(each for batch in self.batches for each in batch.tickets)]
                told = [(each.job, Event(each.number, error=error)) for each in tickets]
                self.batches = []
            rounds = rounds + 1 if rounds < min(self.ticket_count, ADMISSION_INTERVAL) else 0
            _deliver(told)

    def _round(self, taken: list[Ticket]) -> list[tuple[Job, Event]]:
        """Let newcomers in, and make a step of every batch."""
        told = [*self.scheduler.remove_expired(), *self._give_up(), *self._admit(taken)]
        for batch in list(self.batches):
            told += self._step(batch)
        self.batches = [batch for batch in self.batches if not batch.running.done]
        return told

    def _admit(self, tickets: list[Ticket]) -> Iterator[tuple[Job, Event]]:
        """Let each into the batch that it fits, or begin one."""
        groups: dict[Hashable, list[Ticket]] = {}
        for ticket in tickets:
            if ticket.pending is None:
                yield ticket.job, _run_job(ticket)
            else:
                whole = self._fits_whole(ticket)
                groups.setdefault(_key(ticket, whole=whole), []).append(ticket)
        for key, group in groups.items():
            batch = next((each for each in self.batches if each.key == key), None)
            if batch is None:
                batch = DecodingBatch(key, self._decoding(group[0]))
                self.batches.append(batch)
            self.scheduler.watch.on_join(len(group))
            waiting = [ticket.pending for ticket in group if ticket.pending is not None]
            yield from self._attempt(batch, group, partial(_add, waiting))

    def _decoding(self, ticket: Ticket) -> Decoding[Ticket]:
        model, whole = ticket.job.model, self._fits_whole(ticket)
        if self.process is not None:
            return RemoteDecoding(self.process, model, whole=whole)
        return start_decoding(self.scheduler.text_predictor(model), whole=whole)

    def _fits_whole(self, ticket: Ticket) -> bool:
        """Whether nobody has to know of an input before its output is there."""
        if ticket.job.streams or ticket.pending is None:
            return False
        return fits_whole_batch(self.scheduler.text_predictor(ticket.job.model), ticket.pending)

    def _step(self, batch: DecodingBatch) -> Iterator[tuple[Job, Event]]:
        if batch.running.done:
            return
        began, sentences, rows = time.perf_counter(), len(batch.tickets), batch.rows
        yield from self._attempt(batch, [], lambda running: running.advance())
        self.scheduler.watch.on_step(sentences, rows, time.perf_counter() - began)

    def _attempt(
        self,
        batch: DecodingBatch,
        newcomers: list[Ticket],
        work: Callable[[Decoding[Ticket]], dict[Ticket, Output]],
    ) -> Iterator[tuple[Job, Event]]:
        """The events of some work; where it fails, the one that is to blame is looked for."""
        tickets = [*batch.tickets, *newcomers]
        try:
            outputs = work(batch.running)
        except ProcessLost:  # no fault of theirs: they begin anew, here
            self.process = None
            self.batches.remove(batch)
            yield from self._admit(tickets)
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
            yield ticket.job, Event(ticket.number, output=output)
        for ticket in batch.tickets:
            if ticket.job.streams and (
                certain := batch.running.stable_tokens(ticket, ticket.streamed_count)
            ):
                ticket.streamed_count += len(certain)
                yield ticket.job, Event(ticket.number, tuple(certain))

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


def _add(newcomers: list[PendingInput[Ticket]], running: Decoding[Ticket]) -> dict[Ticket, Output]:
    return running.add(newcomers)


def _key(ticket: Ticket, *, whole: bool) -> Hashable:
    """Tickets with equal keys share a batch: the same model and search, and a like length; each is
    searched for as a whole, or none is."""
    waiting = ticket.pending
    shared = None if waiting is None or ticket.isolated else batch_key(waiting.request)
    if shared is None or waiting is None:
        return ticket
    room = SHORT_LENGTH
    while len(waiting.encoded.values) > room:
        room *= 4
    return (ticket.job.model, shared, room, whole)


def _priority(ticket: Ticket) -> float:
    """What decides whose turn it is: the time of arrival, yet of long inputs, which take longest,
    an earlier one, so that nobody has to wait much longer than others."""
    length = 0 if ticket.pending is None else len(ticket.pending.encoded.values)
    return ticket.job.began - LENGTH_PRIORITY * length


def _run_job(ticket: Ticket) -> Event:
    """Work that is not decoding, all at once."""
    why = ticket.job.stop_reason(time.monotonic())
    if why is not None or ticket.job.work is None:
        return Event(ticket.number, error=why or LimitError("there is nothing to do"))
    try:
        return Event(ticket.number, result=ticket.job.work())
    except Exception as error:
        return Event(ticket.number, error=error)


def _deliver(told: list[tuple[Job, Event]]) -> None:
    """Hand events over, all of a request's loop at once."""
    if told:
        told[0][0].deliver(told)
