"""Several models in less memory than all would take: each answers as if it were alone."""

import asyncio
import gc
import json
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import pytest

from seqloom.errors import ConfigError, LimitError, SeqloomError
from seqloom.prediction import Predictor
from seqloom.scheduling.errors import QueueFull, RequestCancelled
from seqloom.scheduling.templates import Loader, ProcessTemplate
from seqloom.search import Beam
from seqloom.serving.connections import Disconnection
from seqloom.serving.limits import serving_config
from seqloom.serving.models.pool import ModelPool
from seqloom.serving.models.stored import ModelFacts, StoredModel, study
from tests.counts import count
from tests.prediction.untrained import SOURCES, untrained
from tests.serving.kinds import made
from tests.serving.support import Served, exists, processes_of, send, serving, until

pytestmark = pytest.mark.faults

REQUESTS = count(24, 600)
NAMES = "abcd"
LOADERS: dict[str, Loader] = {
    name: partial(untrained, "transformer", seed=seed)
    for seed, name in zip((2, 5, 8, 9), NAMES, strict=True)
}
BEAM = {"kind": "beam", "width": 3}


def facts(size: int) -> ModelFacts:
    return ModelFacts({}, (), reads_files=False, bytes=size)


@contextmanager
def served_on_demand(memory: int, loaders: dict[str, Loader], **limits: Any) -> Iterator[Served]:
    """A server of models that count as one byte each."""
    stored = {name: StoredModel(load, facts(1)) for name, load in loaders.items()}
    template = ProcessTemplate({}, loaders)
    with serving({}, template=template, stored=stored, memory=memory, **limits) as served:
        yield served


def expected(name: str) -> list[str]:
    return [each.text for each in LOADERS[name]().predict(SOURCES, search=Beam(3))]


def status(served: Served) -> dict[str, Any]:
    models: dict[str, Any] = served.ask("GET", "/ready").json["models"]
    return models


def loaded(served: Served) -> set[str]:
    return {name for name, each in status(served).items() if each["loaded"]}


def test_more_models_than_fit_answer_at_the_same_time() -> None:
    """Eight clients ask four models, of which two fit: no request fails, and each has the outputs
    of the model that it names."""
    right = {name: expected(name) for name in NAMES}
    assert len({tuple(texts) for texts in right.values()}) == len(NAMES)
    with served_on_demand(2, LOADERS) as served, ThreadPoolExecutor(8) as pool:

        def ask(number: int) -> tuple[str, list[str]]:
            name = NAMES[number * 7 % 4]
            if number % 3:
                answer = served.predict(*SOURCES, model=name, search=BEAM)
                assert answer.status == 200, answer.body
                return name, [each["text"] for each in answer.json["outputs"]]
            events = served.events(*SOURCES, model=name, search=BEAM)
            outputs = {
                data["input"]: data["output"]["text"] for kind, data in events if kind == "output"
            }
            return name, [outputs[number] for number in range(len(SOURCES))]

        for name, texts in pool.map(ask, range(REQUESTS)):
            assert texts == right[name]
        now = status(served)
        assert sum(each["loaded"] for each in now.values()) <= 2
        assert all(each["loads"] == each["evictions"] + each["loaded"] for each in now.values())
        assert min(each["loads"] for each in now.values()) >= 1
        assert served.outcomes()["completed"] == REQUESTS


def test_the_least_recently_used_is_given_up() -> None:
    """The list of models, the counters and the state say so; the processes that had it are gone."""
    with served_on_demand(2, LOADERS) as served:
        assert loaded(served) == set()
        for name in "aba":
            assert served.predict("abc", model=name).status == 200
        before = processes_of(served)
        assert served.predict("abc", model="c").status == 200
        assert loaded(served) == {"a", "c"}
        assert not all(map(exists, before))
        listed = {each["name"]: each for each in served.ask("GET", "/v1/models").json["models"]}
        assert (listed["b"]["loaded"], listed["b"]["loads"], listed["b"]["evictions"]) == (0, 1, 1)
        counts = served.counts()
        assert counts['seqloom_model_loaded{model="b"}'] == 0
        assert counts['seqloom_model_evictions_total{model="b"}'] == 1
        assert counts['seqloom_model_loads_total{model="a"}'] == 1
        assert served.predict("abc").json["model"] == "a"  # the first, where none is named


