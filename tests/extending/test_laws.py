"""Parts from outside keep the laws of their families, by the suites that built-in ones pass."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.config import DataConfig, ModelConfig, TrainingConfig, validate
from seqloom.data import Report, read_rows
from seqloom.errors import ConfigError, DataError
from seqloom.fields import load_field
from seqloom.metrics import target_scores
from seqloom.nn.attention import Attention
from seqloom.search import Greedy
from seqloom.training import learning_rate
from tests.attention_checks import check_attention
from tests.checks import Subject, assert_outputs_same, check_decoder
from tests.model.models import model_of, recurrent, sources, transformer
from tests.search_checks import check_neighbours, searched
from tests.unit_checks import check_unit


def test_the_unit(parts: Any) -> None:
    check_unit(parts.leaky_unit.Leaky(2, 3, 0.25), inputs_size=2)


def test_the_score(parts: Any) -> None:
    states = torch.randn(3, 5, 4, dtype=torch.float64)
    attention = Attention(parts.distance_score.NegativeDistance()).double()
    check_attention(attention, states, torch.tensor([5, 2, 3]), query=4, seed=1)


def test_a_unit_and_a_score_are_built_by_name(parts: Any) -> None:
    unit = {"kind": "leaky", "share": 0.25}
    config = recurrent(
        {"unit": unit}, {"unit": unit, "width": 6, "attention": {"score": "distance"}}
    )
    model = model_of(config, source_size=9, target_size=7)
    units = [each for each in model.modules() if isinstance(each, parts.leaky_unit.Leaky)]
    assert [each.share for each in units] == [0.25] * 3
    looks = [each for each in model.modules() if isinstance(each, Attention)]
    assert [type(each.score) for each in looks] == [parts.distance_score.NegativeDistance]
    uneven = {"decoder": {**config.decoder.model_dump(), "width": 5}}
    with pytest.raises(ConfigError, match="'distance': needs equal sizes, not 5 and 6"):
        model_of(config.model_copy(update=_validated(uneven)), source_size=9, target_size=7)


def _validated(table: dict[str, Any]) -> dict[str, Any]:
    model: ModelConfig = validate({"model": table}, place="test").model
    return {name: getattr(model, name) for name in table}


def test_the_decoder_and_the_positions(parts: Any) -> None:
    positions = {"kind": "triangle", "period": 3}
    torch.manual_seed(2)
    config = transformer({"positions": positions}, {}, embedding=7)
    config = config.model_copy(update=_validated({"decoder": {"kind": "bag"}}))
    model = model_of(config, source_size=9, target_size=6)
    check_decoder(model, sources(3, size=9), vocabulary=6, seed=3, attends=False)


def test_the_search(parts: Any) -> None:
    torch.manual_seed(4)
    model = model_of(recurrent({}, {}), source_size=9, target_size=7)
    subject = Subject(model, sources(4, size=9), torch.Generator().manual_seed(4), 7)
    longest, search = subject.draw(1, 6, 4), parts.favourite_search.Favourite(token=6, worth=0.7)
    with torch.no_grad():
        check_neighbours(subject, search, longest, searched(subject, search, longest))
        plain = searched(subject, replace(search, worth=0.0), longest)
        assert_outputs_same(plain, searched(subject, Greedy(), longest))


def test_the_ranking_bounds_what_a_path_may_become(parts: Any) -> None:
    """Searches stop by this bound: no output that goes on from a path is ranked above it."""
    ranking = parts.long_ranking.LongFirst(bonus=0.7)
    totals, more = torch.randn(50), torch.rand(50)
    first, last = torch.full((50,), 2), torch.full((50,), 9)
    bound = ranking.upper_bound(totals, first, last)
    for length in range(2, 10):
        assert (ranking.rank(totals - more, torch.full((50,), length)) <= bound).all()


def test_the_metric(parts: Any) -> None:
    score = target_scores("text", ["aaa", "b"], ["aa", "bb"])[-1]
    assert (score.name, score.value) == ("length ratio", 100)
    assert score.interval.low < 100 < score.interval.high


def test_the_optimizer_by_hand(parts: Any) -> None:
    """Two steps of one weight: signs alone count, and momentum carries the first over."""
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(layer.weight)
    options = parts.sign_optimizer.SignOptions(momentum=0.9)
    (rule,) = parts.sign_optimizer.sign_descent(options, layer)
    rule.optimizer.param_groups[0]["lr"] = 0.1
    for gradient, wanted in ((5.0, -0.1), (-4.0, -0.2), (-4.0, -0.1)):
        layer.weight.grad = torch.full((1, 1), gradient)
        rule.optimizer.step()
        assert layer.weight.item() == pytest.approx(wanted)


def test_the_schedule_by_hand(parts: Any) -> None:
    config = TrainingConfig(rate=1.0, warmup=4, decay="sawtooth")
    rates = [learning_rate(config, step) for step in (0, 3, 4, 13, 14)]
    assert rates == pytest.approx([0.25, 1.0, 1.0, 0.1, 1.0])


def test_the_fields_give_cells_back(parts: Any, tmp_path: Path) -> None:
    colours = parts.colour_field.ColourField(parts.colour_field.ColourOptions(gamma=2.0))
    cells = ["#000000", "#ff8040", "#0102fe"]
    assert [colours.cell(row) for row in colours.rows(cells)] == cells
    assert colours.rows(["#ff8000"])[0].tolist() == [pytest.approx([1, (128 / 255) ** 2, 0])]
    assert str(colours.fault("red")) == "'red' is no colour; write it as #ff8800"
    stars = parts.stars_field.StarsField(parts.stars_field.StarsOptions(most=3))
    assert [stars.cell(row) for row in stars.rows(["1", "3"])] == ["1", "3"]
    assert str(stars.fault("4")) == "'4' is no rating; write 1 to 3"
    for field in (colours, stars):
        field.save(tmp_path / field.config.kind)
        again = load_field(tmp_path / field.config.kind)
        assert (type(again), again.fingerprint) == (type(field), field.fingerprint)


def test_the_format(parts: Any, tmp_path: Path) -> None:
    """Its rows are checked, counted and refused as those of any other format."""
    path = tmp_path / "pairs.arrows"
    path.write_text("a -> b\nnothing\nc -> d\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"pairs\.arrows:2: expected 2 columns, found 1; write"):
        list(read_rows(path, DataConfig(), Report()))
    report = Report()
    rows = list(read_rows(path, DataConfig(skip_bad=True, source="2", target="1"), report))
    assert [(row.source, row.target, row.place.line) for row in rows] == [
        ("b", "a", 1),
        ("d", "c", 3),
    ]
    assert (report.kept, report.total_dropped) == (2, 1)


def test_the_baseline(parts: Any) -> None:
    """The median of the ratings, as the module says."""
    target = parts.stars_field.StarsField(parts.stars_field.StarsOptions())
    known = SimpleNamespace(rows=SimpleNamespace(targets=np.array([1, 2, 2, 5, 5])), target=target)
    assert parts.median_baseline.MedianRating().outputs(known, [np.zeros(1, np.int64)] * 2) == [
        "2",
        "2",
    ]
