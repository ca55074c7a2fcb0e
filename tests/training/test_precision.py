"""bfloat16 where there is a unit for it (S6.6): near the full gradient, else refused."""

import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.model import SequenceModel
from seqloom.training import check_precision
from seqloom.training.loss import BFLOAT16_FEATURES, Precision, backward, precision_of
from tests.model.models import NAMED, model_of
from tests.training.support import example, training

RECURRENT = ("lstm form e", "gru form d", "gru-after form d", "elman form b", "ssru sinusoids")
NAMES = (*RECURRENT, "dot global fed", "plain sinusoids")


def gradient(model: SequenceModel, precision: Precision) -> torch.Tensor:
    model.zero_grad()
    backward(model, example(0), smoothing=0.1, divisor=24.0, precision=precision)
    found = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    assert all(part.dtype == torch.float32 for part in found)
    return torch.cat(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_nearly_the_same(name: str) -> None:
    """Products in 8 bits of mantissa, sums and weights in 24."""
    torch.manual_seed(1)
    model = model_of(NAMED[name], source_size=9, target_size=9).float()
    full, half = gradient(model, "float32"), gradient(model, "bfloat16")
    assert not torch.equal(full, half)
    assert float((full - half).norm() / full.norm()) < 0.05


def test_it_is_refused_where_there_is_no_unit() -> None:
    able = torch.cpu.get_capabilities()
    check_precision(training())
    check_precision(training(precision="auto"))
    if any(able.get(unit) for unit in BFLOAT16_FEATURES):
        check_precision(training(precision="bfloat16"))
    else:
        with pytest.raises(ConfigError, match="this processor has no unit for it .*; set it to"):
            check_precision(training(precision="bfloat16"))


def test_auto_takes_what_the_processor_has() -> None:
    able = torch.cpu.get_capabilities()
    here = "bfloat16" if any(able.get(unit) for unit in BFLOAT16_FEATURES) else "float32"
    assert precision_of(training(precision="auto")) == here
    assert precision_of(training()) == "float32"
    assert precision_of(training(precision="bfloat16")) == "bfloat16"
