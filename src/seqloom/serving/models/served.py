"""The models of a server: all loaded at startup, or on demand within a memory limit."""

import time
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any

from seqloom.deferred import Deferred
from seqloom.parallel import is_torch_loaded
from seqloom.prediction.predictor import Predictor
from seqloom.scheduling.errors import RequestCancelled
from seqloom.scheduling.jobs import Job
from seqloom.scheduling.scheduler import Scheduler
from seqloom.scheduling.templates import Loader
from seqloom.serving.connections import Disconnection
from seqloom.serving.errors import UnknownModel
from seqloom.serving.inputs import check_kinds, describe_model, reads_files
from seqloom.serving.limits import ServingConfig
from seqloom.serving.metrics import Metrics, RequestRecord
from seqloom.serving.models.pool import ModelPool
from seqloom.serving.models.stored import StoredModel

__all__ = ["ServedModels"]


class ServedModels:
    """All models of a server, and those that are loaded."""

    def __init__(
        self,
        scheduler: Scheduler,
        stored: Mapping[str, StoredModel],
        limits: ServingConfig,
        metrics: Metrics,
        forget: Callable[[str], None],
    ) -> None:
        self._scheduler = scheduler
        self._forget = forget  # clears caches of a removed model
        self.loaded = scheduler.models
        self.names = [*self.loaded, *stored]
        for name, model in self.loaded.items():
            check_kinds(name, model)
        self.pool: ModelPool | None = None
        if stored:
            self.pool = ModelPool(stored, limits.memory, self, metrics, most_waiting=limits.queue)
        self._listing = Deferred(self._describe)

    def start(self) -> None:
        """Warm up the models that no process has tried, and describe all."""
        away = all(worker.processes for worker in self._scheduler.workers)
        for model in self.loaded.values():
            if not (away and model.as_text_predictor()):
                model.warm_up()
        describing = Thread(target=self.listing, daemon=True)
        describing.start()
        if is_torch_loaded():
            describing.join()

    def name_of(self, name: str | None) -> str:
        """The model name of a request; UnknownModel if there is none."""
        name = self.names[0] if name is None else name
        if name not in self.names:
            raise UnknownModel(
                "model: there is none of that name here",
                remedy=f"there are {', '.join(self.names)}",
            )
        return name

    async def model_for(self, job: Job, entry: RequestRecord, client: Disconnection) -> Predictor:
        """The model of a request, which stays loaded until the request ends.

        A request whose client disconnects while it waits counts as accepted and cancelled.
        """
        if self.pool is not None:
            try:
                seconds = job.deadline - time.monotonic()
                entry.at_end = await self.pool.acquire(job.model, seconds, client)
            except TimeoutError:
                raise job.deadline_error() from None
            except RequestCancelled:
                entry.accept()
                entry.end("cancelled")
                raise
        return self.loaded[job.model]

    def put_model(self, name: str, model: Predictor) -> None:
        """Serve a model under a name; running requests finish with the previous one."""
        self._scheduler.put_model(name, model)
        self._forget(name)
        self._listing = Deferred(self._describe)

    def load_model(self, name: str, load: Loader) -> None:
        """Load a stored model; called by the pool."""
        model = load()
        check_kinds(name, model)
        if model.as_text_predictor() is None:
            model.warm_up()
        self.put_model(name, model)

    def remove_model(self, name: str) -> None:
        """Remove a model that no request needs; called by the pool."""
        self._scheduler.remove_model(name)
        self._forget(name)

    @property
    def reads_files(self) -> bool:
        """Whether inputs of some model are files."""
        stored = [] if self.pool is None else [each.stored.facts for each in self.pool]
        return any(map(reads_files, self.loaded.values())) or any(
            each.reads_files for each in stored
        )

    def listing(self) -> list[dict[str, Any]]:
        """The models with their source, target and default search."""
        if self.pool is None:
            return self._listing.value
        return [
            {"name": each.name, **each.stored.facts.listing, **each.status()} for each in self.pool
        ]

    def state(self) -> dict[str, Any]:
        """Which models are loaded, if not all are, and notes on models."""
        state: dict[str, Any] = {}
        if self.pool is None:
            notes = {name: model.notes for name, model in self.loaded.items()}
        else:  # what is loaded may change at any time
            notes = {each.name: each.stored.facts.notes for each in self.pool}
            state["models"] = {each.name: each.status() for each in self.pool}
        told = {name: list(each) for name, each in notes.items() if each}
        return {**state, **({"notes": told} if told else {})}

    def _describe(self) -> list[dict[str, Any]]:
        """Describe all models, which are loaded; this imports torch."""
        run = self._scheduler.run_apart
        return [{"name": name, **run(name, describe_model)} for name in self.loaded]
