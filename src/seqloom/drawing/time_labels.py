"""Readable time labels below an axis."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["shorten_times", "time_labels"]

SPACE = 2  # characters between two labels
MOST = 5  # labels
MOMENT = re.compile(r"(\S*\d\S*?)[ T](\d{1,2}:\d{2}\S*)")


def time_labels(times: Sequence[str], room: float) -> tuple[list[int], list[str]]:
    """Select times and shorten their labels to one or two lines, without overlap when the times are
    spread over `room` characters.
    """
    steps = len(times) - 1
    if steps < 1:
        return list(range(len(times))), shorten_times(times)
    every = math.ceil(steps / (MOST - 1))
    while every < steps:
        places = list(range(0, steps + 1, every))
        labels = shorten_times([times[place] for place in places])
        if all(_width(one) / 2 + _width(two) / 2 + SPACE <= every * room / steps
               for one, two in pairwise(labels)):  # fmt: skip
            return places, labels
        every += 1
    return [0], shorten_times(times[:1])


def shorten_times(times: Sequence[str]) -> list[str]:
    """Dates if all hours are equal; otherwise hours, with the date below where it changes."""
    moments = [MOMENT.fullmatch(time) for time in times]
    if not all(moments):
        return list(times)
    days = [match.group(1) for match in moments if match]
    hours = [match.group(2) for match in moments if match]
    if len(set(hours)) == 1 and len(times) > 1:
        return days
    if all(re.fullmatch(r"\d{1,2}:\d{2}:00(\.0*)?", hour) for hour in hours):
        hours = [hour.rsplit(":", 1)[0] for hour in hours]
    before = ["", *days]
    return [
        f"{hour}\n{day}" if day != last else hour
        for hour, day, last in zip(hours, days, before, strict=False)
    ]


def _width(label: str) -> int:
    return max(map(len, label.split("\n")))
