"""Heads that forecast (S1.2, S6.1, S6.3)."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.config import merge, validate
from seqloom.errors import ConfigError
from seqloom.fields import Series
from seqloom.model import HeadModel, Source, build
from seqloom.model.forecast import AutoregressiveForecast, ForecastHead
from seqloom.training import Example, measure
from tests.model.forecast_models import (
    COLUMNS,
    HORIZON,
    KNOWN,
    LAGS,
    MODELS,
    QUANTILES,
    RECURRENT,
    WINDOW,
    model,
)

STEPPED = [
    "gru",
    "lstm without attention",
    "transformer",
    "one network",
    "gru beside a linear path",
]
LINEAR = ["linear", "perceptron", "encoder beside a linear path", "gru beside a linear path"]


def forecast(network: HeadModel, values: Tensor) -> Tensor:
    """(B, T, C, Q) of windows."""
    source = Source(values, torch.full((len(values),), values.shape[1]))
    judged: Tensor = network.head(network.encoder.encode(source))
    return judged.view(*judged.shape[:2], COLUMNS, 1 + len(QUANTILES))


def windows(known: int = KNOWN) -> Tensor:
    """Some windows."""
    torch.manual_seed(2)
    return torch.randn(3, WINDOW, COLUMNS + 1 + known, dtype=torch.float64)


@pytest.mark.parametrize("name", MODELS)
def test_a_forecast_rises_with_its_window(name: str) -> None:
    """Last-value normalisation: a constant added to what was read is added to the forecast."""
    network, values = model(name), windows()
    raised = values.clone()
    raised[..., 0] += 5.0
    difference = forecast(network, raised) - forecast(network, values)
    assert torch.allclose(difference[:, :, 0], torch.full_like(difference[:, :, 0], 5.0))
    assert torch.allclose(difference[:, :, 1], torch.zeros_like(difference[:, :, 1]), atol=1e-9)


@pytest.mark.parametrize("name", STEPPED)
def test_fed_back_is_rolled_by_hand(name: str) -> None:
    """Feeding the means that a free run gave as if they were true gives the same forecast."""
    network, values = model(name), windows()
    free = forecast(network, values)
    memory = network.encoder.encode(Source(values, torch.full((3,), WINDOW)))
    assert isinstance(network.head, AutoregressiveForecast)
    told = network.head.teacher_force(memory, free[..., 0].detach())
    assert torch.allclose(told.unflatten(2, (COLUMNS, -1)), free)


@pytest.mark.parametrize("name", MODELS)
def test_a_step_does_not_know_what_comes(name: str) -> None:
    """Under teacher forcing too: the truth of step t changes no forecast up to step t."""
    network, values = model(name), windows()
    target = torch.randn(3, HORIZON, COLUMNS, dtype=torch.float64)
    other = target.clone()
    other[:, 2] += 1
    memory = network.encoder.encode(Source(values, torch.full((3,), WINDOW)))
    if isinstance(network.head, AutoregressiveForecast):
        one, two = (
            network.head.teacher_force(memory, target),
            network.head.teacher_force(memory, other),
        )
        assert torch.equal(one[:, :3], two[:, :3])
        assert not torch.equal(one[:, 3], two[:, 3])
    else:
        assert torch.equal(network.head(memory), network.head(memory))


@pytest.mark.parametrize("name", ["linear", *STEPPED])
def test_what_is_known_of_a_step_changes_its_forecast(name: str) -> None:
    """Known ahead: of step t, it tells nothing of earlier steps where they are written in turn."""
    network, values = model(name), windows()
    other = values.clone()
    other[:, WINDOW - HORIZON + 2, -1] += 1.0  # what is known of the third step
    one, two = forecast(network, values), forecast(network, other)
    assert not torch.allclose(one[:, 2], two[:, 2])


def test_a_linear_model_reads_no_column_for_another() -> None:
    """One map for all columns that are forecast."""
    network, values = model("linear", known=0), windows(known=0)
    other = values.clone()
    other[:, 1:4, 0] += 1.0
    difference = (forecast(network, other) - forecast(network, values)).detach()
    assert float(difference[:, :, 1].abs().max()) == 0
    assert float(difference[:, :, 0].abs().max()) > 0


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_path_is_added_to_what_the_network_says(name: str) -> None:
    """With all else at zero, x_S + W (x − x_S) + b for each column alone; the means of forecasts
    that are fed back too, as every step sees the window itself."""
    network, values = model(name), windows()
    head = network.head
    assert isinstance(head, ForecastHead)
    assert head.linear_map is not None
    kept = {id(parameter) for parameter in head.linear_map.parameters()}
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(id(parameter) in kept)
    own = values[..., :COLUMNS]
    last = own[:, -1:]
    expected = torch.einsum("bsc,ns->bcn", own - last, head.linear_map.weight)
    expected = (expected + head.linear_map.bias).unflatten(2, (HORIZON, 1 + len(QUANTILES)))
    assert torch.allclose(forecast(network, values), expected.transpose(1, 2) + last[..., None])


@pytest.mark.parametrize("name", STEPPED[:-1])
def test_without_its_decoder_it_is_an_autoregression(name: str) -> None:
    """Each mean is the last value and a weighted sum of the column's last ones less that, its own
    forecasts among them."""
    network, values = model(name), windows()
    assert isinstance(network.head, AutoregressiveForecast)
    with torch.no_grad():
        for path, parameter in network.head.named_parameters():
            parameter.mul_(not path.startswith("decoder.output"))
    weights = network.head.direct.weight[0].detach().numpy()
    found = forecast(network, values)[..., 0].detach().numpy()
    for window, forecasts in zip(values[..., :COLUMNS].numpy(), found, strict=True):
        past = list(window - window[-1])
        for said in forecasts:
            past.append(weights @ np.array(past[-LAGS:]))  # (lags) by (lags, C)
            assert said == pytest.approx(past[-1] + window[-1])


def test_lags_beyond_the_window_are_refused() -> None:
    """With both numbers in the sentence."""
    options = merge({"lags": WINDOW + 1, "tie_output": False}, MODELS["gru"])
    config = validate({"model": options}, place="test").model
    with pytest.raises(ConfigError, match=r"model.lags = 7 .* source.window = 6"):
        build(config, source=Series(2, WINDOW), target=Series(2, 3))


def test_the_loss_is_squared_error_and_pinball() -> None:
    """S6.1, by the definition: (y − m)² + Σ max(q e, (q − 1) e), the mean over columns."""
    network, values = model("linear"), windows()
    target = torch.randn(3, HORIZON, COLUMNS, dtype=torch.float64)
    found = forecast(network, values)
    expected = (target - found[..., 0]) ** 2
    for number, share in enumerate(QUANTILES, 1):
        off = target - found[..., number]
        expected = expected + torch.where(off > 0, share * off, (share - 1) * off)
    source = Source(values, torch.full((3,), WINDOW))
    sums = measure(network, Example(source, target), smoothing=0.0)
    assert sums.loss == pytest.approx(float(expected.mean(dim=2).sum().detach()))
    assert sums.tokens == 3 * HORIZON


def test_teacher_forcing_is_drawn() -> None:
    """S6.3: never at 0, where the truth changes nothing, and always at 1."""
    values = windows()
    target = torch.randn(3, HORIZON, COLUMNS, dtype=torch.float64)
    for forced in (0.0, 1.0):
        network = model("gru", forced=forced).train()
        assert isinstance(network.head, AutoregressiveForecast)
        memory = network.encoder.encode(Source(values, torch.full((3,), WINDOW)))
        told = network.head.teacher_force(memory, target)
        assert torch.allclose(told, network.head(memory)) == (forced == 0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"decoder": {"kind": "label"}},
        {"encoder": {"kind": "none"}},
        {"decoder": {**RECURRENT, "feedback": "soft"}},
    ],
)
def test_what_cannot_forecast_is_refused(changes: dict[str, Any]) -> None:
    """Before training, with a sentence."""
    options = merge({"share_vocabulary": False, "tie_output": False}, MODELS["linear"])
    config = validate({"model": merge(options, changes)}, place="test").model
    with pytest.raises(ConfigError):
        build(config, source=Series(2, 4), target=Series(2, 3))
