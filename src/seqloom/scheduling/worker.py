"""A worker decodes arriving requests in batches, step by step.

It is a thread with one core, or with a process that has one. Between two steps it lets newcomers
join, takes out what is done, and gives up what is late or whose client has gone. The batch that has
had the least time has the next step, and of equals one of small requests; newcomers begin with what
the least has had, so no step of a large request comes between a small one and its first.
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
from seqloom.scheduling.errors import ProcessLost, RequestCancelled
from seqloom.scheduling.jobs import Event, Job, RenderedOutput, Ticket
from seqloom.scheduling.processes import Decoding, Process, RemoteDecoding, start_decoding
from seqloom.scheduling.templates import ProcessTemplate

__all__ = ["Worker"]

ADMISSION_INTERVAL = 16  # steps between admissions of newcomers, which stall the batch
SHORT_LENGTH = (
    64  # source tokens up to which inputs share a batch; then up to four times as many, ...
)
MOST_LOSSES = 2  # processes that may end while decoding an input
GONE = RequestCancelled("the client has gone, and the model after it")


class WorkerObserver(Protocol):
    """Counts events of a worker."""

    def on_step(self, sentences: int, rows: int, seconds: float) -> None: ...

    def on_join(self, sentences: int) -> None: ...

    def on_loss(self, process: int) -> None: ...

    def on_replacement(self, process: int) -> None: ...


class TicketSource(Protocol):
    """The source of a worker's tickets."""

    @property
    def watch(self) -> WorkerObserver: ...

    def take(self, worker: "Worker") -> list[Ticket] | None: ...

    def remove_expired(self) -> list[tuple[Job, Event]]: ...

    def generation(self, name: str) -> int: ...

    def text_predictor(self, name: str) -> TextPredictor: ...

    def template_for(self, name: str) -> ProcessTemplate | None: ...

    def keeps(self, template: ProcessTemplate) -> bool: ...

    def new_process(self, template: ProcessTemplate) -> Process | None: ...


@dataclass(eq=False)
class DecodingBatch:
    """Tickets decoded together."""

    key: Hashable
    running: Decoding[Ticket]
    seconds: float  # that its steps took, and those of the batch that had the least when it began

    @property
    def tickets(self) -> list[Ticket]:
        return self.running.tags

    @property
    def rows(self) -> int:
        return sum(ticket.rows for ticket in self.tickets)

    @property
    def is_large(self) -> bool:
        """Whether its tickets are of large requests, which small newcomers overtake."""
        return not all(ticket.job.is_small for ticket in self.tickets)


