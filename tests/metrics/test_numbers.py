"""Numbers are compared as their field reads them (S8)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import NumberConfig
from seqloom.errors import DataError
from seqloom.fields import NumberField
from seqloom.metrics import target_scores

FIELD = NumberField.learn(NumberConfig(), ["0", "1"], seed=1)
cells = st.text("0123456789.,[]+-e_ naif", max_size=4) | st.floats(-1e99, 1e99).map(str)


def test_scores_by_hand() -> None:
    """Off by 1, 0 and -1 around a mean of 4: 1 - 2/8, the root of 2/3, and 2/3."""
    found = {
        each.name: each.value for each in target_scores("number", ["3", "4", "5"], ["2", "4", "6"])
    }
    assert found == pytest.approx({"R²": 0.75, "RMSE": (2 / 3) ** 0.5, "MAE": 2 / 3})


@given(cell=cells)
def test_what_the_field_takes_is_scored_and_nothing_else(cell: str) -> None:
    if FIELD.fault(cell) is None:
        assert target_scores("number", ["0"], [cell], seed=None)[2].value == abs(float(cell))
    else:
        with pytest.raises(DataError, match="^row 2: .* is not one number; write finite numbers"):
            target_scores("number", ["0", "0"], ["1", cell], seed=None)
