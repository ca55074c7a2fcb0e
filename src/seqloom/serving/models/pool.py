"""A pool of models in bounded memory, loaded on demand.

If there is no room, the least recently used model without running requests is evicted. If all have
running requests, new requests for one of them wait until those are done, so that no model waits
forever. The pool belongs to the event loop; loading and eviction run in threads.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Protocol

from seqloom.errors import SeqloomError
from seqloom.scheduling.errors import QueueFull, RequestCancelled
from seqloom.scheduling.templates import Loader
from seqloom.serving.connections import Disconnection
from seqloom.serving.models.stored import StoredModel

__all__ = ["ModelPool", "PoolObserver"]


class PoolObserver(Protocol):
    """Counts loads and evictions."""

    def on_load(self, model: str) -> None:
        """A model was loaded."""
        ...

    def on_removal(self, model: str) -> None:
        """A model is loaded no longer, for whatever reason."""
        ...

    def on_eviction(self, model: str) -> None:
        """A model was evicted for others."""
        ...


class ModelOwner(Protocol):
    """Loads and evicts models; called in threads, one call at a time."""

    def load_model(self, name: str, load: Loader) -> None: ...

    def remove_model(self, name: str) -> None: ...


@dataclass(eq=False)
class PooledModel:
    """A model of the pool, loaded or not."""

    name: str
    stored: StoredModel
    is_loaded: bool = False
    is_leaving: bool = False  # whether new requests wait until it is reloaded
    is_outdated: bool = False  # whether they wait for the model as it is stored now
    under_way: int = 0  # number of running requests
    last_use: int = 0
    loads: int = 0
    evictions: int = 0
    waiting: "list[asyncio.Future[None]]" = field(default_factory=list)

    @property
    def takes_requests(self) -> bool:
        return self.is_loaded and not (self.is_leaving or self.is_outdated)

    @property
    def bytes(self) -> int:
        return self.stored.facts.bytes

    def status(self) -> dict[str, Any]:
        """Its state for clients."""
        return {
            "loaded": self.is_loaded,
            "loads": self.loads,
            "evictions": self.evictions,
            "bytes": self.bytes,
        }


class ModelPool:
    """A pool of models whose loaded ones fit into a memory limit; each alone must fit."""

    def __init__(
        self,
        stored: Mapping[str, StoredModel],
        limit: int,
        owner: ModelOwner,
        watch: PoolObserver,
        *,
        most_waiting: int,
    ) -> None:
        self._models = {name: PooledModel(name, each) for name, each in stored.items()}
        self._limit = limit
        self._owner = owner
        self._watch = watch
        self._most_waiting = most_waiting
        self._wanted: list[PooledModel] = []  # queue of models to load
        self._loading: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()  # one load or eviction at a time
        self._released = asyncio.Event()
        self._uses = count(1)

    def __iter__(self) -> Iterator[PooledModel]:
        """Iterate over all models, loaded or not."""
        return iter(self._models.values())

    async def acquire(self, name: str, seconds: float, client: Disconnection) -> Callable[[], None]:
        """Wait until a model is loaded; it stays loaded until the returned function is called.

        TimeoutError after `seconds`; RequestCancelled if the client disconnects first; QueueFull
        if too many requests wait for models.
        """
        model = self._models[name]
        if model.takes_requests:
            return self._use(model)
        if sum(len(each.waiting) for each in self) >= self._most_waiting:
            raise QueueFull(
                f"{self._most_waiting:,} requests wait for models to be loaded",
                remedy="try again in a moment",
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        model.waiting.append(turn)
        self._want(model)
        leave = partial(self._leave, model, turn)
        late = asyncio.get_running_loop().call_later(seconds, leave, TimeoutError())
        try:
            with client.watched(partial(leave, RequestCancelled("the client has gone"))):
                await asyncio.wait([turn])
        except asyncio.CancelledError:
            leave(RequestCancelled("the request is over"))
            if turn.exception() is None:
                self._release(model)
            raise
        finally:
            late.cancel()
        turn.result()  # or the error, by which it has no model
        return self._release_once(model)

    async def renew(self, name: str, stored: StoredModel) -> None:
        """Load the stored state of a model for the next request.

        Other models can be loaded while its running requests finish.
        """
        model = self._models[name]
        model.is_outdated = True
        try:
            while not await self._replace(model, stored):
                await self._wait_for_release()
        finally:
            model.is_outdated = False
            if model.waiting:
                self._want(model)

    async def _replace(self, model: PooledModel, stored: StoredModel) -> bool:
        """Replace a model unless a request uses it; returns whether it was replaced."""
        async with self._changing:
            if model.under_way:
                return False
            if model.is_loaded:
                await self._give_up(model)
            model.stored = stored
            return True

    def _use(self, model: PooledModel) -> Callable[[], None]:
        model.under_way += 1
        return self._release_once(model)

    def _release_once(self, model: PooledModel) -> Callable[[], None]:
        left = [model]

        def release() -> None:
            if left:
                self._release(left.pop())

        return release

    def _release(self, model: PooledModel) -> None:
        model.under_way -= 1
        model.last_use = next(self._uses)
        self._released.set()

    def _leave(
        self, model: PooledModel, turn: "asyncio.Future[None]", error: SeqloomError | TimeoutError
    ) -> None:
        """Let a request wait no longer, unless it has the model or an error already."""
        if turn.done():
            return
        model.waiting.remove(turn)
        turn.set_exception(error)
        if not model.waiting:
            self._released.set()  # no other model need make room for this one

    def _want(self, model: PooledModel) -> None:
        if model.is_outdated:
            return  # once it is as it is stored now
        if model not in self._wanted:
            self._wanted.append(model)
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load_wanted())

    async def _load_wanted(self) -> None:
        """Load the queued models in turn, for those that wait for them at that time."""
        while self._wanted:
            model = self._wanted[0]
            error: Exception | None = None
            async with self._changing:
                try:
                    await self._load(model)
                except Exception as raised:  # reported to all who wait for this model
                    error = raised
            self._wanted.remove(model)
            if model.is_outdated and error is None:
                continue  # it is wanted again once it is as it is stored now
            turns, model.waiting = model.waiting, []
            for turn in turns:
                if error is not None:
                    turn.set_exception(error)
                else:
                    model.under_way += 1
                    turn.set_result(None)

    async def _load(self, model: PooledModel) -> None:
        """Load a model, unless it is loaded, about to be replaced, or no longer needed."""
        while model.waiting and not (model.is_loaded or model.is_outdated):
            if self._used + model.bytes <= self._limit:
                await asyncio.to_thread(self._owner.load_model, model.name, model.stored.load)
                model.is_loaded = True
                model.loads += 1
                self._watch.on_load(model.name)
            else:
                await self._make_room()
        for each in self:
            each.is_leaving = False

    async def _make_room(self) -> None:
        """Evict the least recently used model, or wait for one to become idle."""
        loaded = [each for each in self if each.is_loaded]
        free = [each for each in loaded if not each.under_way]
        if free:
            oldest = min(free, key=lambda each: each.last_use)
            await self._give_up(oldest)
            oldest.evictions += 1
            self._watch.on_eviction(oldest.name)
            return
        if all(each.takes_requests for each in loaded):
            min(loaded, key=lambda each: each.last_use).is_leaving = True
        await self._wait_for_release()

    async def _wait_for_release(self) -> None:
        """Wait until a request lets a model go, or none waits for one any more."""
        self._released.clear()
        await self._released.wait()

    async def _give_up(self, model: PooledModel) -> None:
        model.is_loaded = model.is_leaving = False
        await asyncio.to_thread(self._owner.remove_model, model.name)
        self._watch.on_removal(model.name)

    @property
    def _used(self) -> int:
        return sum(each.bytes for each in self if each.is_loaded)