class Worker:
    """One thread's batches, decoded by processes if available, one per template."""

    def __init__(self, source: TicketSource, *, small_only: bool = False) -> None:
        self.source = source
        self.small_only = small_only
        self.processes: dict[ProcessTemplate, Process] = {}
        self.batches: list[DecodingBatch] = []
        self.held = 0  # tickets at the last admission
        self.has_large = False  # whether some were of large requests

    @property
    def tickets(self) -> list[Ticket]:
        """The tickets being decoded."""
        return [ticket for batch in self.batches for ticket in batch.tickets]

    @property
    def ticket_count(self) -> int:
        """The number of tickets being decoded."""
        return len(self.tickets)

    @property
    def is_outdated(self) -> bool:
        """Whether it has a process that is no longer needed."""
        return not all(map(self.source.keeps, self.processes))

    def note_load(self, taken: list[Ticket]) -> None:
        """Record its load for other workers."""
        every = [*self.tickets, *taken]
        self.held = len(every)
        self.has_large = any(not each.job.is_small for each in every)

    def begin_process(self, template: ProcessTemplate) -> None:
        """Start a process of this template, if possible."""
        process = self.source.new_process(template)
        if process is not None:
            self.processes[template] = process
        else:
            self.processes.pop(template, None)

    def wait_until_ready(self) -> None:
        """Wait until its processes have tried their models; drop one that is lost at once."""
        for template, process in list(self.processes.items()):
            try:
                process.wait_until_ready()
            except ProcessLost:
                del self.processes[template]

    def run(self) -> None:
        """Run until shutdown, and until all work is done."""
        use_one_thread()
        rounds = 0
        while True:
            if self.is_outdated:
                self._close_outdated()
            taken = self.source.take(self) if rounds == 0 else []
            if taken is None:
                for process in self.processes.values():
                    process.close()
                return
            if not taken and not self.batches:
                self._check_processes()
            try:
                told = self._round(taken)
            except Exception as error:  # an internal error: report it to all, and continue
                told = [
                    (each.job, Event(each.number, error=error)) for each in (*taken, *self.tickets)
                ]
                self.batches = []
            rounds = rounds + 1 if rounds < min(self.ticket_count, ADMISSION_INTERVAL) else 0
            _deliver(told)

    def _round(self, taken: list[Ticket]) -> list[tuple[Job, Event]]:
        """Admit newcomers, and make a step of one batch."""
        told = [*self.source.remove_expired(), *self._give_up(), *self._admit(taken)]
        if self.batches:
            told += self._step(min(self.batches, key=lambda each: (each.seconds, each.is_large)))
        self.batches = [batch for batch in self.batches if not batch.running.done]
        return told

    def _admit(self, tickets: list[Ticket]) -> Iterator[tuple[Job, Event]]:
        """Add each ticket to a batch that it fits, or start one."""
        groups: dict[Hashable, list[Ticket]] = {}
        for ticket in tickets:
            if ticket.request is None:
                yield ticket.job, _run_work(ticket)
            else:
                key = _key(ticket, self.source.generation(ticket.job.model))
                groups.setdefault(key, []).append(ticket)
        for key, group in groups.items():
            batch = next((each for each in self.batches if each.key == key), None)
            if batch is None:
                least = min((each.seconds for each in self.batches), default=0.0)
                running = self._decoding(group[0])
                if running is None:
                    yield from ((each.job, Event(each.number, error=GONE)) for each in group)
                    continue
                batch = DecodingBatch(key, running, least)
                self.batches.append(batch)
            self.source.watch.on_join(len(group))
            waiting = [pending for ticket in group if (pending := ticket.pending) is not None]
            yield from self._attempt(batch, group, partial(_add, waiting))

    def _decoding(self, ticket: Ticket) -> Decoding[Ticket] | None:
        """Start decoding; None if the model was removed, as the request was before."""
        name, whole = ticket.job.model, ticket.in_one_go
        try:
            model = self.source.text_predictor(name)
        except KeyError:
            return None
        process = self._process_of(name)
        if process is not None:
            return RemoteDecoding(process, name, whole=whole)
        return start_decoding(model, whole=whole)

    def _process_of(self, name: str) -> Process | None:
        """The process that decodes a model; None if this thread does."""
        template = self.source.template_for(name)
        if template is None:
            return None
        if template not in self.processes:
            self.begin_process(template)
            self.wait_until_ready()
        return self.processes.get(template)

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
        """The events of some work; if it fails, isolate the ticket that caused it."""
        tickets = [*batch.tickets, *newcomers]
        try:
            outputs = work(batch.running)
        except ProcessLost as error:
            self.batches.remove(batch)
            self._replace_process(batch.running)
            yield from self._begin_anew(tickets, error)
            return
        except Exception as error:  # one failing input must not stop the others
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
        """Retry the tickets of a lost process; a ticket that ends every process is given up."""
        again = []
        for ticket in tickets:
            ticket.losses += 1
            if ticket.losses > MOST_LOSSES:
                yield ticket.job, Event(ticket.number, error=error)
            else:
                ticket.isolated = ticket.losses == MOST_LOSSES
                again.append(ticket)
        yield from self._admit(again)

    def _check_processes(self) -> None:
        """Replace processes that ended while idle."""
        for template, process in list(self.processes.items()):
            if process.has_ended:
                self._replace(template)

    def _close_outdated(self) -> None:
        """Shut down unneeded processes once they have finished their work."""
        busy = [
            batch.running.process
            for batch in self.batches
            if isinstance(batch.running, RemoteDecoding)
        ]
        for template, process in list(self.processes.items()):
            if process not in busy and not self.source.keeps(template):
                process.close()
                del self.processes[template]

    def _replace_process(self, running: Decoding[Ticket]) -> None:
        """Replace a process, unless it was replaced already."""
        for template, process in list(self.processes.items()):
            if isinstance(running, RemoteDecoding) and running.process is process:
                self._replace(template)

    def _replace(self, template: ProcessTemplate) -> None:
        self.source.watch.on_loss(self.processes[template].pid)
        if not self.source.keeps(template):
            del self.processes[template]
        else:
            self.begin_process(template)
            self.wait_until_ready()
            process = self.processes.get(template)
            self.source.watch.on_replacement(0 if process is None else process.pid)

    def _give_up(self) -> Iterator[tuple[Job, Event]]:
        """Remove tickets that are late or cancelled, between two steps."""
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
    """Tickets with equal keys share a batch: same model and search, similar length, all in one go
    or none, and small requests apart from large ones.
    """
    encoded, asked = ticket.encoded, ticket.request
    shared = None if asked is None or ticket.isolated else batch_key(asked)
    if shared is None or encoded is None:
        return ticket
    room = SHORT_LENGTH
    while len(encoded.values) > room:
        room *= 4
    return (ticket.job.model, generation, shared, room, ticket.in_one_go, ticket.job.is_small)


def _run_work(ticket: Ticket) -> Event:
    """Run work other than decoding."""
    why = ticket.job.stop_reason(time.monotonic())
    if why is not None or ticket.work is None:
        return Event(ticket.number, error=why or LimitError("there is nothing to do"))
    try:
        return Event(ticket.number, outputs=ticket.work())
    except Exception as error:
        return Event(ticket.number, error=error)


def _deliver(told: list[tuple[Job, Event]]) -> None:
    """Deliver events, all of a request's event loop at once."""
    if told:
        told[0][0].deliver(told)
