"""A conformance suite for whatever claims to be a recurrent unit (S2, RELIABILITY C4).

`check_unit` takes any unit and proves what stacks, encoders and decoders rest on, in float64. Each
law is a function of its own below.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from seqloom.nn.units import Unit, UnitState
from tests.nn.parts import stirred, values

__all__ = ["check_unit"]

EXACT = 1e-12  # of float64
CLOSE = 1e-4  # of float32
ROWS = 3
STEPS = 11  # enough for a loop that lays its weights out anew


@dataclass(frozen=True)
class Subject:
    """A unit whose weights are all far from zero and one, with inputs and a state to start from."""

    unit: Unit
    inputs: Tensor
    state: UnitState

    def read(self, inputs: Tensor | None = None, state: UnitState | None = None) -> list[Tensor]:
        """Outputs and the state after every step, in one list; of what is not given, its own."""
        outputs, states = self.unit(
            self.inputs if inputs is None else inputs, self.state if state is None else state
        )
        return [outputs, *states]

    def rows(self, chosen: Tensor) -> list[Tensor]:
        """What it gives for these rows alone."""
        return self.read(self.inputs[chosen], tuple(part[chosen] for part in self.state))


def check_unit(unit: Unit, inputs_size: int) -> None:
    """Prove every law for a unit that reads inputs of this size; the unit itself stays as it is."""
    torch.manual_seed(inputs_size)
    unit = stirred(deepcopy(unit))
    state = tuple(values(unit.parts, ROWS, unit.width).unbind())
    subject = Subject(unit, values(ROWS, STEPS, inputs_size), state)
    check_shapes(subject)
    check_zero_state(subject)
    check_steps_add_up(subject)
    check_state_is_recomputed(subject)
    check_rows_are_independent(subject)
    check_nothing_given_is_changed(subject)
    check_layout_in_memory_is_free(subject)
    check_reading_without_gradients(subject)
    check_gradients(subject)
    check_single_precision(subject)
    check_weights_are_all_it_has(subject)
    check_gates(subject)


def check_gates(subject: Subject) -> None:
    """Gates lie between 0 and 1 under their names; where they decide, the share of the state that
    they keep is its slope from step to step, once the state reaches it by no other way."""
    unit = deepcopy(subject.unit)
    for matrix in unit.recurrent_matrices().values():
        assert matrix.shape == (unit.width, unit.width)
        matrix.detach().zero_()
    inputs = subject.inputs[:, 0]
    gates = unit.gates(inputs, subject.state)
    assert tuple(gates) == unit.gate_names
    assert all(bool(((gate > 0) & (gate < 1)).all()) for gate in gates.values())
    kept = unit.retention(gates)
    assert (kept is None) == (not unit.gate_names)
    if kept is None:
        return
    state = (*subject.state[:-1], subject.state[-1].clone().requires_grad_())
    _, after = unit(inputs[:, None], state)
    (slope,) = torch.autograd.grad(after[-1].sum(), state[-1])
    agree([kept.detach()], [slope])


def agree(found: list[Tensor], expected: list[Tensor], tolerance: float = EXACT) -> None:
    """Compare to within a share of the largest number: units that do not squash can grow."""
    for one, other in zip(found, expected, strict=True):
        largest = max(1.0, other.abs().max().item())
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance * largest)


def check_shapes(subject: Subject) -> None:
    """An output of the unit's width at every step, and as many tensors of state as it says."""
    found = subject.read()
    assert len(found) == 1 + subject.unit.parts
    assert {tuple(each.shape) for each in found} == {(ROWS, STEPS, subject.unit.width)}


def check_zero_state(subject: Subject) -> None:
    """The state before anything was read is zero, a row for each of the inputs."""
    for kind in (torch.float32, torch.float64):
        state = subject.unit.zero_state(subject.inputs.to(kind))
        assert len(state) == subject.unit.parts
        for part in state:
            assert part.dtype is kind
            assert torch.equal(part, torch.zeros(ROWS, subject.unit.width, dtype=kind))


def check_steps_add_up(subject: Subject) -> None:
    """One call for all steps is as many calls for one, and any calls between."""
    expected = subject.read()
    for cuts in (range(STEPS + 1), (0, 1, 4, STEPS), (0, 10, STEPS)):
        found, state = [], subject.state
        for begin, end in pairwise(cuts):
            found.append(subject.read(subject.inputs[:, begin:end], state))
            state = tuple(part[:, -1] for part in found[-1][1:])
        agree([torch.cat(parts, dim=1) for parts in zip(*found, strict=True)], expected)


