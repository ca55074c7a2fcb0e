"""A bounded queue, and the assignment of its work to workers.

There is a worker per core, and one for small requests alone, which takes them while all others have
large ones; so a small request waits for other small ones at most.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from seqloom.parallel import is_torch_loaded
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.scheduling.errors import ProcessLost, QueueFull, ServerStopping
from seqloom.scheduling.fairness import FairQueue
from seqloom.scheduling.jobs import Event, Job, Ticket
from seqloom.scheduling.processes import LONGEST_END, Process
from seqloom.scheduling.templates import ProcessTemplate
from seqloom.scheduling.worker import Worker

__all__ = ["QueueBounds", "Scheduler", "SchedulerObserver"]

WHOLE_INPUTS = {True: 8, False: 4}  # inputs searched in one go, of small and of large requests
Result = TypeVar("Result")
CHECK_INTERVAL = 1.0  # seconds between an idle worker's checks of its process


class QueueBounds(NamedTuple):
    """The limits of the queue and of workers."""

    requests: int  # waiting
    rows: int  # paths that one worker searches at once


class SchedulerObserver(Protocol):
    """Counts events of the workers, which call it concurrently."""

    def on_step(self, sentences: int, rows: int, seconds: float) -> None:
        """A batch made a decoding step."""
        ...

    def on_join(self, sentences: int) -> None:
        """Inputs joined a batch."""
        ...

    def on_loss(self, process: int) -> None:
        """A process has ended unexpectedly."""
        ...

    def on_replacement(self, process: int) -> None:
        """A process was replaced; 0 if a thread decodes instead."""
        ...


class Scheduler:
    """The queue and the workers that empty it."""

    def __init__(
        self,
        models: dict[str, Predictor],
        bounds: QueueBounds,
        *,
        workers: int,
        watch: SchedulerObserver,
        template: ProcessTemplate | None = None,
    ) -> None:
        self.models = models
        self.limit = bounds.requests
        self.rows = bounds.rows
        self.watch = watch
        self.template = template  # the first template
        self._templates = {  # of the models decoded by processes
            name: template
            for name, model in models.items()
            if template is not None and model.as_text_predictor() is not None
        }
        self._generations: Counter[str] = Counter()  # counts changes of each model
        self._queue = FairQueue()
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._small_waits = threading.Condition(lock)
        self._closing = False
        self.workers = [Worker(self) for _ in range(workers)]
        self.express = Worker(self, small_only=True)
        self._every = [*self.workers, self.express]
        self._threads = [
            threading.Thread(target=each.run, name=f"model-{number}", daemon=True)
            for number, each in enumerate(self._every)
        ]

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return self._queue.job_count

    def start(self) -> None:
        """Start the workers, each with its own process if there is a template."""
        for worker in self._every:
            for template in set(self._templates.values()):
                worker.begin_process(template)
        for worker in self._every:
            worker.wait_until_ready()
        for thread in self._threads:
            thread.start()

    def run_apart(self, name: str, work: Callable[[Predictor], Result]) -> Result:
        """Run work on a model that needs torch; if torch is not loaded here, in a temporary process
        if possible.
        """
        model = self.models[name]
        template = None if is_torch_loaded() else self.template_for(name)
        process = None if template is None else self.new_process(template)
        if process is None:
            return work(model)
        try:
            made: Result = process.call("work", 0, name, work)
        finally:
            process.close()
        return made

    def template_for(self, name: str) -> ProcessTemplate | None:
        """The template of the processes that decode a model; None if threads decode it."""
        return self._templates.get(name)

    def keeps(self, template: ProcessTemplate) -> bool:
        """Whether some model is decoded by its copies."""
        return template in self._templates.values()

    def generation(self, name: str) -> int:
        """The number of changes of a model of this name."""
        return self._generations[name]

    def new_process(self, template: ProcessTemplate) -> Process | None:
        """A decoding process for one worker; None if impossible."""
        try:
            return template.fork()
        except ProcessLost:
            return None

    def put_model(self, name: str, model: Predictor) -> None:
        """Serve this model under its name from now on; running requests continue with the previous
        one.

        It must be stored where its loader reads. Returns the error if nothing changes.
        """
        template = None
        if self.template is not None and model.as_text_predictor() is not None:
            template = self.template.load(name)
        self._retire(name, self._exchange(name, model, template))

    def remove_model(self, name: str) -> None:
        """Remove a model that no request needs, and the processes that decode it."""
        template = self._exchange(name, None, None)
        self._retire(name, template)
        end = time.monotonic() + LONGEST_END
        while any(template in worker.processes for worker in self._every):
            if time.monotonic() > end:
                break
            time.sleep(0.002)

    def _exchange(
        self, name: str, model: Predictor | None, template: ProcessTemplate | None
    ) -> ProcessTemplate | None:
        """Replace a model or remove it; return the previous template."""
        with self._changed:
            before = self._templates.pop(name, None)
            if template is not None:
                self._templates[name] = template
            if model is not None:
                self.models[name] = model
            else:
                self.models.pop(name, None)
            self._generations[name] += 1
            self._changed.notify_all()
            self._small_waits.notify_all()
        return before

    def _retire(self, name: str, template: ProcessTemplate | None) -> None:
        """Remove a model from a template."""
        if template is not None and template is self.template:
            template.forget(name)
        elif template is not None:
            template.close()

    def submit(self, job: Job, tickets: Sequence[Ticket]) -> None:
        """Enqueue a request; Full if there is no room, or Stopping."""
        with self._changed:
            self.check_room()
            job.cost = sum(ticket.cost for ticket in tickets)
            self._queue.push(job, list(tickets))
            self._changed.notify(len(tickets))
            if job.is_small and self._all_busy_with_large:
                self._small_waits.notify()

    def check_room(self) -> None:
        """Raise QueueFull if no request can wait, ServerStopping at shutdown."""
        if self._closing:
            raise ServerStopping("the server is stopping", remedy="ask another one")
        if self.waiting >= self.limit:
            raise QueueFull(f"{self.limit:,} requests wait already", remedy="try again in a moment")

    def close(self) -> None:
        """Finish the accepted work and shut down."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            self._small_waits.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        for template in {self.template, *self._templates.values()}:
            if template is not None:
                template.close()

    def take(self, worker: Worker) -> list[Ticket] | None:
        """The next tickets for a worker; None at shutdown.

        An idle worker waits for tickets, and after a while gets none.
        """
        with self._changed:
            worker.note_load([])
            choose = self._choose_small if worker.small_only else self._choose
            waits = self._small_waits if worker.small_only else self._changed
            while not (taken := choose(worker)) and not worker.batches:
                if self._closing and (worker.small_only or not len(self._queue)):
                    return None
                if not waits.wait(CHECK_INTERVAL) or worker.is_outdated:
                    return []
            worker.note_load(taken)
            if self._all_busy_with_large and self._queue.peek(_is_small) is not None:
                self._small_waits.notify()
            return taken

    def text_predictor(self, name: str) -> TextPredictor:
        """The model of that name that decodes; KeyError if it was removed."""
        model = self.models[name].as_text_predictor()
        if model is None:
            raise TypeError("a model that judges has nothing to decode")
        return model

    def remove_expired(self) -> list[tuple[Job, Event]]:
        """Remove requests that are expired or cancelled from the queue."""
        with self._changed:
            now = time.monotonic()
            over = [
                (job, why) for job in self._queue.jobs if (why := job.stop_reason(now)) is not None
            ]
            for job, _ in over:
                self._queue.remove(job)
        return [(job, Event(0, error=why)) for job, why in over]

    @property
    def _all_busy_with_large(self) -> bool:
        return all(worker.has_large for worker in self.workers)

    def _choose(self, worker: Worker) -> list[Ticket]:
        """A worker's share of the waiting tickets, or as many as equalize its load with the
        others'.

        If the next in turn is too wide for the worker's free capacity, it waits until that
        suffices, and only small requests overtake it.
        """
        waiting, count = len(self._queue), len(self.workers)
        every = waiting + sum(each.held for each in self.workers)
        share = max(-(-waiting // count), -(-every // count) - worker.held)
        room = Room(worker.tickets, self.rows)
        while len(room.taken) < share and room.take(self._queue.pop(room.fits, room.fits_small)):
            pass
        return room.taken

    def _choose_small(self, worker: Worker) -> list[Ticket]:
        """Small requests that would wait for large ones."""
        room = Room(worker.tickets, self.rows)
        while self._all_busy_with_large and room.take(self._queue.pop(room.fits_small)):
            pass
        return room.taken


class Room:
    """A worker's free capacity; small requests have a separate one.

    Work on a whole request is taken alone.
    """

    def __init__(self, held: Sequence[Ticket], rows: int) -> None:
        self.taken: list[Ticket] = []
        self._rows = rows
        self._used = [0, 0]  # rows of large and of small requests
        self._closed = False
        self._whole = [0, 0]  # inputs of these that are searched in one go
        for ticket in held:
            self._count(ticket)

    def fits(self, ticket: Ticket) -> bool:
        """Whether a ticket fits."""
        if self._closed or (self.taken and ticket.work is not None):
            return False
        small = ticket.job.is_small
        if ticket.in_one_go and self._whole[small] >= WHOLE_INPUTS[small]:
            return False
        used = self._used[small]
        return not used or used + ticket.rows <= self._rows

    def fits_small(self, ticket: Ticket) -> bool:
        """Whether a ticket fits and its request is small."""
        return ticket.job.is_small and self.fits(ticket)

    def take(self, ticket: Ticket | None) -> bool:
        """Take a ticket if it fits; return whether it did."""
        if ticket is None:
            return False
        self.taken.append(ticket)
        self._count(ticket)
        self._closed = ticket.work is not None
        return True

    def _count(self, ticket: Ticket) -> None:
        self._used[ticket.job.is_small] += ticket.rows
        self._whole[ticket.job.is_small] += ticket.in_one_go


def _is_small(ticket: Ticket) -> bool:
    return ticket.job.is_small
