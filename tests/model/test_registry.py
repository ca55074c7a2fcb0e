"""Every choice has a part that implements it, and a part from elsewhere is built like any other."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

import seqloom.config as options
from seqloom.config import SCORES, UNITS, UnitOptions
from seqloom.fields import Symbols
from seqloom.model import build_sequence_model
from seqloom.nn.attention import Attention, ScoreFunction, ScoreSizes
from seqloom.nn.units import Unit, UnitState
from seqloom.registry import Family
from tests.model.models import recurrent
from tests.unit_checks import check_unit

FAMILIES = [
    *("UNITS", "SCORES", "ATTENTIONS", "POSITIONS", "ENCODERS", "DECODERS", "HEADS"),
    *("FRONT_ENDS", "OPTIMIZERS", "SCHEDULES", "FORCING"),
]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_choice_has_a_part(name: str) -> None:
    family: Family[Any, Any] = getattr(options, name)
    assert family.kinds()
    assert all(callable(family.part_of(kind)) for kind in family.kinds())


class LeakyOptions(UnitOptions):
    """The options of a unit from elsewhere."""

    kind: Literal["leaky"] = "leaky"
    share: float = 0.5


class Leaky(Unit):
    """`h_t = a h_{t-1} + (1-a) tanh(W x_t)`."""

    def __init__(self, inputs: int, width: int, share: float) -> None:
        super().__init__()
        self.width, self.share = width, share
        self.project = nn.Linear(inputs, width)

    @classmethod
    def build(cls, options: LeakyOptions, inputs: int, width: int) -> "Leaky":
        return cls(inputs, width, options.share)

    def forward(self, inputs: Tensor, state: UnitState) -> tuple[Tensor, tuple[Tensor, ...]]:
        (hidden,), steps = state, []
        for value in self.project(inputs).tanh().unbind(1):
            hidden = self.share * hidden + (1 - self.share) * value
            steps.append(hidden)
        states = torch.stack(steps, dim=1)
        return states, (states,)


class NegativeDistance(ScoreFunction):
    """`-|q - k|²`, between vectors of one size."""

    @classmethod
    def build(cls, options: Any, sizes: ScoreSizes) -> "NegativeDistance":
        return cls()

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return -torch.cdist(queries, prepared).square()


@pytest.fixture
def registered() -> Iterator[None]:
    """A unit and a score of one's own, for as long as a test lasts."""
    UNITS.options("leaky")(LeakyOptions)
    UNITS.part("leaky")(Leaky)
    SCORES.part("distance")(NegativeDistance)
    yield
    del UNITS._options["leaky"], UNITS._parts["leaky"], SCORES._parts["distance"]


@pytest.mark.usefixtures("registered")
def test_a_unit_and_a_score_of_ones_own_are_built_by_name() -> None:
    """They are where the configuration says, with their options, and keep the laws of units."""
    unit = {"kind": "leaky", "share": 0.25}
    config = recurrent(
        {"unit": unit}, {"unit": unit, "width": 6, "attention": {"score": "distance"}}
    )
    model = build_sequence_model(config, source=Symbols(9), target=Symbols(7))
    units = [each for each in model.modules() if isinstance(each, Leaky)]
    assert [each.share for each in units] == [0.25] * 3
    looks = [each for each in model.modules() if isinstance(each, Attention)]
    assert [type(each.score) for each in looks] == [NegativeDistance]
    check_unit(Leaky(2, 3, 0.25), inputs_size=2)
