"""The largest of many values, against a stable sort of them all."""

import pytest
import torch
from torch import Tensor

from seqloom.search.topk import LARGE_TABLE, SMALL_ROW, log_sum_exp, row_max, stable_topk

WIDTHS = [1, 2, 63, 64, 65, SMALL_ROW, SMALL_ROW + 1, 1_500, 5_000, 8_003]


def tables(rows: int, width: int) -> list[Tensor]:
    """Values that all differ, that are often equal, that are −∞ here and there, and all equal."""
    draw = torch.Generator().manual_seed(rows * width)
    plain = torch.randn(rows, width, generator=draw)
    gone = torch.rand(rows, width, generator=draw) < 0.5
    return [
        plain,
        torch.randint(0, 9, (rows, width), generator=draw).float(),
        plain.masked_fill(gone, -torch.inf),
        torch.zeros(rows, width),
        plain.sort(dim=1).values,
        plain.sort(dim=1, descending=True).values,
    ]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_the_largest_are_the_first_of_a_stable_sort(width: int, count: int) -> None:
    """S7.3: ties by lower index, in rows of any length."""
    for values in tables(7, width):
        best, where = stable_topk(values, count)
        order = values.sort(dim=1, descending=True, stable=True)
        assert torch.equal(best, order.values[:, :count])
        real = best > -torch.inf
        assert torch.equal(where[real], order.indices[:, :count][real])
        assert torch.equal(values.gather(1, where), best)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [1, 7, LARGE_TABLE // 1_000])
def test_the_likeliest_is_the_first_maximum(width: int, rows: int) -> None:
    for values in tables(rows, width):
        best, where = row_max(values)
        assert torch.equal(best, values.amax(dim=1))
        assert torch.equal(where, (values == best[:, None]).int().argmax(dim=1))


def test_impossible_forks_of_a_short_row_keep_their_order() -> None:
    """Where fewer are possible than wanted, the others come in the order of their places."""
    values = torch.tensor([[-torch.inf, 2.0, -torch.inf, -torch.inf, 5.0]])
    assert stable_topk(values, 4)[1].tolist() == [[4, 1, 0, 2]]


@pytest.mark.parametrize(("rows", "width"), [(3, 7), (40, 8_003), (300, 1_000), (1, 2**17 + 5)])
def test_sums_are_taken_in_parts(rows: int, width: int) -> None:
    values = 5 * torch.randn(rows, width, generator=torch.Generator().manual_seed(1))
    values[0, 0] = -torch.inf
    expected = values.double().logsumexp(dim=1)
    assert torch.allclose(log_sum_exp(values).double(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shift", [-1e4, -150.0, -60.0, 60.0, 150.0, 1e4])
def test_sums_of_any_size(shift: float) -> None:
    """Exponentials beyond the range of single precision do not spoil the sum of their row or of
    another; a row of impossible tokens sums to nothing, and what is no number stays none."""
    values = torch.randn(4, 2_000, generator=torch.Generator().manual_seed(2))
    values[1] += shift
    values[2] = -torch.inf
    values[3, 7] = torch.nan
    found = log_sum_exp(values)
    expected = values.double().logsumexp(dim=1)
    assert torch.allclose(found[:2].double(), expected[:2], rtol=1e-6, atol=1e-5)
    assert float(found[2]) == -torch.inf
    assert bool(found[3].isnan())
