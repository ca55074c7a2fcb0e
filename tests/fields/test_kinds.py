"""Columns that are not text: labels, tags, numbers, vectors, and none at all (S1.1, S1.2)."""

import json
from copy import copy
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import (
    COLUMNS,
    SOURCES,
    ColumnConfig,
    LabelConfig,
    NoColumnConfig,
    NumberConfig,
    SourceOptions,
    TagsConfig,
    TextConfig,
    VectorConfig,
    WindowConfig,
    split_column,
)
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.fields import (
    END,
    Field,
    LabelField,
    Numbers,
    SeriesField,
    Symbols,
    TextField,
    learn_field,
    load_field,
    placeholder_items,
)

CELLS: dict[str, tuple[ColumnConfig, list[str]]] = {
    "label": (LabelConfig(), ["good", " bad ", "so so", "good"]),
    "tags": (TagsConfig(), ["D N V", "N", "V  D"]),
    "number": (NumberConfig(), ["1", "-2.5", "1e3"]),
    "vector": (VectorConfig(), ["1 2", "3, 4", "[5, 6]"]),
    "none": (NoColumnConfig(), ["", ""]),
    "symbol": (TextConfig(unit="symbol"), ["a b", "c  a", "b"]),
}


def learnt(name: str) -> Field:
    config, cells = CELLS[name]
    return learn_field(config, cells, seed=1)


@pytest.mark.parametrize("name", CELLS)
def test_what_stands_for_a_column_is_made_of_the_same(name: str) -> None:
    """Before there is data, a network can be built of items of the kind that there will be."""
    field, placeholder = learnt(name), placeholder_items(CELLS[name][0])
    assert type(placeholder) is type(field.items)
    assert placeholder.stored_dtype == field.items.stored_dtype
    assert (placeholder.stored_size > 0) == (field.items.stored_size > 0)


class StarsConfig(SourceOptions):
    """A kind of column of a user's own."""

    kind: Literal["stars"] = "stars"


class StarsField(LabelField):
    """A cell is as many stars as it says."""


