"""S2.6: stacks in one and both directions, against torch's packed ones; padding stays out."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.nn.embedding import Embedding, OutputLayer
from seqloom.nn.recurrent import Direction, RecurrentLayer, RecurrentStack, StackOptions, reverse
from seqloom.nn.units import Gru, Lstm
from tests.nn.parts import in_torch_s_order, lstm_weights, stirred, values

INPUTS, WIDTH = 3, 4
each_direction = pytest.mark.parametrize("both", [True, False], ids=["both", "forward"])
LENGTHS = torch.tensor([5, 1, 3, 7])


def stack(
    both: bool, *, inputs: int = INPUTS, width: int = WIDTH, layers: int = 2, dropout: float = 0.0
) -> RecurrentStack:
    torch.manual_seed(layers)
    options = StackOptions(layers, "both" if both else "forward", dropout)
    return stirred(RecurrentStack(inputs, width, Lstm, options))


def torch_stack(built: RecurrentStack, both: bool, layers: int) -> nn.LSTM:
    """Torch's own with the same weights; its second biases are zero."""
    reference = nn.LSTM(INPUTS, WIDTH, layers, batch_first=True, bidirectional=both).double()
    units = [unit for unit in built.modules() if isinstance(unit, Lstm)]
    sides = [f"_l{layer}{side}" for layer in range(layers) for side in ("", "_reverse")[: 1 + both]]
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    for unit, side in zip(units, sides, strict=True):
        weights = [in_torch_s_order(part.detach()) for part in lstm_weights(unit)]
        for name, weight in zip(names, [*weights, torch.zeros(4 * WIDTH)], strict=True):
            getattr(reference, name + side).data.copy_(weight)
    return reference


@each_direction
@pytest.mark.parametrize("layers", [1, 2])
def test_a_stack_is_torch_s_over_packed_sequences(both: bool, layers: int) -> None:
    """Outputs at real positions, and each row's last state at its own end (S2.6)."""
    built, inputs = stack(both, layers=layers), values(4, 7, INPUTS)
    outputs, finals = built(inputs, lengths=LENGTHS)
    packed = pack_padded_sequence(inputs, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, states = torch_stack(built, both, layers)(packed)
    expected, _ = pad_packed_sequence(expected, batch_first=True)
    real = torch.arange(7) < LENGTHS[:, None]
    torch.testing.assert_close(outputs[real], expected[real], rtol=0, atol=1e-12)
    for final, state in zip(finals, states, strict=True):
        side_by_side = state.unflatten(0, (layers, -1)).permute(2, 0, 1, 3).flatten(2)
        torch.testing.assert_close(final, side_by_side, rtol=0, atol=1e-12)


@each_direction
def test_padding_never_enters(both: bool) -> None:
    """Neither what is in it nor how much of it there is (S1.6); products of another size may
    round otherwise."""
    built, inputs = stack(both), values(4, 7, INPUTS)
    outputs, finals = built(inputs, lengths=LENGTHS)
    real = torch.arange(7) < LENGTHS[:, None]
    changed = torch.where(real[:, :, None], inputs, 1e6)
    wider = torch.cat([changed, values(4, 5, INPUTS)], dim=1)
    for other, rounding in ((changed, 0.0), (wider, 1e-12)):
        again, ends = built(other, lengths=LENGTHS)
        torch.testing.assert_close(again[:, :7][real], outputs[real], rtol=0, atol=rounding)
        for end, final in zip(ends, finals, strict=True):
            torch.testing.assert_close(end, final, rtol=0, atol=rounding)


def test_one_direction_goes_on_from_a_state() -> None:
    built, inputs = stack(both=False), values(4, 7, INPUTS)
    whole, finals = built(inputs)
    first, state = built(inputs[:, :3])
    second, ends = built(inputs[:, 3:], state)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole, rtol=0, atol=1e-12)
    for end, final in zip(ends, finals, strict=True):
        torch.testing.assert_close(end, final, rtol=0, atol=1e-12)


def test_the_stack_of_the_texts_has_its_shapes_and_sizes() -> None:
    """S10: a (4,7) batch, two layers of 16, vocabulary 10: output (4,7,10), two states of
    two layers, four rows and 16 (rows first here); S2.7: with p = q = 8, m = 20 it is 2,488."""
    embedding, output = Embedding(10, 6).double(), OutputLayer(16, 10, tied=None).double()
    built = stack(both=False, inputs=6, width=16)
    hidden, states = built(embedding(torch.randint(10, (4, 7))))
    assert output(hidden).shape == (4, 7, 10)
    assert [part.transpose(0, 1).shape for part in states] == [(2, 4, 16)] * 2
    parts = [stack(both=False, inputs=8, width=20, layers=1), OutputLayer(20, 8, tied=None)]
    assert sum(each.numel() for part in parts for each in part.parameters()) == 2_488


