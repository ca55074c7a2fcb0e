"""S7.5: coverage counts every position that can be looked at, whatever was read."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.prediction import Output, Predictor
from seqloom.search import Beam, Ranking
from tests.prediction.untrained import SOURCES, untrained
from tests.serving.kinds import made, picture, recording
from tests.shapes import without_shapes

pytestmark = pytest.mark.usefixtures(without_shapes.__name__)

WEIGHT = 0.5
SEARCH = Beam(3, Ranking(coverage=WEIGHT))


def by_hand(output: Output) -> float:
    """Log-probability and weighted coverage, from the attention that is told."""
    assert output.attention is not None
    shares = output.attention.sum(axis=0).clip(1e-9, 1.0)
    return output.score + WEIGHT * float(np.log(shares).sum())


def assert_covered(model: Predictor, inputs: list[str], positions: list[int]) -> None:
    outputs = model.predict(inputs, search=SEARCH, attention=True)
    assert [len(output.source) for output in outputs] == positions
    for output in outputs:
        assert output.normalised == pytest.approx(by_hand(output), abs=1e-3)


def test_the_cells_of_a_picture(tmp_path: Path) -> None:
    """One thing is read, and eight cells of it can be looked at."""
    (tmp_path / "wide.png").write_bytes(picture())
    (tmp_path / "high.png").write_bytes(picture(8, 30))
    assert_covered(
        made("caption"), [str(tmp_path / "wide.png"), str(tmp_path / "high.png")], [8, 8]
    )


def test_the_stretches_of_a_recording(tmp_path: Path) -> None:
    """Several frames are one stretch, and beside a longer recording the rest is padding."""
    model, names = made("speech"), list[str]()
    for seconds in (0.2, 0.5):
        names.append(str(tmp_path / f"{seconds}.wav"))
        Path(names[-1]).write_bytes(recording(seconds))
    alone = [len(model.predict([name], attention=True)[0].source) for name in names]
    assert alone[0] < alone[1]
    assert_covered(model, names, alone)


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_the_tokens_of_a_text(kind: str) -> None:
    assert_covered(untrained(kind), SOURCES, [len(text) + 1 for text in SOURCES])
