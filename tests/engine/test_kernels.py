"""Each kernel by itself: against float64, and across instruction sets."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.engine.library import address, core, instruction_set, instruction_sets
from seqloom.engine.matrices import BLOCK, Matrix, Norm, Precision, pad_to, round_up

each_set = pytest.mark.parametrize("instructions", instruction_sets())
ROWS = (1, 2, 3, 5, 6, 7, 13, 64)
SHAPES = ((16, 1), (32, 64), (48, 65), (256, 200))  # inputs, outputs


def gelu(values: np.ndarray) -> np.ndarray:
    from math import erf

    shares = (1 + np.vectorize(erf)(values / np.sqrt(2))) / 2
    return np.asarray(values * shares)


ACTIVATIONS: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {
    "identity": (0, lambda x: x),
    "relu": (1, lambda x: np.maximum(x, 0)),
    "gelu": (2, gelu),
    "tanh": (4, np.tanh),
    "sigmoid": (5, lambda x: 1 / (1 + np.exp(-x))),
    "swish": (6, lambda x: x / (1 + np.exp(-x))),
}


def drawn(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def multiply(
    matrix: Matrix, values: np.ndarray, *, activation: int = 0, to: np.ndarray | None = None
) -> np.ndarray:
    """The product by the core, added to what is there if anything is."""
    out = np.zeros((len(values), round_up(matrix.outputs, BLOCK)), dtype=np.float32)
    if to is not None:
        out[:, : matrix.outputs] = to
    structure = matrix.structure()
    core().sl_multiply(
        structure, address(values), len(values), address(out), activation, to is not None
    )
    return out[:, : matrix.outputs]


@each_set
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_products_of_floats(inputs: int, outputs: int, activation: str, instructions: str) -> None:
    """Bias, activation and residual sum, for every number of rows that tiles are cut into."""
    weights, bias = drawn(outputs, inputs), drawn(outputs, seed=2)
    matrix = Matrix.pack(weights, bias)
    number, function = ACTIVATIONS[activation]
    for rows in ROWS:
        values, before = drawn(rows, inputs, seed=rows), drawn(rows, outputs, seed=4)
        plain = values.astype(np.float64) @ weights.T.astype(np.float64) + bias
        expected = function(plain) + before
        with instruction_set(instructions):
            found = multiply(matrix, values, activation=number, to=before)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.sqrt(inputs))


def halves(values: np.ndarray) -> np.ndarray:
    """Each value to the nearest bfloat16, by torch."""
    return torch.from_numpy(values).bfloat16().double().numpy()


@each_set
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_products_of_bfloat16(inputs: int, outputs: int, instructions: str) -> None:
    """Weights and inputs are rounded as torch rounds them, and nothing else is."""
    weights, bias = drawn(outputs, inputs), drawn(outputs, seed=2)
    matrix = Matrix.pack(weights, bias, precision="bfloat16")
    for rows in ROWS:
        values = drawn(rows, inputs, seed=rows)
        with instruction_set(instructions):
            found = multiply(matrix, values)
        expected = halves(values) @ halves(weights).T + bias
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.sqrt(inputs))


@each_set
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_sums_of_bytes_are_exact(inputs: int, outputs: int, instructions: str) -> None:
    """Every instruction set gives the whole numbers of plain arithmetic, at the extremes too."""
    weights = drawn(outputs, inputs)
    weights[0] = np.where(np.arange(inputs) % 2, 1.0, -1.0)  # all of the largest size
    matrix = Matrix.pack(weights, precision="int8", keep_rows=True)
    assert matrix.rows is not None
    for rows in ROWS:
        bytes_ = np.random.default_rng(rows).integers(1, 256, (rows, inputs), dtype=np.uint8)
        bytes_[0], bytes_[-1] = 255, 1
        sums = np.zeros((rows, round_up(outputs, BLOCK)), dtype=np.int32)
        with instruction_set(instructions):
            core().sl_products(matrix.structure(), address(bytes_), rows, address(sums))
        expected = (bytes_.astype(np.int64) - 128) @ matrix.rows.T.astype(np.int64)
        assert np.array_equal(sums[:, :outputs], expected)


@each_set
@given(seed=st.integers(0, 2**31), size=st.floats(1e-30, 1e30), rows=st.integers(1, 9))
@settings(max_examples=25)
def test_bytes_are_the_nearest(instructions: str, seed: int, size: float, rows: int) -> None:
    """Quantised rows are those of numpy, to the bit, whatever their size; rows of 0 stay 0."""
    values = drawn(rows, 48, seed=seed) * np.float32(size)
    values[0] = 0
    bytes_ = np.empty(values.shape, dtype=np.uint8)
    scales = np.empty(rows, dtype=np.float32)
    with instruction_set(instructions):
        core().sl_quantise(address(values), rows, 48, address(bytes_), address(scales))
    most = np.abs(values).max(axis=1)
    with np.errstate(divide="ignore"):
        inverse = np.where(most > 0, np.float32(127) / most, np.float32(0)).astype(np.float32)
    expected = np.rint(values * inverse[:, None]) + 128
    assert np.array_equal(bytes_, expected.astype(np.uint8))
    assert np.array_equal(scales, (most / np.float32(127)).astype(np.float32))


@each_set
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_products_of_bytes_are_near(inputs: int, outputs: int, instructions: str) -> None:
    """What rounding to bytes costs: half a step of each factor's scale for every product."""
    weights, bias = drawn(outputs, inputs), drawn(outputs, seed=2)
    matrix = Matrix.pack(weights, bias, precision="int8")
    values = drawn(7, inputs, seed=3)
    expected = values.astype(np.float64) @ weights.T.astype(np.float64) + bias
    with instruction_set(instructions):
        found = multiply(matrix, values)
    steps = np.abs(values).max(axis=1)[:, None] * np.abs(weights).max(axis=1) / 127
    assert np.all(np.abs(found - expected) <= steps * inputs)  # the worst that there can be
    error = np.abs(found - expected) / steps
    assert error.mean() < np.sqrt(inputs)  # and what is usual


