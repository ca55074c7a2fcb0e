"""A small request begins as soon as a worker has it: no step of a large one comes before."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from seqloom.prediction import PredictionRequest, TextPredictor
from seqloom.scheduling.errors import ProcessLost
from seqloom.scheduling.jobs import SMALL_COST, Event, Job, Ticket
from seqloom.scheduling.processes import Process
from seqloom.scheduling.templates import ProcessTemplate
from seqloom.scheduling.worker import Worker
from seqloom.search import Beam
from tests.prediction.untrained import SOURCES, untrained

MODEL = untrained("transformer")
Told = list[tuple[Job, Event]]


class Steps:
    """Gives a worker what a test plans, and notes the rows of each step that it makes."""

    def __init__(self, plan: Callable[["Steps"], list[Ticket] | None]) -> None:
        self.plan = plan
        self.rows: list[int] = []

    @property
    def watch(self) -> "Steps":
        return self

    def on_step(self, sentences: int, rows: int, seconds: float) -> None:
        self.rows.append(rows)

    def on_join(self, sentences: int) -> None: ...

    def on_loss(self, process: int) -> None: ...

    def on_replacement(self, process: int) -> None: ...

    def take(self, worker: Worker) -> list[Ticket] | None:
        return self.plan(self)

    def remove_expired(self) -> Told:
        return []

    def generation(self, name: str) -> int:
        return 0

    def text_predictor(self, name: str) -> TextPredictor:
        return MODEL

    def template_for(self, name: str) -> ProcessTemplate | None:
        return None

    def keeps(self, template: ProcessTemplate) -> bool:
        return True

    def new_process(self, template: ProcessTemplate) -> Process | None:
        raise ProcessLost("there is none")


def ticket(told: Told, width: int, cost: float) -> Ticket:
    """An input that is searched by so many paths."""
    asked = MODEL.decoding_request(PredictionRequest(Beam(width)))
    (encoded,) = MODEL.input_reader.read_all(SOURCES[:1]).encoded
    job = Job("model", float("inf"), told.extend, cost=cost)
    return Ticket(job, encoded, asked, rows=width, cost=cost)


@pytest.mark.parametrize("before", [0, 1, 3], ids="{} rounds".format)
def test_no_step_of_a_large_request_comes_before(before: int) -> None:
    """Neither where both are taken at once, the large one first, nor where it is under way."""
    told: Told = []
    large, small = ticket(told, 6, SMALL_COST + 1), ticket(told, 2, SMALL_COST)
    taking = count()
    came: list[int] = []

    def plan(source: Steps) -> list[Ticket] | None:
        number = next(taking)
        taken = [large] * (number == 0) + [small] * (number == before)
        if small in taken:
            came.append(len(source.rows))
        return taken if number <= before or not ended() else None

    def ended() -> bool:
        return {job for job, event in told if event.outputs} == {large.job, small.job}

    source = Steps(plan)
    Worker(source).run()
    assert source.rows[came[0]] == 2
    assert not any(event.error for _, event in told)


def test_large_requests_go_on_beside_small_ones() -> None:
    """However many small ones come, one after the other."""
    told: Told = []
    large = ticket(told, 6, SMALL_COST + 1)
    small: Iterator[int] = count()

    def plan(source: Steps) -> list[Ticket] | None:
        if any(job is large.job and event.outputs for job, event in told):
            return None
        number = next(small)
        assert number < 1_000
        return (
            [large, ticket(told, 2, SMALL_COST)] if number == 0 else [ticket(told, 2, SMALL_COST)]
        )

    Worker(Steps(plan)).run()
