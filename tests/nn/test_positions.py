"""SPEC S5.3, S10: sines and cosines of positions, against the worked numbers."""

import math

import pytest
import torch

from seqloom.nn.positions import sinusoids


def test_the_worked_example() -> None:
    """SPEC S10: p_e = 4, t = 1."""
    row = sinusoids(torch.tensor([1]), 4)[0].tolist()
    assert row == pytest.approx([0.841471, 0.540302, 0.00999983, 0.99995], abs=5e-7)


def test_neighbours_are_as_far_apart_as_worked_out_and_all_have_one_length() -> None:
    """SPEC S10: p_e = 768: ‖r_51 − r_50‖ = 4.523235, ‖r_t‖² = 384."""
    rows = sinusoids(torch.tensor([50, 51, 1, 999, 100_000]), 768).double()
    assert float((rows[1] - rows[0]).norm()) == pytest.approx(4.523235, abs=5e-7)
    assert rows.square().sum(-1).tolist() == pytest.approx([384.0] * 5)


@pytest.mark.parametrize("width", [2, 6, 10])
def test_every_value_is_that_of_the_formula(width: int) -> None:
    """r_{2i} = sin(t / M^{2i/p}), r_{2i+1} = cos of the same, M = 10,000, for any shape of t."""
    positions = torch.tensor([[1, 2, 7], [30, 500, 4_000]])
    rows = sinusoids(positions, width)
    assert rows.shape == (2, 3, width)
    for row, t in zip(rows.flatten(0, 1).tolist(), positions.flatten().tolist(), strict=True):
        for i in range(width // 2):
            angle = t / 10_000 ** (2 * i / width)
            assert row[2 * i] == pytest.approx(math.sin(angle), abs=1e-7)
            assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-7)
