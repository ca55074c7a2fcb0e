"""S2.6, S8: two stacks that read towards a position and never show it itself."""

import torch
from torch import nn

from seqloom.nn.recurrent import AroundStack, RecurrentStack, StackOptions
from seqloom.nn.units import Gru, Lstm
from tests.nn.parts import stirred, values

INPUTS, WIDTH = 3, 4
LENGTHS = torch.tensor([5, 1, 3, 7])


def around(
    layers: int = 2, unit: type[Lstm] | type[Gru] = Lstm, *, residual: bool = False
) -> AroundStack:
    torch.manual_seed(layers)
    return stirred(
        AroundStack(
            INPUTS, WIDTH, unit, StackOptions(layers, residual=residual, layer_norm=residual)
        )
    )


def test_no_position_is_shown_itself_and_every_other_is() -> None:
    """The derivative of an output by its own input is zero; by each other real one it is not."""
    for unit in (Lstm, Gru):
        for residual in (False, True):
            built = around(unit=unit, residual=residual)
            inputs = values(4, 7, INPUTS).requires_grad_()
            outputs, _ = built(inputs, lengths=LENGTHS)
            for row, length in enumerate(LENGTHS.tolist()):
                for place in range(length):
                    (slope,) = torch.autograd.grad(
                        outputs[row, place].square().sum(), inputs, retain_graph=True
                    )
                    seen = slope[row].ne(0).any(dim=1).tolist()
                    assert seen == [n != place and n < length for n in range(7)]
                    assert not slope[torch.arange(4) != row].any()


def test_it_is_one_stack_in_each_direction_a_step_away() -> None:
    """What a forward stack says of all before, and a backward one of all after."""
    built, inputs = around(), values(4, 7, INPUTS)
    outputs, finals = built(inputs, lengths=LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        one = inputs[row : row + 1, :length]
        before, left = built.before(one)
        after, right = built.after(one)
        for place in range(length):
            nothing = torch.zeros(WIDTH, dtype=inputs.dtype)
            past = before[0, place - 1] if place else nothing
            future = after[0, place + 1] if place + 1 < length else nothing
            torch.testing.assert_close(outputs[row, place], torch.cat([past, future]))
        for final, *both in zip(finals, left, right, strict=True):
            torch.testing.assert_close(final[row], torch.cat(both, dim=-1)[0])


def test_padding_never_enters() -> None:
    """S1.6: neither what is in it nor how much of it there is; products of another size may
    round otherwise."""
    built, inputs = around(), values(4, 7, INPUTS)
    outputs, _ = built(inputs, lengths=LENGTHS)
    real = torch.arange(7) < LENGTHS[:, None]
    changed = torch.where(real[:, :, None], inputs, 1e6)
    wider = torch.cat([changed, values(4, 5, INPUTS)], dim=1)
    for other, rounding in ((changed, 0.0), (wider, 1e-12)):
        again, _ = built(other, lengths=LENGTHS)
        torch.testing.assert_close(again[:, :7][real], outputs[real], rtol=0, atol=rounding)


def test_it_is_made_of_as_many_weights_as_two_stacks() -> None:
    def count(module: nn.Module) -> int:
        return sum(each.numel() for each in module.parameters())

    one = RecurrentStack(INPUTS, WIDTH, Lstm, StackOptions(2))
    assert count(around()) == 2 * count(one)