def test_nothing_is_left_of_a_model_that_was_given_up() -> None:
    """Neither its processes nor, in the server, the model itself."""
    alive: list[weakref.ref[Predictor]] = []

    def noted(load: Loader) -> Predictor:
        model = load()
        alive.append(weakref.ref(model))
        return model

    loaders: dict[str, Loader] = {name: partial(noted, LOADERS[name]) for name in "ab"}
    with served_on_demand(1, loaders) as served:
        pairs = [["abc", "cab"]]
        for _ in range(2):
            assert served.predict(*SOURCES, model="a", prefix_tokens=["a"]).status == 200
            assert served.ask("POST", "/v1/score", {"model": "a", "pairs": pairs}).status == 200
            look = {"model": "a", "input": "abc", "show": "attention"}
            assert served.ask("POST", "/v1/look", look).status == 200
            held = processes_of(served)
            assert served.predict("abc", model="b").status == 200
            assert not any(map(exists, held))
        gc.collect()
        assert [each() is not None for each in alive] == [False, False, False, True]


def test_a_model_in_use_is_not_given_up_and_no_model_waits_for_ever() -> None:
    """Three clients ask one model without a pause, and another one is answered all the same."""
    with served_on_demand(1, LOADERS) as served, ThreadPoolExecutor(3) as pool:
        ended = threading.Event()
        statuses: list[int] = []

        def go_on() -> None:
            while not ended.is_set():
                statuses.append(served.predict(*SOURCES, model="a", search=BEAM).status)

        asking = [pool.submit(go_on) for _ in range(3)]
        until(lambda: len(statuses) > 3)
        answer = served.predict(*SOURCES, model="b", search=BEAM)
        ended.set()
        for each in asking:
            each.result()
        assert [each["text"] for each in answer.json["outputs"]] == expected("b")
        assert set(statuses) == {200}


def test_models_of_every_kind_come_and_go() -> None:
    """One that judges runs in the server itself."""
    loaders: dict[str, Loader] = {"a": LOADERS["a"], "label": partial(made, "tone")}
    with served_on_demand(1, loaders) as served:
        for _ in range(2):
            assert served.predict("abc", model="a").status == 200
            answer = served.predict("a b", model="label")
            assert answer.status == 200, answer.body
            assert loaded(served) == {"label"}


def test_the_state_is_told_while_models_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another model is loaded, in its thread, while the state of those that are there is read."""
    with served_on_demand(2, LOADERS) as served:
        assert served.predict("abc", model="a").status == 200
        models = served.service.scheduler.models

        def notes(model: Predictor) -> tuple[str, ...]:
            models["b"] = model
            return ()

        monkeypatch.setattr(type(models["a"]), "notes", property(notes))
        assert served.ask("GET", "/ready").status == 200
        models.pop("b", None)


def fails() -> Predictor:
    raise ConfigError("it cannot be read")


def test_a_model_that_cannot_be_loaded_fails_alone() -> None:
    with served_on_demand(1, {"a": LOADERS["a"], "broken": fails}) as served:
        assert "cannot be read" in served.predict("abc", model="broken").error
        assert served.predict("abc", model="a").status == 200
        assert served.predict("abc", model="none").status == 404


def test_a_client_that_goes_while_a_model_is_loaded() -> None:
    """Its request is cancelled, and what it wanted drives out nothing."""
    may = threading.Event()

    def load_slowly() -> Predictor:
        may.wait(20)
        return made("tone")

    loaders: dict[str, Loader] = {"slow": load_slowly, "a": LOADERS["a"]}
    with served_on_demand(1, loaders) as served, ThreadPoolExecutor(1) as pool:
        first = pool.submit(served.predict, "a b", model="slow")
        until(lambda: served.outcomes()["received"] == 1)
        for path in (b"predict", b"stream"):
            connection = send(served, path, {"inputs": ["abc"], "model": "a"})
            until(lambda: waiting(served, "a") == 1)
            connection.close()
            until(lambda: waiting(served, "a") == 0)
        may.set()
        assert first.result().status == 200
        until(lambda: served.outcomes()["completed"] == 1)
        assert served.predict("a b", model="slow").status == 200
        counts, now = served.outcomes(), status(served)
    assert (counts["received"], counts["accepted"], counts["cancelled"]) == (4, 4, 2)
    assert (now["slow"]["loads"], now["a"]["loads"]) == (1, 0)


def waiting(served: Served, name: str) -> int:
    """Requests that wait for a model."""
    pool = served.service.served.pool
    assert pool is not None
    return next(len(each.waiting) for each in pool if each.name == name)


def test_a_model_that_alone_is_too_large_is_refused() -> None:
    """Its size is measured in a process of its own, and has its processes in it."""
    template = ProcessTemplate({}, LOADERS)
    try:
        found = study(template, "a", LOADERS["a"], 10**9)
        assert 10**6 < found.facts.bytes < 10**9
        assert found.facts.listing["source"]["kind"] == "text"
        with pytest.raises(LimitError, match=r"^a: it takes .* more than this server's memory"):
            study(template, "a", LOADERS["a"], found.facts.bytes // 2)
    finally:
        template.close()


def test_sizes_may_have_units() -> None:
    assert serving_config(["memory=500MB", "upload=1.5mb"]).memory == 500_000_000
    assert serving_config(["upload=1.5mb", "held=2_000"]).upload == 1_500_000
    with pytest.raises(SeqloomError):
        serving_config(["memory=lots"])


def test_a_limit_that_is_misspelt() -> None:
    with pytest.raises(SeqloomError, match=r"did you mean memory\?"):
        serving_config(["memry=4GB"])
    with pytest.raises(SeqloomError, match="with NAME one of inputs, characters,"):
        serving_config(["memory"])


class SlowOwner:
    """Loads nothing, when it is let to."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.loaded: set[str] = set()
        self.most = 0
        self.evictions = 0

    def load_model(self, name: str, load: Callable[[], Any]) -> None:
        self.may.wait(20)
        self.loaded.add(name)
        self.most = max(self.most, len(self.loaded))

    def remove_model(self, name: str) -> None:
        self.loaded.remove(name)

    def on_load(self, model: str) -> None:
        assert model in self.loaded

    def on_removal(self, model: str) -> None:
        assert model not in self.loaded

    def on_eviction(self, model: str) -> None:
        self.evictions += 1


