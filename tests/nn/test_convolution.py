"""SPEC S3.4, S3.5: front ends over pixels and frames."""

import pytest
import torch

from seqloom.nn.convolution import FrameConvolutions, Grid, PictureConvolutions, SpectrumMask


@pytest.mark.parametrize(
    ("grid", "vectors"), [("cells", 4 * 6), ("columns", 6), ("one", 1)]
)  # fmt: skip
def test_a_picture_becomes_a_grid(grid: Grid, vectors: int) -> None:
    """Each stage halves both sides; columns and the whole are means of the cells."""
    torch.manual_seed(1)
    front = PictureConvolutions(3, (4, 6), grid=grid).double()
    pictures = torch.randn(2, 3, 16, 24, dtype=torch.float64)
    found = front(pictures)
    assert found.shape == (2, vectors, 6)
    front.grid = "cells"
    cells = front(pictures).view(2, 4, 6, 6)
    means = {"cells": cells.flatten(1, 2), "columns": cells.mean(1), "one": cells.mean((1, 2))}
    torch.testing.assert_close(found, means[grid].view_as(found))


@torch.no_grad()
def test_frames_are_halved_and_padding_does_not_leak() -> None:
    """A recording gives the same vectors alone and beside longer ones, whatever the padding."""
    torch.manual_seed(2)
    front = FrameConvolutions(5, 7, halvings=2).double()
    lengths = torch.tensor([13, 1, 8])
    frames = torch.randn(3, 13, 5, dtype=torch.float64)
    together, kept = front(frames, lengths)
    assert kept.tolist() == [4, 1, 2]
    for row, length in enumerate(lengths.tolist()):
        alone, _ = front(frames[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(together[row, : kept[row]], alone[0], rtol=0, atol=1e-12)
        assert not together[row, kept[row] :].any()


def test_stripes_are_silenced_in_training_only() -> None:
    """At most two stripes of bands and two of frames, each no wider than asked."""
    mask = SpectrumMask(bands=3, frames=4)
    spectrum = torch.ones(50, 30, 20)
    torch.manual_seed(3)
    silent = mask(spectrum) == 0
    bands, frames = silent.all(dim=1), silent.all(dim=2)
    assert silent.any()
    assert (silent == (bands[:, None] | frames[:, :, None])).all()
    assert int(bands.sum(1).max()) <= 6
    assert int(frames.sum(1).max()) <= 8
    assert torch.equal(mask.eval()(spectrum), spectrum)
