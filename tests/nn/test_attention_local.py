"""S4.3: local attention by hand."""

import math

import pytest
import torch
from torch import Tensor

from seqloom.errors import ConfigError
from seqloom.nn.attention import Attention, DotScore, Focus, PredictedFocus, TimeFocus


def weights_of(
    focus: Focus, *, queries: list[float], at: int, length: int = 5, causal: bool = False
) -> Tensor:
    """Of queries with one value each, over a source where every score is 0."""
    attention = Attention(DotScore(factor=0.0), focus=focus, causal=causal)
    mask = torch.ones(1, length, dtype=torch.bool)
    prepared = attention.prepare(torch.ones(1, length, 1), mask)
    asked = torch.tensor(queries)[None, :, None]
    with torch.no_grad():
        weights: Tensor = attention(asked, prepared, torch.tensor([at]))[1]
    return weights[0]


def predicted(*, share: float, window: int) -> PredictedFocus:
    """A focus that puts the centre at this share of the way for the query 1: the query's tanh is
    3/5, and v · 3/5 is what the sigmoid makes the share."""
    focus = PredictedFocus(1, 1, window=window)
    logit = math.log(share / (1 - share))
    focus.load_state_dict(
        {
            "map.weight": torch.tensor([[math.log(2)]]),
            "weigh.weight": torch.tensor([[logit / 0.6]]),
        }
    )
    return focus


def test_window_moves_with_time_and_stops_at_the_last_position() -> None:
    """Window 1, source of 5: centre 0 sees 0 and 1, centre 2 sees 1 to 3; steps 4, 5, 6 all stay at
    centre 4 and see 3 and 4."""
    found = weights_of(TimeFocus(1), queries=[0.0] * 7, at=0)
    third = 1 / 3
    expected = [
        [1 / 2, 1 / 2, 0, 0, 0],
        [third, third, third, 0, 0],
        [0, third, third, third, 0],
        [0, 0, third, third, third],
        [0, 0, 0, 1 / 2, 1 / 2],
        [0, 0, 0, 1 / 2, 1 / 2],
        [0, 0, 0, 1 / 2, 1 / 2],
    ]
    torch.testing.assert_close(found, torch.tensor(expected))


def test_causal_window_is_cut_at_the_step_itself() -> None:
    """S4.4: with window 1, step t sees t − 1 and t."""
    found = weights_of(TimeFocus(1), queries=[0.0] * 3, at=0, causal=True)
    expected = [[1, 0, 0, 0, 0], [1 / 2, 1 / 2, 0, 0, 0], [0, 1 / 2, 1 / 2, 0, 0]]
    torch.testing.assert_close(found, torch.tensor(expected))


def test_gaussian_of_half_the_window_s_width_falls_off_as_worked_out() -> None:
    """Window 2, so σ = 1: distances 2, 1, 0, 1, 2 give e^−2, e^−½, 1, e^−½, e^−2 over their sum."""
    found = weights_of(TimeFocus(2, gaussian=True), queries=[0.0], at=2)
    powers = torch.tensor([0.135335, 0.606531, 1.0, 0.606531, 0.135335])
    torch.testing.assert_close(found[0], powers / 2.483732, rtol=0, atol=1e-6)


def test_predicted_centre_is_a_share_of_the_way_to_the_last_position() -> None:
    """The query 0 gives share ½, so of the last position 6 p = 3; window 1, so σ = ½: distance 1
    gives e^−2."""
    found = weights_of(predicted(share=3 / 4, window=1), queries=[0.0], at=0, length=7)
    powers = torch.tensor([0, 0, 0.135335, 1.0, 0.135335, 0, 0])
    torch.testing.assert_close(found[0], powers / 1.270671, rtol=0, atol=1e-6)


def test_predicted_centre_may_lie_between_positions() -> None:
    """Last position 3 and share ¾ give p = 2.25; window 1 holds 2 and 3 at distances ¼ and ¾, and
    with σ = ½ their difference is (9/16 − 1/16) · 2 = 1."""
    found = weights_of(predicted(share=3 / 4, window=1), queries=[1.0], at=0, length=4)
    near = 1 / (1 + math.exp(-1))
    torch.testing.assert_close(found[0], torch.tensor([0, 0, near, 1 - near]))


def test_predicted_centre_of_causal_attention_is_a_share_of_what_is_visible() -> None:
    """At step 2 the last visible position is 2; share ¾ gives p = 1.5, as far from 1 as from 2."""
    found = weights_of(predicted(share=3 / 4, window=1), queries=[1.0], at=2, causal=True)
    torch.testing.assert_close(found[0], torch.tensor([0, 0.5, 0.5, 0, 0]))


def test_edges_of_the_window_are_inside() -> None:
    """|s − p| ≤ D: the query 0 gives share ½ and p = 2 exactly, so window 2 holds all five."""
    found = weights_of(predicted(share=3 / 4, window=2), queries=[0.0], at=0)
    assert bool((found > 0).all())
    assert bool((weights_of(TimeFocus(2), queries=[0.0], at=2) > 0).all())


def test_a_source_of_one_position_gets_all_the_weight() -> None:
    for focus in (TimeFocus(1), TimeFocus(3, gaussian=True), predicted(share=3 / 4, window=1)):
        for causal in (False, True):
            found = weights_of(focus, queries=[1.0, -1.0], at=3, length=1, causal=causal)
            assert found.tolist() == [[1], [1]]


def test_predicted_centre_learns_where_to_look() -> None:
    """The bell curve carries a gradient to v and W: descent moves the centre to position 3 of 4."""
    torch.manual_seed(0)
    focus = PredictedFocus(1, 4, window=2)
    attention = Attention(DotScore(factor=0.0), focus=focus)
    prepared = attention.prepare(torch.ones(1, 5, 1), torch.ones(1, 5, dtype=torch.bool))
    optimizer = torch.optim.Adam(focus.parameters(), lr=0.1)
    for _ in range(100):
        _, weights = attention(torch.ones(1, 1, 1), prepared, torch.tensor([0]))
        loss = -weights[0, 0, 3].log()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert weights[0, 0].argmax() == 3


@pytest.mark.parametrize("window", [0, -1])
def test_local_attention_without_a_window_is_refused(window: int) -> None:
    with pytest.raises(ConfigError, match=f"window of {window} sees nothing"):
        TimeFocus(window)
    with pytest.raises(ConfigError, match=f"window of {window} sees nothing"):
        PredictedFocus(3, 3, window=window)