def pool_of(owner: SlowOwner, limit: int, sizes: dict[str, int], waiting: int = 8) -> ModelPool:
    stored = {name: StoredModel(fails, facts(size)) for name, size in sizes.items()}
    return ModelPool(stored, limit, owner, owner, most_waiting=waiting)


def test_who_waits_for_a_model_has_a_deadline_and_a_queue() -> None:
    """A request that waited in vain holds nothing; one too many is told to come back."""

    async def check() -> None:
        owner = SlowOwner()
        pool = pool_of(owner, 1, {"a": 1, "b": 1}, waiting=2)
        with pytest.raises(TimeoutError):
            await pool.acquire("a", 0.05, Disconnection())
        waiting = [asyncio.create_task(pool.acquire("a", 20, Disconnection())) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await pool.acquire("b", 20, Disconnection())
        waiting.pop().cancel()
        owner.may.set()
        release = await waiting[0]
        with pytest.raises(TimeoutError):
            await pool.acquire("b", 0.05, Disconnection())
        release()
        release()  # only the first counts
        (await pool.acquire("b", 20, Disconnection()))()
        assert owner.loaded == {"b"}

    asyncio.run(check())


def test_a_client_that_goes_waits_for_no_model() -> None:
    """Its place among those who wait is free at once, and the model is not loaded for it."""

    async def check() -> None:
        owner = SlowOwner()
        pool = pool_of(owner, 1, {"a": 1, "b": 1, "c": 1}, waiting=2)
        first = asyncio.create_task(pool.acquire("a", 20, Disconnection()))
        client = Disconnection()
        second = asyncio.create_task(pool.acquire("b", 20, client))
        await asyncio.sleep(0)
        client.happen()
        with pytest.raises(RequestCancelled):
            await asyncio.wait_for(second, 5)
        with pytest.raises(RequestCancelled):  # it may have gone before
            await asyncio.wait_for(pool.acquire("b", 20, client), 5)
        third = asyncio.create_task(pool.acquire("c", 20, Disconnection()))
        owner.may.set()
        (await first)()
        (await third)()
        assert [each.loads for each in pool] == [1, 0, 1]

    asyncio.run(check())


async def wanted_while_busy(
    pool: ModelPool, client: Disconnection, seconds: float
) -> tuple[Callable[[], None], asyncio.Task[Callable[[], None]]]:
    """The first model in use and about to make room, for a request that waits for the second."""
    busy, wanted = islice(pool, 2)
    release = await pool.acquire(busy.name, 20, Disconnection())
    waiting = asyncio.create_task(pool.acquire(wanted.name, seconds, client))
    while not (busy.is_leaving or waiting.done()):
        await asyncio.sleep(0)
    return release, waiting


@pytest.mark.parametrize("way", ["deadline", "client", "cancelled"])
def test_no_model_makes_room_for_those_who_have_given_up(way: str) -> None:
    """One in use takes requests again when nobody waits for its place any more."""

    async def check() -> None:
        owner = SlowOwner()
        owner.may.set()
        pool = pool_of(owner, 1, {"a": 1, "b": 1})
        client = Disconnection()
        seconds = 0.2 if way == "deadline" else 20
        release, waiting = await wanted_while_busy(pool, client, seconds)
        if way == "client":
            client.happen()
        elif way == "cancelled":
            waiting.cancel()
        await asyncio.wait([waiting])
        (await pool.acquire("a", 5, Disconnection()))()
        assert [each.loads for each in pool] == [1, 0]
        release()

    asyncio.run(check())


def test_the_limit_holds_whatever_is_asked() -> None:
    """By sizes: a large one drives out as many as it must, and no more than fit are ever loaded."""

    async def check() -> None:
        owner = SlowOwner()
        owner.may.set()
        sizes = {"a": 1, "b": 1, "c": 1, "large": 3}
        pool = pool_of(owner, 3, sizes, waiting=100)

        async def use(name: str) -> None:
            release = await pool.acquire(name, 20, Disconnection())
            assert name in owner.loaded
            assert sum(sizes[each] for each in owner.loaded) <= 3
            await asyncio.sleep(0.001)
            assert name in owner.loaded
            release()

        names = [*sizes] * 20
        await asyncio.gather(*(use(name) for name in names))
        for name in ("a", "b", "c", "b", "a"):
            await use(name)
        assert owner.loaded == {"a", "b", "c"}
        await use("large")
        assert owner.loaded == {"large"}

    asyncio.run(check())


def test_a_model_is_as_stored_from_the_next_request_on() -> None:
    """After a reload, whatever is under way ends by the old one first."""

    async def check() -> None:
        owner = SlowOwner()
        owner.may.set()
        pool = pool_of(owner, 1, {"a": 1})
        release = await pool.acquire("a", 20, Disconnection())
        renewing = asyncio.create_task(pool.renew("a", StoredModel(fails, facts(1))))
        await asyncio.sleep(0)
        later = asyncio.create_task(pool.acquire("a", 20, Disconnection()))
        await asyncio.sleep(0.02)
        assert not later.done()
        release()
        await renewing
        (await later)()
        (model,) = pool
        assert (model.loads, json.dumps(model.status())[:15]) == (2, '{"loaded": true')
        assert model.evictions == owner.evictions == 0  # it was not given up for others

    asyncio.run(check())


def test_other_models_come_while_one_is_replaced() -> None:
    """Its requests under way hold nobody up but those who ask for it, who have the new one."""

    async def check() -> None:
        owner = SlowOwner()
        owner.may.set()
        pool = pool_of(owner, 2, {"a": 1, "b": 1, "c": 1})
        release = await pool.acquire("a", 20, Disconnection())
        renewing = asyncio.create_task(pool.renew("a", StoredModel(fails, facts(2))))
        await asyncio.sleep(0)
        later = asyncio.create_task(pool.acquire("a", 20, Disconnection()))
        for name in "bc":
            (await pool.acquire(name, 5, Disconnection()))()
        assert [renewing.done(), later.done()] == [False, False]
        assert owner.loaded == {"a", "c"}
        release()
        await renewing
        (await later)()
        assert owner.loaded == {"a"}
        assert [(each.bytes, each.loads) for each in pool] == [(2, 2), (1, 1), (1, 1)]

    asyncio.run(check())


def test_who_waits_when_a_model_is_replaced_has_the_new_one() -> None:
    """Also those who asked while it was in use and about to make room."""

    async def check() -> None:
        owner = SlowOwner()
        owner.may.set()
        pool = pool_of(owner, 1, {"a": 1, "b": 1})
        client = Disconnection()
        release, other = await wanted_while_busy(pool, client, 20)
        before = asyncio.create_task(pool.acquire("a", 20, Disconnection()))
        await asyncio.sleep(0)
        renewing = asyncio.create_task(pool.renew("a", StoredModel(fails, facts(1))))
        await asyncio.sleep(0)
        client.happen()
        await asyncio.wait([other])
        release()
        await renewing
        (await before)()
        assert [each.loads for each in pool] == [2, 0]

    asyncio.run(check())
