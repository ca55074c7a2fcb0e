"""S3.4, S3.5: front ends over pixels and frames."""

import pytest
import torch
from torch import nn

from seqloom.nn.convolution import (
    FrameConvolutions,
    Grid,
    GridVectors,
    PictureConvolutions,
    SpectrumMask,
    Warp,
)
from seqloom.nn.positions import sinusoids


@pytest.mark.parametrize(
    ("grid", "vectors"), [("cells", 4 * 6), ("columns", 6), ("one", 1), ("whole", 1)]
)
def test_a_picture_becomes_a_grid(grid: Grid, vectors: int) -> None:
    """Each stage halves both sides; columns and the one are means of the cells, and each vector has
    its place added: a cell its row and column, a column itself, the one nothing. The whole is a
    map of all."""
    torch.manual_seed(1)
    maps = PictureConvolutions(3, (4, 6))(torch.randn(2, 3, 16, 24)).double()
    assert maps.shape == (2, 6, 4, 6)
    made = GridVectors(grid, (6, 4, 6)).double()
    found = made(maps)
    assert found.shape == (2, vectors, 6)
    cells = maps.permute(0, 2, 3, 1)
    down, across = (sinusoids(torch.arange(1, n), 3, base=100.0) for n in (5, 7))
    expected = {
        "cells": cells
        + torch.cat([down[:, None].expand(4, 6, 3), across[None].expand(4, 6, 3)], dim=2),
        "columns": cells.mean(1) + sinusoids(torch.arange(1, 7), 6, base=100.0),
        "one": cells.mean((1, 2)),
    }
    if isinstance(made.map, nn.Linear):
        mapped = maps.flatten(1) @ made.map.weight.T + made.map.bias
        expected["whole"] = sum(
            (each - each.mean(1, keepdim=True))
            / (each.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
            for each in (mapped, cells.amax((1, 2)))
        )
    torch.testing.assert_close(found, expected[grid].view_as(found))


@torch.no_grad()
def test_no_two_cells_of_a_plain_picture_are_the_same() -> None:
    """What looks alike everywhere can be told apart by its place."""
    cells = GridVectors("cells", (8, 5, 9))(torch.ones(1, 8, 5, 9))[0]
    assert torch.cdist(cells, cells).add(torch.eye(45)).min() > 0.01


@torch.no_grad()
def test_frames_are_halved_and_padding_does_not_leak() -> None:
    """A recording gives the same vectors alone and beside longer ones, whatever the padding."""
    torch.manual_seed(2)
    front = FrameConvolutions(5, 8, halvings=2).double()
    lengths = torch.tensor([13, 1, 8])
    frames = torch.randn(3, 13, 5, dtype=torch.float64)
    together, kept = front(frames, lengths)
    assert kept.tolist() == [4, 1, 2]
    for row, length in enumerate(lengths.tolist()):
        alone, _ = front(frames[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(together[row, : kept[row]], alone[0], rtol=0, atol=1e-12)
        assert not together[row, kept[row] :].any()


def pulled(warp: Warp, count: int, frames: int = 1) -> torch.Tensor:
    """How many pixels across and down each pixel within a picture of 12 × 30 comes from.

    Pixels hold their own place, of which means between neighbours tell the places between."""
    across, down = torch.arange(30.0).expand(12, 30), torch.arange(12.0)[:, None].expand(12, 30)
    places = torch.stack([across, down]).expand(count, -1, -1, -1)
    moved: torch.Tensor = (warp(places, frames) - places)[:, :, 3:-3, 3:-3]
    return moved


def test_pictures_are_pulled_about_in_training_only() -> None:
    """No further than asked, either way, and neighbours together; not at all in use."""
    warp = Warp(0.2)
    torch.manual_seed(7)
    moved = pulled(warp, 200)
    assert 2.0 < moved.max() <= 2.4
    assert -2.4 <= moved.min() < -2.0
    assert moved.mean().abs() < 0.1
    mesh = 12 / 2
    assert moved.diff(dim=2).abs().max() <= 2 * 2.4 / mesh * 1.2
    assert not pulled(warp.eval(), 5).any()
    assert not pulled(Warp(0.0), 5).any()


def test_frames_of_a_video_are_pulled_alike() -> None:
    """What moves in a video is the video's own."""
    torch.manual_seed(8)
    first, second = pulled(Warp(0.1), 6, frames=3).reshape(2, 3, -1)
    assert (first == first[:1]).all()
    assert (second == second[:1]).all()
    assert (first != second).any()


def test_the_page_comes_in_from_outside() -> None:
    """Where a picture is pulled inwards, what appears is 0: paper."""
    torch.manual_seed(9)
    inked = Warp(0.3)(-torch.ones(20, 1, 8, 8))
    assert inked.min() == -1.0
    assert (inked[:, 0, 0] > -0.5).any()
    assert inked.max() <= 0.0


def striped(mask: SpectrumMask, lengths: list[int]) -> torch.Tensor:
    """Where a spectrum of 20 bands was silenced."""
    spectrum = torch.ones(len(lengths), max(lengths), 20)
    silenced: torch.Tensor = mask(spectrum, torch.tensor(lengths)) == 0
    return silenced


def test_stripes_are_silenced_in_training_only() -> None:
    """At most two stripes of bands and two of frames, each no wider than asked."""
    mask = SpectrumMask(bands=3, frames=4)
    torch.manual_seed(3)
    silent = striped(mask, [30] * 50)
    bands, frames = silent.all(dim=1), silent.all(dim=2)
    assert silent.any()
    assert (silent == (bands[:, None] | frames[:, :, None])).all()
    assert int(bands.sum(1).max()) <= 6
    assert int(frames.sum(1).max()) <= 8
    assert not striped(mask.eval(), [30] * 50).any()


def test_a_short_recording_loses_a_share_of_itself() -> None:
    """A stripe is at most a fifth of the recording and lies within it."""
    mask = SpectrumMask(bands=0, frames=1_000)
    torch.manual_seed(4)
    silent = striped(mask, [4, 10, 50, 100] * 50)
    lost = silent.all(dim=2).view(50, 4, 100)
    for column, length in enumerate([4, 10, 50, 100]):
        assert int(lost[:, column].sum(1).max()) <= 2 * (length // 5)
        assert not lost[:, column, length:].any()
    assert lost[:, 1:].any(dim=2).any(dim=0).all()


def test_no_stripes_where_none_are_asked_for() -> None:
    assert not striped(SpectrumMask(bands=0, frames=0), [30]).any()
