"""An attention map to show, and what can be read from the files of its pictures."""

import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from seqloom.explanations.attention_map import AttentionMap

__all__ = ["WORKED", "pixels", "texts"]

WORKED = AttentionMap(
    source=("we", "love", "deep", "learning", "<stop>"),
    target=("nous", "aimons", "l'", "apprentissage", "en", "profondeur", "<stop>"),
    weights=np.array(
        [
            [0.93, 0.02, 0.01, 0.02, 0.02],
            [0.44, 0.46, 0.04, 0.05, 0.01],
            [0.23, 0.26, 0.23, 0.25, 0.03],
            [0.01, 0.04, 0.45, 0.47, 0.03],
            [0.01, 0.02, 0.39, 0.55, 0.03],
            [0.02, 0.01, 0.67, 0.28, 0.02],
            [0.01, 0.01, 0.01, 0.01, 0.96],
        ]
    ),
)


def pixels(path: Path) -> tuple[int, int]:
    """Width and height from the header that every PNG starts with."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def texts(path: Path) -> list[str]:
    root = ElementTree.fromstring(path.read_text("utf-8"))
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