def test_a_column_of_a_users_own_is_saved_with_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is loaded again where it is registered; elsewhere the module is named."""
    for family in (SOURCES, COLUMNS):
        monkeypatch.setattr(family, "_options", dict(family._options))
        monkeypatch.setattr(family, "parts", copy(family.parts))
    SOURCES.options("stars")(StarsConfig)
    COLUMNS.part("stars")(StarsField)
    learn_field(StarsConfig(), ["*", "**"], seed=1).save(tmp_path)
    again = load_field(tmp_path)
    assert again.config == StarsConfig()
    assert again.tokens(again.rows(["**"])[0]) == ["**"]
    monkeypatch.delitem(SOURCES._options, "stars")
    with pytest.raises(
        RunError,
        match=rf"field\.json: is a column of kind 'stars', which the module {__name__} registers; "
        rf"import it first with `import {__name__}`$",
    ):
        load_field(tmp_path)


@pytest.mark.parametrize("name", CELLS)
def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    """Same rows, same fingerprint, same file when saved again; fields differ from each other."""
    field, cells = learnt(name), CELLS[name][1]
    field.save(tmp_path / "one")
    loaded = load_field(tmp_path / "one")
    loaded.save(tmp_path / "two")
    assert type(loaded) is type(field)
    assert (loaded.config, loaded.items, loaded.closing) == (
        field.config,
        field.items,
        field.closing,
    )
    for one, two in zip(field.rows(cells), loaded.rows(cells), strict=True):
        assert one.dtype == two.dtype
        assert (one == two).all()
    texts = [(tmp_path / each / "field.json").read_bytes() for each in ("one", "two")]
    assert texts[0] == texts[1]
    others = {learnt(other).fingerprint for other in CELLS if other != name}
    assert loaded.fingerprint == field.fingerprint
    assert field.fingerprint not in others


@pytest.mark.parametrize("name", CELLS)
def test_a_changed_file_is_refused(name: str, tmp_path: Path) -> None:
    """RELIABILITY A7: whatever was changed, in one sentence with the file."""
    learnt(name).save(tmp_path)
    path = tmp_path / "field.json"
    facts = json.loads(path.read_text())
    for key in [key for key in facts if key != "sha256"]:
        for value in (None, [], {"kind": "label", "other": 1}, ["x", "x"], [float("inf")]):
            if facts[key] != value:
                path.write_text(json.dumps(facts | {key: value}))
                with pytest.raises(RunError, match=r"field\.json: "):
                    load_field(tmp_path)


def test_labels_by_hand() -> None:
    """In the order of the alphabet, from 1 on; white space around one does not count."""
    field = learnt("label")
    assert field.items == Symbols(4)
    assert [row.tolist() for row in field.rows(["so so", "bad ", "good"])] == [[3], [1], [2]]
    assert field.cell([3]) == "so so"
    assert str(field.fault("goood")) == (
        "the label 'goood' was never seen in training; write 'good' if that is meant"
    )
    assert str(field.fault("x")) == (
        "the label 'x' was never seen in training; the labels are bad, good, so so"
    )


def test_labels_are_read_no_further_than_too_many() -> None:
    """Whatever the column holds, no more of it is kept than the labels that can be told apart."""
    cells = map(str, range(300_000))
    with pytest.raises(DataError, match="more than the 100,000 different .* is the column text"):
        learn_field(LabelConfig(), cells, seed=1)
    assert next(cells) == "100001"


def test_tags_by_hand() -> None:
    """One id for each tag; there is nothing at the end."""
    field = learnt("tags")
    assert [row.tolist() for row in field.rows(["V N", "D"])] == [[3, 2], [1]]
    assert field.cell([3, 2]) == "V N"
    assert (field.closing, field.fault("V N"), field.fault("V X") is None) == (0, None, False)


@given(
    st.lists(
        st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3).map(
            lambda row: [round(number, 3) for number in row]
        ),
        min_size=2,
    )
)
def test_numbers_have_mean_0_and_spread_1(table: list[list[float]]) -> None:
    """And come back in their own units; a constant column stays finite."""
    cells = [" ".join(map(str, row)) for row in table]
    field = learn_field(VectorConfig(), cells, seed=1)
    assert field.items == Numbers(3)
    rows = np.array(field.rows(cells), np.float64)
    assert rows.shape == (len(table), 1, 3)
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows.mean(axis=(0, 1)), 0, atol=1e-3)
    spread = np.std(table, axis=0)
    moving = spread > 1e-3
    np.testing.assert_allclose(rows.std(axis=(0, 1))[moving], 1, atol=1e-3)
    back = np.array([list(map(float, field.cell(row).split())) for row in rows])
    scale = np.abs(table).max() + 1
    np.testing.assert_allclose(back, table, atol=1e-5 * scale)


def scaled(table: list[list[float]], later: list[float]) -> list[list[float]]:
    """A later row in units of the spread of these, as a vector and as a step of a series."""
    names = [str(number) for number in range(len(later))]
    vector = learn_field(VectorConfig(), [" ".join(map(repr, row)) for row in table], seed=1)
    series = SeriesField.from_rows(WindowConfig(), names, np.array(table))
    cell = " ".join(map(repr, later))
    return [np.ravel(field.rows([cell])[0]).tolist() for field in (vector, series)]


@pytest.mark.parametrize("value", [0.0, 0.1, -0.3, 1e-12, 1e6 / 3])
def test_a_constant_number_is_learnt_as_it_is(value: float) -> None:
    """However its mean is rounded: a later one is told by how much it differs."""
    for row in scaled([[value, n] for n in range(1_001)], [value + 0.25, 500]):
        assert row == pytest.approx([0.25, 0], abs=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_units_do_not_matter(unit: float) -> None:
    """Numbers that are small throughout are no constants."""
    for row in scaled([[unit * (50 + n % 3)] for n in range(999)], [unit * 51]):
        assert row == pytest.approx([0], abs=1e-6)
    for row in scaled([[unit * (50 + n % 2)] for n in range(998)], [unit * 51]):
        assert row == pytest.approx([1], abs=1e-6)


@pytest.mark.parametrize(
    "cell",
    ["nan", "inf", "", "a", "1 2", "[1", '{"a": 1}', "1e999", "3,14", "1,234.5", "5,", "[5]"],
)
def test_a_cell_that_is_no_number(cell: str) -> None:
    """Each is told apart from one that is, in words that say what to do."""
    field = learnt("number")
    assert str(field.fault(cell)) == (
        f"{cell!r} is not one number; write finite numbers, with a decimal point and no thousands "
        "separators"
    )
    assert field.fault(" 3.5 ") is None


def test_a_column_of_numbers_has_one_a_cell() -> None:
    """Cells that are read in another way are left to `fault`; a vector's are as they were."""
    field = learn_field(NumberConfig(), ["3,14", "2.5", "1,234", "3.5"], seed=1)
    assert field.items == Numbers(1)
    assert [row.tolist() for row in field.rows(["2.5", "3.5"])] == [[[-1.0]], [[1.0]]]
    with pytest.raises(DataError, match="no cell of one number; write finite numbers, with a deci"):
        learn_field(NumberConfig(), ["3,14", "2,5"], seed=1)
    assert learn_field(VectorConfig(), ["3,14", "2 5"], seed=1).items == Numbers(2)


def test_a_column_of_numbers_is_restored_with_one_a_cell(tmp_path: Path) -> None:
    learnt("vector").save(tmp_path)
    path = tmp_path / "field.json"
    path.write_text(path.read_text().replace('"vector"', '"number"'))
    with pytest.raises(RunError, match=r"field\.json: its scale is damaged"):
        load_field(tmp_path)


def test_symbols_stand_between_spaces() -> None:
    """S1.3: other white space is part of a symbol, and one space is put between them."""
    field = TextField.learn(TextConfig(unit="symbol"), ["don 't \u00a0x"], seed=1)
    assert field.tokens(field.encode("'t  don")) == ["'t", "don"]
    assert field.decode(field.encode(" 't   \u00a0x")) == "'t \u00a0x"
    assert field.normalize(" 't   \u00a0x") == "'t \u00a0x"


def test_nothing_is_one_end() -> None:
    assert [row.tolist() for row in learnt("none").rows(["", ""])] == [[END], [END]]


@pytest.mark.parametrize(
    ("given_name", "expected"),
    [
        ("text", ("text", None)),
        ("2:label", ("2", "label")),
        (":tags", (None, "tags")),
        ("none", (None, "none")),
        ("a:b", ("a:b", None)),
        ("a:b:vector", ("a:b", "vector")),
        ("x:pdf", ("x:pdf", None)),
    ],
)
def test_a_column_and_its_kind(given_name: str, expected: tuple[str | None, str | None]) -> None:
    """The form `--source COL[:KIND]`; a name may hold colons of its own."""
    assert split_column(given_name) == expected


@pytest.mark.parametrize(("given_name", "meant"), [("2:lable", "label"), ("a:pictur", "picture")])
def test_a_kind_that_is_nearly_one(given_name: str, meant: str) -> None:
    """It is not taken for a part of the column's name."""
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
        split_column(given_name)
