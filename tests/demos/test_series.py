"""The made-up series of the demonstration is what the page says of it."""

from pathlib import Path

import numpy as np

from seqloom.demos.series import NOISE, write_load
from seqloom.metrics import find_season


def test_the_load_repeats_and_its_noise_is_known(tmp_path: Path) -> None:
    """Days and weeks; the difference to the smooth part of a fitted model has the noise's size;
    the same seed gives the same file, and the second file goes on where the first ends."""
    for name in ("a.csv", "b.csv"):
        write_load(tmp_path / name)
    text = (tmp_path / "a.csv").read_text()
    assert text == (tmp_path / "b.csv").read_text()
    load = np.genfromtxt(tmp_path / "a.csv", delimiter=",", skip_header=1, usecols=(1,))
    assert find_season(load[:, None], 336) in (24, 168)
    hours = np.arange(len(load))
    waves = [np.ones(len(load)), hours, hours**2, hours**3, hours**4, hours**5]
    for period in (24, 12, 168):
        waves += [np.sin(2 * np.pi * hours / period), np.cos(2 * np.pi * hours / period)]
    table = np.stack([wave / np.abs(wave).max() for wave in waves], axis=1)
    rest = load - table @ np.linalg.lstsq(table, load, rcond=None)[0]
    assert abs(rest.std() - NOISE) < 0.15
    after = (tmp_path / "a-after.csv").read_text().splitlines()
    assert len(after) == 1 + 336 + 336
    assert after[1:337] == text.splitlines()[-336:]
