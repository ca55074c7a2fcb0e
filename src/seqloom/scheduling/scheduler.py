"""A bounded queue, and which worker takes what of it.

There is a worker for each core and one for small requests alone, which takes them while all others
are busy with large ones; so a small request waits for other small ones at most.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from seqloom.parallel import is_torch_loaded
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.scheduling.errors import ProcessLost, QueueFull, ServerStopping
from seqloom.scheduling.fairness import FairQueue
from seqloom.scheduling.jobs import Event, Job, Ticket
from seqloom.scheduling.processes import Process, ProcessTemplate
from seqloom.scheduling.worker import Worker

__all__ = ["QueueBounds", "Scheduler", "SchedulerObserver"]

WHOLE_INPUTS = {True: 8, False: 4}  # of small and of large requests, searched for in one go
Result = TypeVar("Result")
CHECK_INTERVAL = 1.0  # seconds after which an idle worker looks whether its process is still there


class QueueBounds(NamedTuple):
    """How much is taken on."""

    requests: int  # that wait
    rows: int  # paths that one worker searches at once


class SchedulerObserver(Protocol):
    """What is counted of the work; called by workers, of which there are several."""

    def on_step(self, sentences: int, rows: int, seconds: float) -> None:
        """A decode step of a batch was made."""
        ...

    def on_join(self, sentences: int) -> None:
        """So many inputs were let into a batch at once."""
        ...

    def on_loss(self, process: int) -> None:
        """A process has ended before its time."""
        ...

    def on_replacement(self, process: int) -> None:
        """Another has taken its place; 0 where a thread has to decode."""
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
        self.template = template
        self.generation = 0  # of the models, which are replaced one by one
        self._queue = FairQueue()
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._small_waits = threading.Condition(lock)
        self._closing = False
        self.workers = [Worker(self) for _ in range(workers)]
        self.express = Worker(self, small_only=True)
        self._threads = [
            threading.Thread(target=each.run, name=f"model-{number}", daemon=True)
            for number, each in enumerate([*self.workers, self.express])
        ]

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        return self._queue.job_count

    def start(self) -> None:
        """Let the workers begin, each with a process of its own where there is a template."""
        every = [*self.workers, self.express]
        for worker in every:
            worker.process = self.new_process()
        for worker in every:
            worker.wait_until_ready()
        for thread in self._threads:
            thread.start()

    def run_apart(self, name: str, work: Callable[[Predictor], Result]) -> Result:
        """What work that needs torch makes of a model: where torch is not loaded here, in a process
        that ends afterwards, if there can be one."""
        model = self.models[name]
        lean = not is_torch_loaded() and model.as_text_predictor() is not None
        process = self.new_process() if lean else None
        if process is None:
            return work(model)
        try:
            made: Result = process.call("work", 0, name, work)
        finally:
            process.close()
        return made

    def new_process(self) -> Process | None:
        """A process that decodes for one worker; None where there can be none."""
        if self.template is None:
            return None
        generation = self.generation
        try:
            process = self.template.fork()
        except ProcessLost:
            return None
        process.generation = generation
        return process

    def replace_model(self, name: str, model: Predictor) -> None:
        """Decode by another model under the same name from now on; what is under way goes on.

        It must be stored where the old one was. The error where the old one stays.
        """
        if self.template is not None and model.as_text_predictor() is not None:
            self.template.load(name)
        with self._changed:
            self.models[name] = model
            self.generation += 1
            self._changed.notify_all()
            self._small_waits.notify_all()

    def submit(self, job: Job, tickets: Sequence[Ticket]) -> None:
        """Put a request into the queue; Full where there is no room, or Stopping."""
        with self._changed:
            self.check_room()
            job.cost = sum(ticket.cost for ticket in tickets)
            self._queue.push(job, list(tickets))
            self._changed.notify(len(tickets))
            if job.is_small and self._all_busy_with_large:
                self._small_waits.notify()

    def check_room(self) -> None:
        """QueueFull where no request can wait, ServerStopping where none is taken on."""
        if self._closing:
            raise ServerStopping("the server is stopping", remedy="ask another one")
        if self.waiting >= self.limit:
            raise QueueFull(f"{self.limit:,} requests wait already", remedy="try again in a moment")

    def close(self) -> None:
        """Finish what there is, and end; nothing more is taken on."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            self._small_waits.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        if self.template is not None:
            self.template.close()

    def take(self, worker: Worker) -> list[Ticket] | None:
        """The next tickets for a worker; None when there will be no more.

        One that has nothing else to do waits for some, and after a while takes none.
        """
        with self._changed:
            worker.note_load([])
            choose = self._choose_small if worker.small_only else self._choose
            waits = self._small_waits if worker.small_only else self._changed
            if worker.is_outdated:
                return []
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
        """The model of that name, which decodes."""
        model = self.models[name].as_text_predictor()
        if model is None:
            raise TypeError("a model that judges has nothing to decode")
        return model

    def remove_expired(self) -> list[tuple[Job, Event]]:
        """What has waited too long or been given up, which waits no longer."""
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
        """A worker's share of those that wait, or as many as make it hold what others do.

        Where the next in turn is too wide for what the worker decodes already, it waits until that
        is done, and only small requests come before it.
        """
        waiting, count = len(self._queue), len(self.workers)
        every = waiting + sum(each.held for each in self.workers)
        share = max(-(-waiting // count), -(-every // count) - worker.held)
        room = Room(worker.tickets, self.rows)
        while len(room.taken) < share and (head := self._queue.peek()) is not None:
            accept = room.fits if room.fits(head) else room.fits_small
            if not room.take(self._queue.pop(accept)):
                break
        return room.taken

    def _choose_small(self, worker: Worker) -> list[Ticket]:
        """Small requests that would wait for large ones."""
        room = Room(worker.tickets, self.rows)
        while self._all_busy_with_large and room.take(self._queue.pop(room.fits_small)):
            pass
        return room.taken


class Room:
    """What a worker can take beside what it decodes; small requests have a room of their own.

    Work that is done as a whole is taken by itself.
    """

    def __init__(self, held: Sequence[Ticket], rows: int) -> None:
        self.taken: list[Ticket] = []
        self._rows = rows
        self._used = [0, 0]  # rows of large requests, and of small ones
        self._closed = False
        self._whole = [0, 0]  # inputs of these that are searched for in one go
        for ticket in held:
            self._count(ticket)

    def fits(self, ticket: Ticket) -> bool:
        """Whether there is room."""
        if self._closed or (self.taken and ticket.work is not None):
            return False
        small = ticket.job.is_small
        if ticket.in_one_go and self._whole[small] >= WHOLE_INPUTS[small]:
            return False
        used = self._used[small]
        return not used or used + ticket.rows <= self._rows

    def fits_small(self, ticket: Ticket) -> bool:
        """Whether there is, and the request is small."""
        return ticket.job.is_small and self.fits(ticket)

    def take(self, ticket: Ticket | None) -> bool:
        """Take what fits; whether there is anything."""
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
