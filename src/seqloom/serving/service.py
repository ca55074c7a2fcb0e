"""Turn requests into jobs; whatever can be rejected is rejected before the model runs."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from seqloom.data import SeriesTable
from seqloom.deferred import Deferred
from seqloom.errors import ConfigError, DataError, LimitError
from seqloom.parallel import thread_count
from seqloom.prediction.inputs import EncodedInput, InputGroup, check_cells
from seqloom.prediction.output import Output, ScoredOutput
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.request import OutputOptions
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.scheduling.jobs import Deadlines, Event, Job, RenderedOutput, Ticket
from seqloom.scheduling.scheduler import QueueBounds, Scheduler
from seqloom.scheduling.templates import ProcessTemplate
from seqloom.serving.connections import Requester
from seqloom.serving.decoding_plans import DecodingPlan, DecodingPlans
from seqloom.serving.inputs import (
    CHUNK,
    Input,
    chunk,
    group_chunk,
    reads_files,
    renumber,
    tables,
    texts,
    uploads,
)
from seqloom.serving.limits import ServingConfig
from seqloom.serving.metrics import Metrics, RequestRecord
from seqloom.serving.models.served import ServedModels
from seqloom.serving.models.stored import StoredModel
from seqloom.serving.requests import (
    LookRequest,
    PredictRequest,
    ScoreRequest,
    describe_searches,
    look_cost,
)

if TYPE_CHECKING:
    from seqloom.explanations.explained_output import Cell
    from seqloom.prediction.forecaster import Forecaster

__all__ = ["Service"]

INLINE_CHARACTERS = 2_000  # of inputs that are tokenized in the event loop, others in a thread
EMPTY_OUTPUT = RenderedOutput.of(Output("", 0.0, 0.0, (), "blank"))
LOOKS = "seqloom.serving.looks"  # imported on first use
Result = TypeVar("Result")


class Service:
    """Models by name, and the workers that run them; each model's kind must be servable. Stored
    models are loaded on demand.
    """

    def __init__(
        self,
        models: Mapping[str, Predictor],
        limits: ServingConfig,
        template: ProcessTemplate | None = None,
        stored: Mapping[str, StoredModel] | None = None,
    ) -> None:
        models = dict(models)
        self.limits = limits
        self.metrics = Metrics(waiting=lambda: self.scheduler.waiting)
        self.scheduler = Scheduler(
            models,
            QueueBounds(limits.queue, limits.rows),
            workers=thread_count(),
            watch=self.metrics,
            template=template,
        )
        self.served = ServedModels(self.scheduler, stored or {}, limits, self.metrics, self._forget)
        self.ready = False
        self._names: dict[str, dict[str, int]] = {}  # ids of tokens by model, cached
        self._plans = DecodingPlans(limits)
        self._deadlines = Deadlines()
        self._looks = Deferred(_looks)
        self._opening = asyncio.Lock()  # one file at a time, since it may decompress to any size

    def start(self) -> None:
        """Warm up every model where it will run, and start working."""
        self.scheduler.start()
        self.served.start()
        self.ready = True

    @property
    def models(self) -> Mapping[str, Predictor]:
        """The models that are loaded."""
        return self.served.loaded

    def _forget(self, name: str) -> None:
        """Clear the caches of a removed model."""
        self._names.pop(name, None)
        self._plans.clear()
        self._looks = Deferred(_looks)

    def stop(self) -> None:
        """Finish accepted requests and stop."""
        self.ready = False
        self.scheduler.close()

    def searches(self) -> list[dict[str, Any]]:
        """All searches that a request may name, with their options."""
        return describe_searches(self.limits)

    async def listing(self) -> list[dict[str, Any]]:
        """The models with their source, target and default search."""
        return await asyncio.to_thread(self.served.listing)

    async def predict(
        self,
        request: PredictRequest,
        entry: RequestRecord,
        *,
        client: Requester,
        streams: bool = False,
    ) -> Job:
        """Queue a request; its events are the outputs, in any order."""
        self.scheduler.check_room()
        request.check_sizes(self.limits)
        job = self._job(request.model, client.address, streams=streams)
        model = await self.served.model_for(job, entry, client.connection)
        tickets = await self._in_thread(
            model, request.inputs, lambda: self._tickets(job, model, request)
        )
        if tickets:
            self.scheduler.submit(job, tickets)
        entry.accept()
        return job

    async def score(self, request: ScoreRequest, entry: RequestRecord, *, client: Requester) -> Job:
        """Queue a request; its events are the scores, in any order."""
        self.scheduler.check_room()
        request.check_sizes(self.limits)
        job = self._job(request.model, client.address)
        model = await self.served.model_for(job, entry, client.connection)
        given: list[Input] = [source for source, _ in request.pairs]
        given += [target for _, target in request.pairs]
        tickets = await self._in_thread(
            model, given, lambda: self._scoring_tickets(job, model, request)
        )
        self.scheduler.submit(job, tickets)
        entry.accept()
        return job

    async def look(self, request: LookRequest, entry: RequestRecord, *, client: Requester) -> Job:
        """Queue a request; its only event is the explanation."""
        self.scheduler.check_room()
        request.check_sizes(self.limits)
        job = self._job(request.model, client.address)
        model = await self.served.model_for(job, entry, client.connection)
        ticket = await self._in_thread(
            model, [request.input], lambda: self._look_ticket(job, model, request)
        )
        self.scheduler.submit(job, [ticket])
        entry.accept()
        return job

    async def _in_thread(
        self, model: Predictor, inputs: Sequence[Input], make: Callable[[], Result]
    ) -> Result:
        """Process inputs, in a thread if that may take long.

        Files are decoded one at a time, since a small one may become large.
        """
        if reads_files(model):
            async with self._opening:
                return await asyncio.to_thread(make)
        if (
            sum([len(each) if isinstance(each, str) else inf for each in inputs])
            <= INLINE_CHARACTERS
        ):
            return make()
        return await asyncio.to_thread(make)

    def _tickets(self, job: Job, model: Predictor, request: PredictRequest) -> list[Ticket]:
        writer = model.as_text_predictor()
        if writer is None:
            return self._head_tickets(job, model, request)
        return self._decoding_tickets(job, writer, request)

    def _group(
        self, model: Predictor, inputs: Sequence[Input], options: OutputOptions
    ) -> InputGroup:
        """Encode all inputs of a request."""
        if reads_files(model):
            encoded = uploads(model, inputs, self.limits, options)
            return InputGroup(range(len(inputs)), encoded, None, [])
        return model.reader_for(options).read_all(texts(model, inputs))

    def _scoring_tickets(self, job: Job, model: Predictor, request: ScoreRequest) -> list[Ticket]:
        """The tickets that score pairs; LimitError if they exceed the work limit."""
        sources = [source for source, _ in request.pairs]
        targets = [target for _, target in request.pairs]
        if model.as_forecaster() is not None:
            raise ConfigError(
                "model: a forecast has no log-probability here", remedy="use evaluate"
            )
        read = model.scoring_positions(targets)
        self._check_reading("pairs", read, "send fewer pairs or shorter texts")
        check_cells("target", targets, model.target)
        if reads_files(model):
            encoded = uploads(model, sources, self.limits)
            return [
                _work_ticket(
                    job,
                    first,
                    partial(model.score_encoded, renumber(encoded, first), chunk(targets, first)),
                    sum(len(each.values) for each in renumber(encoded, first)),
                )
                for first in range(0, len(targets), CHUNK)
            ]
        cells = texts(model, sources)
        check_cells("source", cells, model.source)
        pairs = list(zip(cells, targets, strict=True))

        def score(some: list[tuple[str, str]]) -> list[ScoredOutput]:
            if model.is_stream:
                return [model.score_lines([pair])[0] for pair in some]
            return model.score_cells(some)

        return [
            _work_ticket(
                job,
                first,
                partial(score, chunk(pairs, first)),
                sum(len(source) + len(target) for source, target in chunk(pairs, first)),
            )
            for first in range(0, len(pairs), CHUNK)
        ]

    def _look_ticket(self, job: Job, model: Predictor, request: LookRequest) -> Ticket:
        """The ticket that explains an output; LimitError if it exceeds the work limit."""
        cell: Cell
        if reads_files(model):
            (encoded,) = uploads(model, [request.input], self.limits)
            cell, size = encoded.values, len(encoded.values)
        elif model.is_language_model:
            cell, size = _text(request.input), 0
        else:
            (cell,) = texts(model, [request.input])
            size = len(model.encode_cell(cell))
        said = None
        if request.tokens is not None:
            writer = model.as_text_predictor()
            if writer is None:
                raise ConfigError("tokens: this model writes no text", remedy="leave them out")
            ids = self._token_ids(job.model, writer, request.tokens, "tokens")
            said = Output("", 0.0, 0.0, (), "end", ids=tuple(ids))
        cost = look_cost(request, size)
        self._check_reading("input", cost, "look at a shorter input")

        def work() -> list[RenderedOutput]:
            from seqloom.tasks import explain_output

            explain = partial(explain_output, model, cell, said)
            seen = self._looks.value.see(job.model, model, explain, request)
            return [RenderedOutput.of_plain(seen)]

        return Ticket(job, work=work, cost=max(1, cost))

    def _decoding_tickets(
        self, job: Job, model: TextPredictor, request: PredictRequest
    ) -> list[Ticket]:
        """The tickets that decode inputs; blank inputs have their outputs at once.

        LimitError if they exceed the work limit.
        """
        prefix = None
        if request.prefix_tokens:
            prefix = self._prefix_text(job.model, model, request)
        plan = self._plans.plan(model, request, prefix=prefix)
        if model.is_language_model:
            lines, cells = range(len(request.inputs)), texts(model, request.inputs)
            asked = model.with_beginnings(plan.asked, lines, cells)
            plan = DecodingPlan(model, asked, plan.paths)
        asked = plan.asked
        group = self._group(model, request.inputs, asked.options).encoded
        asked.check_pieces(group)
        costs = plan.check_work(group, self.limits)
        there = {each.number for each in group}
        for number in range(len(request.inputs)):
            if number not in there:
                job.put(Event(number, outputs=(EMPTY_OUTPUT,)))
        pieces: dict[int, list[EncodedInput]] = {}
        tickets = []
        for encoded, cost in zip(group, costs, strict=True):
            own = pieces.setdefault(encoded.number, [])
            ticket = Ticket(
                job,
                encoded,
                asked,
                number=encoded.number,
                piece=len(own),
                rows=plan.paths,
                cost=cost.positions,
                whole=cost.whole,
            )
            tickets.append(ticket)
            own.append(encoded)
        job.pieces = {number: own for number, own in pieces.items() if len(own) > 1}
        return tickets

    def _prefix_text(self, name: str, model: TextPredictor, request: PredictRequest) -> str:
        """The text of a prefix given as tokens."""
        if request.prefix:
            raise ConfigError(
                "prefix_tokens: there is a prefix too", remedy="leave one of them out"
            )
        return model.target.cell(
            self._token_ids(name, model, request.prefix_tokens, "prefix_tokens")
        )

    def _token_ids(
        self, name: str, model: TextPredictor, tokens: Sequence[str], place: str
    ) -> list[int]:
        """The ids of a model's tokens; ConfigError for an unknown one."""
        known = self._names.get(name)  # a reload may drop them at any time
        if known is None:
            every = range(model.target.size)
            known = dict(zip(model.target.tokens(every), every, strict=True))
            self._names[name] = known
        for number, token in enumerate(tokens, start=1):
            if token not in known:
                raise ConfigError(f"{place}, number {number}: the model has no such token")
        return [known[token] for token in tokens]

    def _check_reading(self, place: str, positions: int, cure: str) -> None:
        """Raise LimitError if more positions would be read than the work limit permits."""
        if positions > self.limits.work:
            raise LimitError(
                f"{positions:,} positions would be read, more than this server's work, "
                f"{self.limits.work:,}",
                place=place,
                remedy=cure,
            )

    def _head_tickets(self, job: Job, model: Predictor, request: PredictRequest) -> list[Ticket]:
        """The tickets that predict labels, tags or numbers, or forecast series."""
        wanted = request.prediction_request(model.config.search, self.limits)
        inputs, options = request.inputs, wanted.options
        if wanted.searches or options.attention or request.prefix_tokens:
            raise ConfigError(
                f"model: {job.model} judges and does not search",
                remedy="leave search, n_best, attention, tree and whatever outputs are to be out",
            )
        forecaster = model.as_forecaster()
        if forecaster is not None and not isinstance(inputs[0], str):
            return self._forecast_tickets(job, forecaster, inputs)
        group = self._group(model, inputs, options)
        return [
            _work_ticket(
                job,
                first,
                partial(model.predict_group, part, options),
                sum(len(each.values) for each in part.encoded),
            )
            for first in range(0, len(inputs), CHUNK)
            if (part := group_chunk(group, first))
        ]

    def _forecast_tickets(
        self, job: Job, model: "Forecaster", inputs: Sequence[Any]
    ) -> list[Ticket]:
        """The tickets that forecast series; LimitError if they exceed the work limit."""
        wanted = tables(model, inputs)
        read = sum(model.input_positions(steps) for _, steps in wanted)
        self._check_reading("inputs", read, "send fewer series or ask for fewer steps")

        def forecast(table: SeriesTable, steps: int | None) -> list[Output]:
            return [model.output(model.forecast(table, len(table) - table.ahead, steps=steps))]

        return [
            _work_ticket(job, number, partial(forecast, table, steps), model.input_positions(steps))
            for number, (table, steps) in enumerate(wanted)
        ]

    def _job(self, wanted: str | None, address: str, *, streams: bool = False) -> Job:
        name, began = self.served.name_of(wanted), time.monotonic()
        tell = partial(_deliver_to, asyncio.get_running_loop())
        return Job(
            name,
            began + self.limits.deadline,
            tell,
            streams,
            address,
            self._deadlines,
            began=began,
        )


def _looks() -> Any:
    return import_module(LOOKS).Looks()


def _deliver_to(loop: asyncio.AbstractEventLoop, told: list[tuple[Job, Event]]) -> None:
    """Deliver events from another thread."""
    loop.call_soon_threadsafe(_deliver, told)


def _deliver(told: list[tuple[Job, Event]]) -> None:
    for job, event in told:
        job.put(event)


def _text(given: Input) -> str:
    if not isinstance(given, str):
        raise DataError("is not a text, which this model reads", place="input")
    return given


def _work_ticket(
    job: Job, number: int, make: Callable[[], Iterable[Output | ScoredOutput]], cost: int
) -> Ticket:
    """A ticket of undivided work for the inputs from this index on."""

    def work() -> list[RenderedOutput]:
        return [RenderedOutput.of(each) for each in make()]

    return Ticket(job, work=work, number=number, cost=max(1, cost))
