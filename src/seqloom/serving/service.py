"""From requests to jobs: whatever can be refused is refused before the model sees it."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch

from seqloom.config import ServingConfig
from seqloom.errors import ConfigError, LimitError, SeqloomError
from seqloom.fields import Symbols
from seqloom.prediction import (
    Asked,
    Encoded,
    Judge,
    Model,
    Output,
    Predictor,
    Running,
    Waiting,
    Wishes,
)
from seqloom.search import Exact
from seqloom.serving.jobs import Event, Job, Ticket
from seqloom.serving.metrics import Entry, Metrics
from seqloom.serving.requests import PredictRequest, ScoreRequest, check_sizes
from seqloom.serving.scheduler import Scheduler

__all__ = ["Service"]

FILES = ("picture", "sound")  # whose cells name files of this machine, which no client may choose
MANY = 2_000  # characters that are cut into tokens aside, so that others need not wait


BLANK = Output("", 0.0, 0.0, (), "blank")


class Service:
    """Models under their names, and the workers that run them."""

    def __init__(self, models: Mapping[str, Predictor], limits: ServingConfig) -> None:
        self.models = models
        self.limits = limits
        self.metrics = Metrics(waiting=lambda: self.scheduler.waiting)
        self.scheduler = Scheduler(
            models,
            queue=limits.queue,
            rows=limits.rows,
            workers=torch.get_num_threads(),
            watch=self.metrics,
        )
        self.ready = False
        self._names: dict[str, dict[str, int]] = {}  # of tokens, by model, once they are needed

    def start(self) -> None:
        """Try every model, so that the first request need not wait, and begin to work."""
        for model in self.models.values():
            with suppress(SeqloomError):  # not every kind of input can be a full stop
                _warm(model)
        self.scheduler.start()
        self.ready = True

    def stop(self) -> None:
        """Finish what was accepted, and end."""
        self.ready = False
        self.scheduler.close()

    def listing(self) -> list[dict[str, Any]]:
        """The models, what they read and write, and how they search unless told otherwise."""
        return [{"name": name, **_described(model)} for name, model in self.models.items()]

    async def predict(self, request: PredictRequest, entry: Entry, *, streams: bool = False) -> Job:
        """The request in the queue; its events are the outputs, in any order."""
        check_sizes(request, self.limits)
        name, model = self._model(request.model)
        job = self._job(name, streams=streams)
        if isinstance(model, Judge):
            tickets = self._judged(job, model, request)
        elif sum(map(len, request.inputs)) > MANY:
            tickets = await asyncio.to_thread(self._tickets, job, model, request)
        else:
            tickets = self._tickets(job, model, request)
        if tickets:
            self.scheduler.submit(job, tickets)
        entry.accept()
        return job

    async def score(self, request: ScoreRequest, entry: Entry) -> Job:
        """The request in the queue; its only event has all results."""
        check_sizes(request, self.limits)
        name, model = self._model(request.model)
        pairs = [(source, target) for source, target in request.pairs]
        job = self._job(name)
        job.work = lambda: model.score(pairs)
        self.scheduler.submit(job, [Ticket(job)])
        entry.accept()
        return job

    def _model(self, name: str | None) -> tuple[str, Predictor]:
        name = next(iter(self.models)) if name is None else name
        if name not in self.models:
            raise ConfigError(
                f"model: there is none of that name here; there are {', '.join(self.models)}"
            )
        model = self.models[name]
        if model.source.config.kind in FILES:
            raise ConfigError(
                f"model: {name} reads a {model.source.config.kind}, which cannot be sent here; "
                "use seqloom predict"
            )
        return name, model

    def _tickets(self, job: Job, model: Model, request: PredictRequest) -> list[Ticket]:
        """The inputs as they are decoded; those that are blank have their outputs at once.

        LimitError where the work would be more than is allowed.
        """
        search = request.chosen_search(model.config.search)
        wishes = request.wishes()
        if request.prefix_tokens:
            wishes = replace(wishes, prefix=self._beginning(job.model, model, request))
        asked = model.asked(search, request.n_best, wishes)
        if model.alone:
            asked = model.going_on(asked, range(len(request.inputs)), request.inputs)
        group = model.inputs.all(request.inputs)
        self._check_work(model, asked, group)
        there = {each.number for each in group}
        for number in range(len(request.inputs)):
            if number not in there:
                job.events.put_nowait(Event(number, output=BLANK))
        tickets = [Ticket(job, number=each.number, rows=asked.search.paths) for each in group]
        for ticket, each in zip(tickets, group, strict=True):
            ticket.waiting = Waiting(ticket, each, each.number, asked)
        return tickets

    def _beginning(self, name: str, model: Model, request: PredictRequest) -> str:
        """The text of a prefix that is given in tokens."""
        if request.prefix:
            raise ConfigError("prefix_tokens: there is a prefix too; leave one of them out")
        if name not in self._names:
            every = range(model.target.size)
            self._names[name] = dict(zip(model.target.tokens(every), every, strict=True))
        known = self._names[name]
        for number, token in enumerate(request.prefix_tokens, start=1):
            if token not in known:
                raise ConfigError(f"prefix_tokens, number {number}: the model has no such token")
        return model.target.cell([known[token] for token in request.prefix_tokens])

    def _check_work(self, model: Model, asked: Asked, group: list[Encoded]) -> None:
        paths, longest = asked.search.paths, 0
        if paths > self.limits.paths and not isinstance(asked.search, Exact):
            raise LimitError(
                f"search: {paths:,} paths are more than this server's paths, {self.limits.paths:,}"
            )
        if group:
            lengths = torch.tensor([len(each.values) for each in group])
            lines = torch.tensor([each.number for each in group])
            bounds = asked.demands.limits(lengths, lines, model.config.search)
            longest = int(bounds.longest.sum())
        if longest * paths > self.limits.work:
            raise LimitError(
                f"inputs × paths × length: {longest * paths:,} is more than this server's work, "
                f"{self.limits.work:,}; send fewer inputs or a narrower search"
            )

    def _judged(self, job: Job, model: Judge, request: PredictRequest) -> list[Ticket]:
        """Judgements of all inputs, as one piece of work."""
        if request.search is not None or request.n_best > 1:
            raise ConfigError(
                f"model: {job.model} judges and does not search; leave search and n_best out"
            )
        model.inputs.all(request.inputs)
        job.work = lambda: model.predict(request.inputs, wishes=request.wishes())
        return [Ticket(job)]

    def _job(self, name: str, *, streams: bool = False) -> Job:
        loop = asyncio.get_running_loop()

        def tell(told: list[tuple[Job, Event]]) -> None:
            loop.call_soon_threadsafe(_delivered, told)

        return Job(name, time.monotonic() + self.limits.deadline, tell, streams)


def _delivered(told: list[tuple[Job, Event]]) -> None:
    for job, event in told:
        job.events.put_nowait(event)


def _described(model: Predictor) -> dict[str, Any]:
    config = model.config
    fields = {
        side: {
            "kind": field.config.kind,
            "unit": getattr(field.config, "unit", None),
            "symbols": field.items.count if isinstance(field.items, Symbols) else None,
            "longest": most,
        }
        for side, field, most in (
            ("source", model.source, config.data.max_source),
            ("target", model.target, config.data.max_target),
        )
    }
    if isinstance(model, Judge):
        return {**fields, "search": None}
    beam = config.search.beam
    search = {"kind": "beam", "width": beam} if beam > 1 else {"kind": "greedy"}
    return {**fields, "search": search}


def _warm(model: Predictor) -> None:
    """Let a model read an input and, if it writes, make two steps of an output."""
    if not isinstance(model, Model):
        model.predict(["."])
        return
    running: Running[int] = Running(model)
    asked = model.asked(None, 1, Wishes())
    (first,) = model.inputs.all(["."])
    running.add([Waiting(0, first, 0, asked)])
    if not running.done:
        running.advance()
