"""From requests to jobs: whatever can be refused is refused before the model sees it."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch

from seqloom.config import ServingConfig
from seqloom.errors import ConfigError, LimitError
from seqloom.prediction import (
    DecodingRequest,
    EncodedInput,
    Forecaster,
    InputGroup,
    Output,
    PendingInput,
    Predictor,
    ScoredOutput,
    TextPredictor,
)
from seqloom.prediction.inputs import check_cells
from seqloom.serving.errors import ProcessLost, UnknownModel
from seqloom.serving.inputs import (
    Input,
    check_kinds,
    describe_model,
    reads_files,
    tables,
    texts,
    uploads,
)
from seqloom.serving.jobs import Event, Job, Ticket
from seqloom.serving.metrics import Metrics, RequestRecord
from seqloom.serving.processes import Process
from seqloom.serving.requests import PredictRequest, ScoreRequest, describe_searches
from seqloom.serving.scheduler import Scheduler

__all__ = ["Service"]

INLINE_CHARACTERS = 2_000  # characters that are cut into tokens aside, so that others need not wait
EMPTY_OUTPUT = Output("", 0.0, 0.0, (), "blank")
Result = TypeVar("Result")


class Service:
    """Models under their names, and the workers that run them; each model must be of a kind that
    can be served."""

    def __init__(
        self,
        models: Mapping[str, Predictor],
        limits: ServingConfig,
        processes: Sequence[Process] = (),
    ) -> None:
        for name, model in models.items():
            check_kinds(name, model)
        self.models = models
        self.limits = limits
        self._processes = processes
        self.metrics = Metrics(waiting=lambda: self.scheduler.waiting)
        self.scheduler = Scheduler(
            models,
            queue=limits.queue,
            rows=limits.rows,
            workers=processes or [None] * torch.get_num_threads(),
            watch=self.metrics,
        )
        self.ready = False
        self._names: dict[str, dict[str, int]] = {}  # of tokens, by model, once they are needed
        self._opening = asyncio.Lock()  # one file at a time, whatever it is blown up to

    def start(self) -> None:
        """Try every model where it will run, so that no request need wait, and begin to work."""
        away = self._start_processes()
        for model in self.models.values():
            if not (away and model.as_text_predictor()):
                model.warm_up()
        self._listing = [
            {"name": name, **describe_model(each)} for name, each in self.models.items()
        ]
        self.scheduler.start()
        self.ready = True

    def _start_processes(self) -> bool:
        """Whether there are processes that decode, all of which have tried their models.

        Where one is lost at once, a fault of a model will show itself here.
        """
        try:
            for process in self._processes:
                process.wait_until_ready()
        except ProcessLost:
            return False
        return bool(self._processes)

    def stop(self) -> None:
        """Finish what was accepted, and end."""
        self.ready = False
        self.scheduler.close()

    def searches(self) -> list[dict[str, Any]]:
        """Every search that a request may name, with its options."""
        return describe_searches(self.limits)

    def listing(self) -> list[dict[str, Any]]:
        """The models, what they read and write, and how they search unless told otherwise."""
        return self._listing

    async def predict(
        self, request: PredictRequest, entry: RequestRecord, *, streams: bool = False
    ) -> Job:
        """The request in the queue; its events are the outputs, in any order."""
        request.check_sizes(self.limits)
        name, model = self._model(request.model)
        job = self._job(name, streams=streams)
        tickets = await self._in_thread(
            model, request.inputs, lambda: self._tickets(job, model, request)
        )
        if tickets:
            self.scheduler.submit(job, tickets)
        entry.accept()
        return job

    async def score(self, request: ScoreRequest, entry: RequestRecord) -> Job:
        """The request in the queue; its only event has all results."""
        request.check_sizes(self.limits)
        name, model = self._model(request.model)
        given: list[Input] = [source for source, _ in request.pairs]
        given += [target for _, target in request.pairs]
        job = self._job(name)
        job.work = await self._in_thread(model, given, lambda: self._scoring_work(model, request))
        self.scheduler.submit(job, [Ticket(job)])
        entry.accept()
        return job

    def _model(self, name: str | None) -> tuple[str, Predictor]:
        name = next(iter(self.models)) if name is None else name
        if name not in self.models:
            raise UnknownModel(
                "model: there is none of that name here",
                remedy=f"there are {', '.join(self.models)}",
            )
        return name, self.models[name]

    async def _in_thread(
        self, model: Predictor, inputs: Sequence[Input], make: Callable[[], Result]
    ) -> Result:
        """What is made of inputs, in a thread of its own where that may take long.

        Files are opened one at a time, since a small one may become large.
        """
        if reads_files(model):
            async with self._opening:
                return await asyncio.to_thread(make)
        if (
            all(isinstance(given, str) for given in inputs)
            and _characters(inputs) <= INLINE_CHARACTERS
        ):
            return make()
        return await asyncio.to_thread(make)

    def _tickets(self, job: Job, model: Predictor, request: PredictRequest) -> list[Ticket]:
        writer = model.as_text_predictor()
        if writer is None:
            job.work = self._head_work(job.model, model, request)
            return [Ticket(job)]
        return self._decoding_tickets(job, writer, request)

    def _group(self, model: Predictor, inputs: Sequence[Input]) -> InputGroup:
        """All inputs of a request, as the model reads them."""
        if reads_files(model):
            return InputGroup(range(len(inputs)), uploads(model, inputs, self.limits), None, [])
        return model.input_reader.read_all(texts(model, inputs))

    def _scoring_work(
        self, model: Predictor, request: ScoreRequest
    ) -> Callable[[], list[ScoredOutput]]:
        """The work that scores pairs; LimitError where it would be more than is allowed."""
        sources = [source for source, _ in request.pairs]
        targets = [target for _, target in request.pairs]
        if model.as_forecaster() is not None:
            raise ConfigError(
                "model: a forecast has no log-probability here", remedy="use evaluate"
            )
        read = model.scoring_positions(targets)
        self._check_reading("pairs", read, "send fewer pairs or shorter texts")
        if reads_files(model):
            check_cells("target", targets, model.target)
            encoded = uploads(model, sources, self.limits)
            return lambda: model.score_encoded(encoded, targets)
        pairs = list(zip(texts(model, sources), targets, strict=True))
        if model.is_stream:
            return lambda: [model.score_lines([pair])[0] for pair in pairs]
        return lambda: model.score_cells(pairs)

    def _decoding_tickets(
        self, job: Job, model: TextPredictor, request: PredictRequest
    ) -> list[Ticket]:
        """The inputs as they are decoded; those that are blank have their outputs at once.

        LimitError where the work would be more than is allowed.
        """
        wanted = request.prediction_request(model.config.search, self.limits)
        if request.prefix_tokens:
            prefix = self._prefix_text(job.model, model, request)
            wanted = replace(wanted, options=replace(wanted.options, prefix=prefix))
        asked = model.decoding_request(wanted)
        if model.is_language_model:
            asked = model.with_beginnings(
                asked, range(len(request.inputs)), texts(model, request.inputs)
            )
        group = self._group(model, request.inputs).encoded
        self._check_work(model, asked, group)
        there = {each.number for each in group}
        for number in range(len(request.inputs)):
            if number not in there:
                job.events.put_nowait(Event(number, output=EMPTY_OUTPUT))
        tickets = [Ticket(job, number=each.number, rows=asked.search.paths) for each in group]
        for ticket, each in zip(tickets, group, strict=True):
            ticket.pending = PendingInput(ticket, each, each.number, asked)
        return tickets

    def _prefix_text(self, name: str, model: TextPredictor, request: PredictRequest) -> str:
        """The text of a prefix that is given in tokens."""
        if request.prefix:
            raise ConfigError(
                "prefix_tokens: there is a prefix too", remedy="leave one of them out"
            )
        if name not in self._names:
            every = range(model.target.size)
            self._names[name] = dict(zip(model.target.tokens(every), every, strict=True))
        known = self._names[name]
        for number, token in enumerate(request.prefix_tokens, start=1):
            if token not in known:
                raise ConfigError(f"prefix_tokens, number {number}: the model has no such token")
        return model.target.cell([known[token] for token in request.prefix_tokens])

    def _check_work(
        self, model: TextPredictor, asked: DecodingRequest, group: list[EncodedInput]
    ) -> None:
        paths, work = asked.search.path_count, 0
        if paths > self.limits.paths:
            raise LimitError(
                f"search: {paths:,} paths are more than this server's paths, {self.limits.paths:,}"
            )
        if group:
            lengths = torch.tensor([len(each.values) for each in group])
            lines = torch.tensor([each.number for each in group])
            bounds = asked.constraints.limits(lengths, lines, model.config.search)
            work = asked.search.work(int(bounds.longest.sum()))
        if work > self.limits.work:
            raise LimitError(
                f"inputs × paths × length: {work:,} is more than this server's work, "
                f"{self.limits.work:,}",
                remedy="send fewer inputs or a narrower search",
            )

    def _check_reading(self, place: str, positions: int, cure: str) -> None:
        """LimitError where more would be read than is allowed."""
        if positions > self.limits.work:
            raise LimitError(
                f"{positions:,} positions would be read, more than this server's work, "
                f"{self.limits.work:,}",
                place=place,
                remedy=cure,
            )

    def _head_work(
        self, name: str, model: Predictor, request: PredictRequest
    ) -> Callable[[], list[Output]]:
        """The work that judges all inputs, or forecasts what follows them."""
        wanted = request.prediction_request(model.config.search, self.limits)
        inputs, options = request.inputs, wanted.options
        if wanted.searches or options.attention or request.prefix_tokens:
            raise ConfigError(
                f"model: {name} judges and does not search",
                remedy="leave search, n_best, attention, tree and whatever outputs are to be out",
            )
        forecaster = model.as_forecaster()
        if forecaster is not None and not isinstance(inputs[0], str):
            return self._forecast_work(forecaster, inputs)
        group = self._group(model, inputs)
        return lambda: list(model.predict_group(group, options))

    def _forecast_work(
        self, model: Forecaster, inputs: Sequence[Any]
    ) -> Callable[[], list[Output]]:
        """The work that forecasts what follows series; LimitError where it would be too much."""
        wanted = tables(model, inputs)
        read = sum(model.input_positions(steps) for _, steps in wanted)
        self._check_reading("inputs", read, "send fewer series or ask for fewer steps")
        return lambda: [
            model.output(model.forecast(table, len(table) - table.ahead, steps=steps))
            for table, steps in wanted
        ]

    def _job(self, name: str, *, streams: bool = False) -> Job:
        loop = asyncio.get_running_loop()

        def tell(told: list[tuple[Job, Event]]) -> None:
            loop.call_soon_threadsafe(_deliver, told)

        return Job(name, time.monotonic() + self.limits.deadline, tell, streams)


def _deliver(told: list[tuple[Job, Event]]) -> None:
    for job, event in told:
        job.events.put_nowait(event)


def _characters(inputs: Sequence[Input]) -> int:
    return sum(len(given) for given in inputs if isinstance(given, str))
