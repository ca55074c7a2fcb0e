"""Which tokens are asked for is a function of seed, step and row, nothing else."""

import numpy as np
import pytest

from seqloom.config import BlanksConfig
from seqloom.data import Batch, Masking
from seqloom.fields import BLANK, EMPTY, END, UNK

VOCABULARY = 40
ROWS = 300
FILLABLE = np.arange(VOCABULARY) > END


def batch(rows: list[int], shortest: int = 5) -> Batch:
    """Rows of made-up tokens, each a function of its number; all have an unknown one."""
    texts = [
        np.random.default_rng(row).integers(END + 1, VOCABULARY, shortest + row % 7) for row in rows
    ]
    for text in texts:
        text[1] = UNK
    lengths = np.array([len(text) for text in texts])
    target = np.full((len(rows), lengths.max()), EMPTY)
    source = np.full((len(rows), lengths.max() + 1), EMPTY)
    for place, text in enumerate(texts):
        target[place, : len(text)] = text
        source[place, : len(text) + 1] = [*text, END]
    return Batch(source, lengths + 1, target, lengths, np.array(rows))


def masking(seed: int = 1, **options: float) -> Masking:
    return Masking(BlanksConfig.model_validate(options), FILLABLE, seed)


def test_neither_batch_mates_nor_their_order_matter() -> None:
    """A row has the same gaps alone and in any batch; seed and step change them."""
    whole = masking().mask(batch(list(range(20))), 3)
    for rows in ([7], [19, 2, 5]):
        some = masking().mask(batch(rows), 3)
        for place, row in enumerate(rows):
            length = int(some.source_lengths[place])
            assert np.array_equal(some.source[place, :length], whole.source[row, :length])
            assert np.array_equal(some.target[place, : length - 1], whole.target[row, : length - 1])
    for other in (
        masking().mask(batch(list(range(20))), 4),
        masking(2).mask(batch([*range(20)]), 3),
    ):
        assert not np.array_equal(other.source, whole.source)


@pytest.mark.parametrize(
    ("share", "kept", "replaced"), [(0.15, 0, 0), (0.5, 0.1, 0.1), (1, 0.9, 0)]
)
def test_shares_are_as_configured(share: float, kept: float, replaced: float) -> None:
    """Of tokens that can be asked for; the rest is read as it is and costs nothing."""
    clean = batch(list(range(ROWS)), shortest=40)
    found = masking(share=share, kept=kept, replaced=replaced).mask(clean, 0)
    asked = found.target != EMPTY
    read = found.source[:, :-1]
    assert np.array_equal(found.target[asked], clean.target[asked])
    assert np.array_equal(read[~asked], clean.source[:, :-1][~asked])
    assert not (clean.target[asked] == UNK).any()
    possible = int(FILLABLE[clean.target].sum())
    assert abs(asked.sum() / possible - share) < 0.03
    gaps = (read[asked] == BLANK).mean()
    same = (read[asked] == clean.target[asked]).mean()
    assert abs(gaps - (1 - kept - replaced)) < 0.05
    assert abs(same - kept) < 0.05
    assert (read[asked] > END).sum() == (~(read[asked] == BLANK)).sum()


def test_every_row_is_asked_for_something() -> None:
    found = masking(share=1e-9).mask(batch(list(range(50))), 0)
    assert ((found.target != EMPTY).sum(axis=1) == 1).all()


def test_an_open_one_asks_for_all_and_hides_nothing() -> None:
    clean = batch(list(range(9)))
    found = masking().all_positions.mask(clean)
    assert np.array_equal(found.source, clean.source)
    assert np.array_equal(found.target != EMPTY, FILLABLE[clean.target])