def test_reverse_turns_what_is_real_and_leaves_padding_behind() -> None:
    """S10: "I am going to read another chapter" → "chapter another read to going am I"."""
    words = ["I", "am", "going", "to", "read", "another", "chapter"]
    row = torch.arange(9.0).view(1, 9, 1)
    turned = reverse(row, torch.tensor([7])).flatten().int().tolist()
    assert " ".join(words[n] for n in turned[:7]) == "chapter another read to going am I"
    assert turned[7:] == [7, 8]


def test_reverse_undoes_itself_and_fits_each_row() -> None:
    inputs = values(4, 7, 2)
    turned = reverse(inputs, LENGTHS)
    assert torch.equal(reverse(turned, LENGTHS), inputs)
    for row, length in enumerate(LENGTHS.tolist()):
        assert torch.equal(turned[row, :length], inputs[row, :length].flip(0))
        assert torch.equal(turned[row, length:], inputs[row, length:])


def test_dropout_is_between_layers_only() -> None:
    """One layer has nothing between; of two, in training, the upper one's inputs are dropped."""
    inputs = values(4, 7, INPUTS)
    for layers in (1, 2):
        built = stack(both=False, layers=layers, dropout=0.5)
        still, (hidden, _) = built.eval()(inputs)
        moved, (dropped, _) = built.train()(inputs)
        assert torch.equal(still, moved) == (layers == 1)
        assert torch.equal(hidden[:, 0], dropped[:, 0])


def other_stack(
    options: StackOptions, *, inputs: int = INPUTS, width: int = WIDTH
) -> RecurrentStack:
    torch.manual_seed(2)
    return stirred(RecurrentStack(inputs, width, Gru, options))


def test_backward_is_forward_over_what_is_real_turned_round() -> None:
    """S2.6: the state after the last step is the one at a row's first position."""
    inputs = values(4, 7, INPUTS)
    backward = other_stack(StackOptions(2, "backward"))
    forward = other_stack(StackOptions(2, "forward"))
    outputs, finals = backward(inputs, lengths=LENGTHS)
    expected, ends = forward(reverse(inputs, LENGTHS), lengths=LENGTHS)
    real = torch.arange(7) < LENGTHS[:, None]
    turned = reverse(expected, LENGTHS)
    torch.testing.assert_close(outputs[real], turned[real], rtol=0, atol=1e-12)
    torch.testing.assert_close(finals, ends, rtol=0, atol=1e-12)
    first = outputs[:, 0]
    torch.testing.assert_close(finals[0][:, -1], first, rtol=0, atol=1e-12)


def test_residual_layers_add_what_they_read_and_norms_come_before_the_sum() -> None:
    """S2.6; the first layer's input has another size here and is not added."""
    inputs = values(2, 5, INPUTS)
    built = other_stack(StackOptions(3, residual=True, layer_norm=True))
    hidden = inputs
    for number, layer in enumerate(built.layers):
        assert isinstance(layer, RecurrentLayer)
        unit = layer.units[0]
        assert isinstance(unit, Gru)
        output, _ = unit(hidden, unit.zero_state(hidden))
        spread, middle = torch.std_mean(output, -1, correction=0, keepdim=True)
        weight, bias = layer.norm.parameters()
        normed = (output - middle) / (spread.square() + 1e-5).sqrt() * weight + bias
        hidden = normed + hidden if number else normed
    torch.testing.assert_close(built(inputs)[0], hidden, rtol=0, atol=1e-9)


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_a_learnt_first_state_is_the_one_it_starts_from(direction: Direction) -> None:
    """S2.6: initial states given or learnt, for each direction its own half."""
    inputs = values(4, 7, INPUTS)
    learnt = other_stack(StackOptions(2, direction, trainable_state=True))
    state = learnt.first_state(4)
    assert state is not None
    assert bool((state[0] != 0).all())
    outputs, finals = learnt(inputs, lengths=LENGTHS)
    again, ends = learnt(inputs, state, LENGTHS)
    torch.testing.assert_close((again, ends), (outputs, finals), rtol=0, atol=0)
    zero, _ = learnt(inputs, tuple(torch.zeros_like(part) for part in state), LENGTHS)
    assert bool(((zero - outputs).abs().amax() > 1e-3).all())
