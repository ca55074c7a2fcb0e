"""The season is found where there is one, and none where there is none."""

import numpy as np
import pytest

from seqloom.metrics import calendar_periods, find_season

Table = np.ndarray


def wave(period: float, steps: int, *, harmonic: float = 0.4) -> Table:
    """A season with a second harmonic, of amplitude about 1."""
    angle = 2 * np.pi * np.arange(steps) / period
    return np.asarray(np.sin(angle) + harmonic * np.sin(2 * angle + 1))[:, None]


def drift(generator: np.random.Generator, steps: int, columns: int = 1) -> Table:
    return np.cumsum(generator.normal(size=(steps, columns)), axis=0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("period", [4, 7, 12, 24, 52])
def test_a_season_with_noise_and_trend(period: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    steps = 30 * period
    table = wave(period, steps) + 0.5 * generator.normal(size=(steps, 1))
    table += 0.05 * np.arange(steps)[:, None]
    assert find_season(table, 3 * period) == period


@pytest.mark.parametrize("seed", range(3))
def test_a_season_on_a_random_walk(seed: int) -> None:
    """Slow movement is like itself at short distances, which is no season."""
    generator = np.random.default_rng(seed)
    table = wave(24, 2_000) + 0.3 * drift(generator, 2_000)
    assert find_season(table, 96) == 24


@pytest.mark.parametrize("seed", range(3))
def test_a_weak_daily_cycle_under_much_larger_slow_waves(seed: int) -> None:
    """Of three columns, each a slow wave, a random walk and a daily cycle of a twelfth its size."""
    generator = np.random.default_rng(seed)
    slow = 5 * np.sin(2 * np.pi * np.arange(2_000) / 1_000)[:, None]
    noise = 0.1 * (drift(generator, 2_000, 3) + generator.normal(size=(2_000, 3)))
    assert find_season(slow + noise + 0.4 * wave(24, 2_000), 96) == 24


@pytest.mark.parametrize("weekly", [0.2, 0.5, 1.0])
def test_of_two_seasons_the_shorter(weekly: float) -> None:
    """A day and a week in hours: each day is like the one before, whatever the week does."""
    generator = np.random.default_rng(4)
    table = wave(24, 1_344) + weekly * wave(168, 1_344, harmonic=0.0)
    assert find_season(table + 0.3 * generator.normal(size=table.shape), 336) == 24


def test_a_week_whose_days_differ_repeats_after_a_week() -> None:
    """Five days with a cycle and two without."""
    hours = np.arange(1_344)
    table = np.where(hours % 168 < 120, 1.0, 0.0)[:, None] * wave(24, 1_344)
    assert find_season(table, 336) == 168


def test_a_pulse_once_a_day() -> None:
    hours, generator = np.arange(1_000), np.random.default_rng(5)
    pulse = 5.0 * (hours % 24 == 8) + 0.3 * generator.normal(size=1_000)
    assert find_season(pulse[:, None], 96) == 24


def test_noise_and_drift_have_none() -> None:
    """Of sixty series of white noise, autoregression and random walks, at most two are mistaken."""
    generator = np.random.default_rng(6)
    found = []
    for steps in (120, 1_000):
        for _ in range(10):
            noise = generator.normal(size=(steps, 1))
            red = noise.copy()
            for step in range(1, steps):
                red[step] += 0.9 * red[step - 1]
            found += [find_season(each, 96) for each in (noise, red, np.cumsum(noise, axis=0))]
    assert sum(each > 1 for each in found) <= 2
    assert find_season(np.ones((100, 2)), 40) == 1
    assert find_season(np.arange(100.0)[:, None], 40) == 1


def test_scale_and_shift_of_columns_and_their_order_change_nothing() -> None:
    generator = np.random.default_rng(7)
    table = wave(12, 400) * np.array([1.0, 0.5]) + 0.3 * generator.normal(size=(400, 2))
    season = find_season(table, 48)
    assert season == 12
    assert find_season(table[:, ::-1] * np.array([7.0, 0.01]) - 100, 48) == season


def test_missing_rows_are_bridged() -> None:
    table = wave(24, 720) + 0.01 * np.arange(720)[:, None]
    table[100:110] = np.nan
    table[::50] = np.nan
    assert find_season(table, 72) == 24


def test_a_season_needs_three_of_itself() -> None:
    assert find_season(wave(24, 71), 60) == 1
    assert find_season(wave(24, 168), 60) == 24


def test_the_calendar_settles_what_is_nearly_as_strong() -> None:
    """Of 52 noisy weeks of a year the neighbours are as strong; a tide of 24.84 h is not a day."""
    generator = np.random.default_rng(8)
    table = wave(52, 260, harmonic=0.0) + 0.3 * generator.normal(size=(260, 1))
    assert find_season(table, 80, calendar=(52,)) == 52
    tide = wave(24.84, 2_000, harmonic=0.0) + 0.2 * generator.normal(size=(2_000, 1))
    assert find_season(tide, 96, calendar=(24, 168)) == 25
    assert find_season(wave(12, 600), 96, calendar=(24, 168)) == 12


@pytest.mark.parametrize(
    ("unit", "step", "periods"),
    [
        ("seconds", 3_600.0, (24, 168, 8_766)),
        ("seconds", 86_400.0, (7, 365)),
        ("seconds", 900.0, (4, 96, 672, 35_064)),
        ("seconds", 7 * 86_400.0, (52,)),
        ("months", 1.0, (12,)),
        ("month ends", 3.0, (4,)),
        ("number", 1.0, ()),
    ],
)
def test_periods_of_the_calendar(unit: str, step: float, periods: tuple[int, ...]) -> None:
    assert calendar_periods(unit, step) == periods


@pytest.mark.parametrize(
    ("clock", "period", "steps", "most"),
    [
        (("seconds", 3_600.0), 24, 2_000, 336),
        (("seconds", 86_400.0), 7, 700, 90),
        (("months", 1.0), 12, 144, 36),
        (("seconds", 900.0), 96, 3_000, 200),
    ],
)
@pytest.mark.parametrize("kind", ["white", "trend", "walk", "red"])
def test_seasons_of_the_calendar_under_as_much_noise(
    clock: tuple[str, float], period: int, steps: int, most: int, kind: str
) -> None:
    """Hours, days, months and quarters of an hour, with noise of about the season's own size on a
    level, a trend, a walk, or itself correlated: right in four of five at least."""
    generator, calendar = np.random.default_rng(9), calendar_periods(*clock)
    right = 0
    for _ in range(5):
        noise = generator.normal(size=(steps, 1))
        for place in range(1, steps if kind == "red" else 0):
            noise[place] += 0.8 * noise[place - 1]
        table = wave(period, steps) + 0.8 * noise / noise.std()
        table += 10 * np.arange(steps)[:, None] / steps * (kind == "trend")
        table += 0.1 * drift(generator, steps) * (kind == "walk")
        right += find_season(table, most, calendar=calendar) == period
    assert right >= 4
