"""Tables of two waves, and options of tiny models that forecast them."""

import math
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ROWS", "SMALL", "STEPPED", "write"]

ROWS = 260


SMALL: dict[str, Any] = {
    "target": {"kind": "series", "horizon": 4},
    "source": {"window": 12},
    "training": {"updates": 40, "validate_every": 20, "curves": False, "batch_rows": 16},
}


STEPPED = {
    "target": {"forced": 0.5},
    "model": {
        "embedding": 8,
        "encoder": {"width": 8, "layers": 1},
        "decoder": {"width": 8, "layers": 1},
    },
}


def write(path: Path, rows: int = ROWS, *, noise: float = 0.0) -> Path:
    """Two waves, one the shift of the other, hour by hour: a linear series without noise."""
    generator = np.random.default_rng(5)
    lines = ["date,a,b"]
    for number in range(rows):
        angle = 2 * math.pi * number / 8
        extra = noise * generator.normal(size=2)
        a, b = 100 + 10 * math.sin(angle) + extra[0], -3 + 0.1 * math.cos(angle) + extra[1]
        lines.append(f"2026-01-{1 + number // 24:02d} {number % 24:02d}:00,{a:.9f},{b:.9f}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