@each_set
@pytest.mark.parametrize("width", [1, 5, 16, 33, 256])
def test_layer_norm(width: int, instructions: str) -> None:
    values, gain, bias = drawn(9, width) * 3 + 1, drawn(width, seed=2), drawn(width, seed=3)
    norm = Norm.of(gain, bias, 1e-5)
    padded = pad_to(values, 9, round_up(width, BLOCK))
    out = np.empty_like(padded)
    with instruction_set(instructions):
        core().sl_normalise(norm.structure(), address(padded), 9, address(out))
    exact = values.astype(np.float64)
    centred = exact - exact.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out[:, :width], centred / scale * gain + bias, atol=2e-5)


@each_set
@pytest.mark.parametrize("count", [1, 3, 16, 17, 40])
def test_softmax(count: int, instructions: str) -> None:
    """Shares of 1, exactly 0 in what fills up the last lanes, for scores of any size."""
    room = round_up(count)
    for size in (0.1, 5.0, 300.0):
        scores = drawn(6, room, seed=count) * np.float32(size)
        exact = scores[:, :count].astype(np.float64)
        shares = np.exp(exact - exact.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        with instruction_set(instructions):
            core().sl_softmax(address(scores), 6, count, room)
        np.testing.assert_allclose(scores[:, :count], shares, atol=1e-6)
        assert np.all(scores[:, count:] == 0)


@each_set
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize(("outputs", "count"), [(1, 1), (5, 5), (64, 3), (100, 10), (1000, 40)])
def test_the_best_outputs_and_the_sum_of_all(
    outputs: int, count: int, precision: Precision, instructions: str
) -> None:
    """The largest logits in order, and the logarithmic sum, are those of the logits themselves."""
    matrix = Matrix.pack(
        drawn(outputs, 32), drawn(outputs, seed=5) * 20, precision=precision, missing=-np.inf
    )
    values = drawn(13, 32, seed=6)
    best = np.empty((13, count), dtype=np.float32)
    where, norms = np.empty((13, count), dtype=np.int32), np.empty(13, dtype=np.float32)
    with instruction_set(instructions):
        logits = multiply(matrix, values)
        core().sl_best(
            matrix.structure(),
            address(values),
            13,
            count,
            address(best),
            address(where),
            address(norms),
        )
    order = np.argsort(-logits, axis=1, kind="stable")[:, :count]
    assert np.array_equal(where, order)
    assert np.array_equal(best, np.take_along_axis(logits, order, axis=1))
    exact = np.log(np.exp(logits.astype(np.float64)).sum(axis=1))
    np.testing.assert_allclose(norms, exact, atol=1e-5)


@each_set
def test_ties_go_to_the_lower_index(instructions: str) -> None:
    """Equal logits keep the order of their columns."""
    matrix = Matrix.pack(
        np.zeros((200, 16), np.float32), np.repeat([1.0, 2.0], 100), missing=-np.inf
    )
    values = np.ones((2, 16), dtype=np.float32)
    best, where = np.empty((2, 5), np.float32), np.empty((2, 5), np.int32)
    norms = np.empty(2, np.float32)
    with instruction_set(instructions):
        core().sl_best(
            matrix.structure(), address(values), 2, 5, address(best), address(where), address(norms)
        )
    assert where.tolist() == [[100, 101, 102, 103, 104]] * 2


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(ValueError, match="no instruction set named 'abacus'"):
        instruction_set("abacus").__enter__()
