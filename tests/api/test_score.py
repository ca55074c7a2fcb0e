"""Pairs that cannot be scored are refused with their number, side and cure (S7.4)."""

import json
import math
from pathlib import Path

import pytest
import torch

from seqloom.api.evaluate import score_rows
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.errors import DataError
from tests.prediction.untrained import untrained
from tests.tasks.column_pairs import TASKS, chosen


@pytest.mark.parametrize(
    ("name", "pair", "sentence"),
    [
        ("label", ("red", "purple"), "^pair 2: target: the label 'purple' was never seen"),
        ("from label", ("purple", "x"), "^pair 2: source: the label 'purple' was never seen"),
        ("tags", ("red old", "C"), "^pair 2: 2 tokens that are read and 1 tags; give each"),
        ("tags", ("red", "C A"), "^pair 2: 1 tokens that are read and 2 tags; give each"),
    ],
)
def test_a_pair_that_cannot_be(
    name: str, pair: tuple[str, str], sentence: str, tmp_path: Path
) -> None:
    task = TASKS[name]
    train(task.rows, tmp_path / "run", valid=task.rows[:9], options=chosen(task, updates=1))
    model = load(tmp_path / "run")
    source, target = task.rows[0]
    with pytest.raises(DataError, match=sentence):
        model.score([(source, target), pair])


@pytest.mark.parametrize("factor", [1.0, 1e4])
@torch.no_grad()
def test_a_perplexity_is_there_as_far_as_numbers_go(factor: float) -> None:
    """exp of the mean surprise, and None where no float holds that; the score is there anyway."""
    model = untrained()
    for parameter in model.network.parameters():
        parameter.mul_(factor)
    (row,) = score_rows(model, [("abc", "cab")])
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    mean = row["score"] / len(row["tokens"])
    if factor == 1:
        assert row["perplexity"] == pytest.approx(math.exp(-mean))
    else:
        assert mean < -709
        assert row["perplexity"] is None
