"""From requests to jobs: whatever can be refused is refused before the model sees it."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import groupby
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from seqloom.data import SeriesTable
from seqloom.deferred import Deferred
from seqloom.errors import ConfigError, DataError, LimitError
from seqloom.parallel import is_torch_loaded, thread_count
from seqloom.prediction.inputs import InputGroup, check_cells
from seqloom.prediction.output import Output, ScoredOutput
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.request import OutputOptions, PendingInput
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.scheduling.jobs import Event, Job, RenderedOutput, Ticket
from seqloom.scheduling.processes import ProcessTemplate
from seqloom.scheduling.scheduler import QueueBounds, Scheduler
from seqloom.serving.decoding_plans import DecodingPlan, DecodingPlans
from seqloom.serving.errors import UnknownModel
from seqloom.serving.inputs import (
    CHUNK,
    Input,
    check_kinds,
    chunk,
    describe_model,
    group_chunk,
    reads_files,
    renumber,
    tables,
    texts,
    uploads,
)
from seqloom.serving.limits import ServingConfig
from seqloom.serving.metrics import Metrics, RequestRecord
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

INLINE_CHARACTERS = 2_000  # characters that are cut into tokens aside, so that others need not wait
EMPTY_OUTPUT = RenderedOutput.of(Output("", 0.0, 0.0, (), "blank"))
LOOKS = "seqloom.serving.looks"  # which is imported once something is to be looked at
Result = TypeVar("Result")


class Service:
    """Models under their names, and the workers that run them; each model must be of a kind that
    can be served."""

    def __init__(
        self,
        models: Mapping[str, Predictor],
        limits: ServingConfig,
        template: ProcessTemplate | None = None,
    ) -> None:
        for name, model in models.items():
            check_kinds(name, model)
        self.models = models = dict(models)
        self.limits = limits
        self.metrics = Metrics(waiting=lambda: self.scheduler.waiting)
        self.scheduler = Scheduler(
            models,
            QueueBounds(limits.queue, limits.rows),
            workers=thread_count(),
            watch=self.metrics,
            template=template,
        )
        self.ready = False
        self._names: dict[str, dict[str, int]] = {}  # of tokens, by model, once they are needed
        self._plans = DecodingPlans(limits)
        self._looks, self._listing = (
            Deferred(lambda: import_module(LOOKS).Looks()),
            Deferred(self._describe_models),
        )
        self._opening = asyncio.Lock()  # one file at a time, whatever it is blown up to

    def start(self) -> None:
        """Try every model where it will run, so that no request need wait, and begin to work."""
        self.scheduler.start()
        away = all(worker.process for worker in self.scheduler.workers)
        for model in self.models.values():
            if not (away and model.as_text_predictor()):
                model.warm_up()
        describing = Thread(target=lambda: self._listing.value, daemon=True)
        describing.start()
        if is_torch_loaded():
            describing.join()
        self.ready = True

    def replace_model(self, name: str, model: Predictor) -> None:
        """Serve another model under the same name; requests under way are answered by the old."""
        self.scheduler.replace_model(name, model)
        self._names.pop(name, None)
        self._looks, self._listing = (
            Deferred(lambda: import_module(LOOKS).Looks()),
            Deferred(self._describe_models),
        )

    def stop(self) -> None:
        """Finish what was accepted, and end."""
        self.ready = False
        self.scheduler.close()

    def searches(self) -> list[dict[str, Any]]:
        """Every search that a request may name, with its options."""
        return describe_searches(self.limits)

    async def listing(self) -> list[dict[str, Any]]:
        """The models, what they read and write, and how they search unless told otherwise."""
        return await asyncio.to_thread(lambda: self._listing.value)

    def _describe_models(self) -> list[dict[str, Any]]:
        """The same, which takes torch."""
        run = self.scheduler.run_apart
        return [{"name": name, **run(name, describe_model)} for name in self.models]

    async def predict(
        self,
        request: PredictRequest,
        entry: RequestRecord,
        *,
        client: str = "",
        streams: bool = False,
    ) -> Job:
        """A client's request in the queue; its events are the outputs, in any order."""
        self.scheduler.check_room()
        request.check_sizes(self.limits)
        name, model = self._model(request.model)
        job = self._job(name, client, streams=streams)
        tickets = await self._in_thread(
            model, request.inputs, lambda: self._tickets(job, model, request)
        )
        if tickets:
            self.scheduler.submit(job, tickets)
        entry.accept()
        return job

    async def score(self, request: ScoreRequest, entry: RequestRecord, *, client: str = "") -> Job:
        """A client's request in the queue; its events are the scores, in any order."""
        self.scheduler.check_room()
        request.check_sizes(self.limits)
        name, model = self._model(request.model)
        given: list[Input] = [source for source, _ in request.pairs]
        given += [target for _, target in request.pairs]
        job = self._job(name, client)
        tickets = await self._in_thread(
            model, given, lambda: self._scoring_tickets(job, model, request)
        )
        self.scheduler.submit(job, tickets)
        entry.accept()
        return job

    async def look(self, request: LookRequest, entry: RequestRecord, *, client: str = "") -> Job:
        """A client's request in the queue; its one event is what was to be seen."""
        self.scheduler.check_room()
        request.check_sizes(self.limits)
        name, model = self._model(request.model)
        job = self._job(name, client)
        ticket = await self._in_thread(
            model, [request.input], lambda: self._look_ticket(job, model, request)
        )
        self.scheduler.submit(job, [ticket])
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
        texts_alone = [given for given in inputs if isinstance(given, str)]
        if len(texts_alone) == len(inputs) and sum(map(len, texts_alone)) <= INLINE_CHARACTERS:
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
        """All inputs of a request, as the model reads them."""
        if reads_files(model):
            encoded = uploads(model, inputs, self.limits, options)
            return InputGroup(range(len(inputs)), encoded, None, [])
        return model.reader_for(options).read_all(texts(model, inputs))

    def _scoring_tickets(self, job: Job, model: Predictor, request: ScoreRequest) -> list[Ticket]:
        """The work that scores pairs; LimitError where it would be more than is allowed."""
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
        """The work that looks at an output; LimitError where it would be more than is allowed."""
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
        """The inputs as they are decoded; those that are blank have their outputs at once.

        LimitError where the work would be more than is allowed.
        """
        prefix = None
        if request.prefix_tokens:
            prefix = self._prefix_text(job.model, model, request)
        plan = self._plans.plan(model, request, prefix=prefix)
        if model.is_language_model:
            lines, cells = range(len(request.inputs)), texts(model, request.inputs)
            plan = DecodingPlan(model, model.with_beginnings(plan.asked, lines, cells))
        asked = plan.asked
        group = self._group(model, request.inputs, asked.options).encoded
        asked.check_pieces(group)
        costs = plan.check_work(group, self.limits)
        there = {each.number for each in group}
        for number in range(len(request.inputs)):
            if number not in there:
                job.events.put_nowait(Event(number, outputs=(EMPTY_OUTPUT,)))
        tickets = []
        for number, pairs in groupby(
            zip(group, costs, strict=True), key=lambda pair: pair[0].number
        ):
            pieces = list(pairs)
            if len(pieces) > 1:
                job.pieces[number] = [encoded for encoded, _ in pieces]
            for piece, (encoded, cost) in enumerate(pieces):
                ticket = Ticket(
                    job,
                    number=number,
                    piece=piece,
                    rows=asked.paths,
                    cost=cost.positions,
                    whole=cost.whole,
                )
                ticket.pending = PendingInput(ticket, encoded, number, asked)
                tickets.append(ticket)
        return tickets

    def _prefix_text(self, name: str, model: TextPredictor, request: PredictRequest) -> str:
        """The text of a prefix that is given in tokens."""
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
        """Tokens of a model by their numbers; ConfigError where it has no such token."""
        if name not in self._names:
            every = range(model.target.size)
            self._names[name] = dict(zip(model.target.tokens(every), every, strict=True))
        known = self._names[name]
        for number, token in enumerate(tokens, start=1):
            if token not in known:
                raise ConfigError(f"{place}, number {number}: the model has no such token")
        return [known[token] for token in tokens]

    def _check_reading(self, place: str, positions: int, cure: str) -> None:
        """LimitError where more would be read than is allowed."""
        if positions > self.limits.work:
            raise LimitError(
                f"{positions:,} positions would be read, more than this server's work, "
                f"{self.limits.work:,}",
                place=place,
                remedy=cure,
            )

    def _head_tickets(self, job: Job, model: Predictor, request: PredictRequest) -> list[Ticket]:
        """The work that judges all inputs, or forecasts what follows them."""
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
        """The work that forecasts what follows series; LimitError where it would be too much."""
        wanted = tables(model, inputs)
        read = sum(model.input_positions(steps) for _, steps in wanted)
        self._check_reading("inputs", read, "send fewer series or ask for fewer steps")

        def forecast(table: SeriesTable, steps: int | None) -> list[Output]:
            return [model.output(model.forecast(table, len(table) - table.ahead, steps=steps))]

        return [
            _work_ticket(job, number, partial(forecast, table, steps), model.input_positions(steps))
            for number, (table, steps) in enumerate(wanted)
        ]

    def _job(self, name: str, client: str, *, streams: bool = False) -> Job:
        loop = asyncio.get_running_loop()

        def tell(told: list[tuple[Job, Event]]) -> None:
            loop.call_soon_threadsafe(_deliver, told)

        return Job(name, time.monotonic() + self.limits.deadline, tell, streams, client)


def _deliver(told: list[tuple[Job, Event]]) -> None:
    for job, event in told:
        job.events.put_nowait(event)


def _text(given: Input) -> str:
    if not isinstance(given, str):
        raise DataError("is not a text, which this model reads", place="input")
    return given


def _work_ticket(
    job: Job, number: int, make: Callable[[], Iterable[Output | ScoredOutput]], cost: int
) -> Ticket:
    """Work that is done as a whole for the inputs from this number on."""

    def work() -> list[RenderedOutput]:
        return [RenderedOutput.of(each) for each in make()]

    return Ticket(job, work=work, number=number, cost=max(1, cost))
