"""Labels and tags are compared as their fields cut them (SPEC S8)."""

from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import TagsConfig
from seqloom.fields import TagsField
from seqloom.metrics import tag_scores

NAMES = ("N", "proper\u00a0noun", "x\u2009y", "\u3000", "V\tW")
rows = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5), min_size=1, max_size=5)


@given(rows=rows)
def test_a_tag_is_what_its_field_takes_for_one(rows: list[list[str]]) -> None:
    """White space other than the space is part of a tag, for the scores as for the field."""
    cells = [" ".join(row) for row in rows]
    field = TagsField.learn(TagsConfig(), cells, seed=1)
    counted = sum(len(row) for row in field.rows(cells))
    share, f1, whole = tag_scores(cells, cells, seed=None)
    assert share.signature == f"rows:{len(rows)}|tags:{counted}"
    assert f1.signature == f"kinds:{len(field.labels)}"
    assert (share.value, f1.value, whole.value) == (100, 100, 100)
