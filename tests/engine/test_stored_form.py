"""Stored forms of models in bytes: the same model again, or an error; drawn cases for the core."""

import random

import pytest
import torch

from seqloom.engine.loop import SearchLoop
from seqloom.engine.stored_form import StoredStack, check_sides, restore_stack, store_stack
from seqloom.errors import RunError
from seqloom.search import PER_TOKEN, Beam, Limits
from tests.engine.fuzzing import CASES
from tests.engine.models import KINDS, RECURRENT, small_model
from tests.engine.support import plan, rows_of, stacks

WITHOUT_SOURCE = [name for name in (*KINDS, *RECURRENT) if name.endswith("alone")]
STORED = [name for name in (*KINDS, *RECURRENT) if name not in WITHOUT_SOURCE]


@pytest.mark.parametrize("name", STORED)
@torch.no_grad()
def test_a_form_that_was_stored_gives_the_same_outputs(name: str) -> None:
    """Tokens and scores to the bit, though it holds no float32 weights."""
    model, source = small_model(name, 4)
    rows, search, limits = rows_of(source), Beam(3, PER_TOKEN), Limits(torch.full((4,), 7))
    made = stacks(model, "int8")
    forms = [store_stack(stack, positions=256) for stack in made]
    encoder, decoder = (restore_stack(form, "int8", place="form") for form in forms)
    check_sides(encoder, decoder, place="form")
    found = SearchLoop(encoder, decoder).run(rows, plan(search), limits)
    assert found == SearchLoop(*made).run(rows, plan(search), limits)


def test_a_decoder_that_lost_its_wiring_is_refused() -> None:
    """It would begin with a state of the size of an encoder's."""
    model, _ = small_model("lstm form e", 1)
    form = store_stack(stacks(model, "int8")[1], positions=256)
    values = {**form.values, "fields": {**form.values["fields"], "wiring": None}}
    with pytest.raises(RunError, match="no decoder"):
        restore_stack(StoredStack(values, form.arrays), "int8", place="form")


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_drawn_cases_hold_their_laws(name: str) -> None:
    """Sizes, searches, shortlists and damaged files as they come; scripts/sanitize draws more."""
    for number in range(40):
        CASES[name](random.Random(number))