def check_state_is_recomputed(subject: Subject) -> None:
    """What is returned for step t is what reading t steps ends with; later inputs do not matter."""
    whole = subject.read()
    for t in range(1, STEPS + 1):
        agree([part[:, t - 1] for part in whole], [part[:, -1] for part in _first(subject, t)])


def _first(subject: Subject, steps: int) -> list[Tensor]:
    return subject.read(subject.inputs[:, :steps])


def check_rows_are_independent(subject: Subject) -> None:
    """Rows in another order give the same in that order, and so does a row without the others."""
    whole = subject.read()
    for chosen in ([2, 0, 1], [1], [2, 2]):
        rows = torch.tensor(chosen)
        agree(subject.rows(rows), [part[rows] for part in whole])


def check_nothing_given_is_changed(subject: Subject) -> None:
    """Neither inputs nor state nor what an earlier call returned is written to."""
    for mode in (torch.enable_grad, torch.no_grad):
        with mode():
            inputs = subject.inputs.clone()
            state = tuple(part.clone() for part in subject.state)
            first = subject.read(inputs, state)
            copies = [part.clone() for part in first]
            subject.read(inputs * 2, tuple(part[:, -1] for part in first[1:]))
            agree([inputs, *state, *first], [subject.inputs, *subject.state, *copies], 0)


def check_layout_in_memory_is_free(subject: Subject) -> None:
    """Inputs that lie in another order, or one state for all rows, are read like any other."""
    turned = subject.inputs.transpose(0, 1).contiguous().transpose(0, 1)
    agree(subject.read(turned), subject.read())
    shared = tuple(part[:1].expand(ROWS, -1) for part in subject.state)
    copied = tuple(part.contiguous() for part in shared)
    agree(subject.read(state=shared), subject.read(state=copied))


def check_reading_without_gradients(subject: Subject) -> None:
    """Numbers are the same where no gradient is wanted, for many steps and for one."""
    for steps in (STEPS, 1):
        expected = [part.detach() for part in _first(subject, steps)]
        with torch.no_grad():
            agree(_first(subject, steps), expected)
        with torch.inference_mode():
            agree(_first(subject, steps), expected)


def check_gradients(subject: Subject) -> None:
    """Of inputs, first state and every parameter, through outputs and states, as finite differences
    have them; a step's gradient does not need the steps after it."""
    parameters = dict(subject.unit.named_parameters())
    for steps in (1, 3):
        inputs = subject.inputs[:2, :steps].clone()
        state = [part[:2].clone() for part in subject.state]

        def read(inputs: Tensor, *rest: Tensor) -> list[Tensor]:
            first, given = rest[: subject.unit.parts], rest[subject.unit.parts :]
            named = dict(zip(parameters, given, strict=True))
            outputs, states = torch.func.functional_call(subject.unit, named, (inputs, first))
            return [outputs, *states]

        leaves = [leaf.requires_grad_() for leaf in (inputs, *state)]
        assert torch.autograd.gradcheck(read, (*leaves, *parameters.values()))


def check_single_precision(subject: Subject) -> None:
    """In float32 everything is close to what it is in float64, gradients included."""
    single = Subject(
        deepcopy(subject.unit).float(),
        subject.inputs.float(),
        tuple(part.float() for part in subject.state),
    )
    found = [part.double() for part in _with_gradients(single)]
    agree(found, list(_with_gradients(subject)), CLOSE)


def _with_gradients(subject: Subject) -> Iterator[Tensor]:
    found = subject.read()
    yield from found
    loss = sum((part.square().mean() for part in found), start=torch.zeros(()))
    yield from torch.autograd.grad(loss, list(subject.unit.parameters()))


def check_weights_are_all_it_has(subject: Subject) -> None:
    """A unit of the same make with other weights gives the same once they are loaded into it."""
    other = stirred(deepcopy(subject.unit))
    expected = subject.read()
    stranger = Subject(other, subject.inputs, subject.state)
    assert not torch.allclose(stranger.read()[0], expected[0])
    other.load_state_dict(subject.unit.state_dict())
    agree(stranger.read(), expected, 0)
    assert set(other.state_dict()) == {name for name, _ in other.named_parameters()}
