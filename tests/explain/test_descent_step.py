"""S3.3, S6.6: one example of incremental gradient descent, with its numbers."""

from dataclasses import replace

import pytest

from seqloom.drawing.views import text_of
from seqloom.explanations.descent_step import descent_step
from seqloom.tasks import explain_text
from tests.prediction.untrained import untrained


def test_a_step_goes_against_the_gradient() -> None:
    """Residuals are y − c, every entry moves by −η times its gradient, and the loss falls."""
    model = untrained("lstm")
    training = model.config.training.model_copy(update={"rate": 0.05})
    model = replace(model, config=model.config.model_copy(update={"training": training}))
    step = descent_step(model, explain_text(model, "abc", "ab"))
    assert [each.wanted for each in step.residuals] == ["a", "b", "<end>"]
    for each in step.residuals:
        assert each.residual == pytest.approx(each.probability - 1)
        assert 0 <= each.other_residual < 1
    for matrix in step.matrices:
        assert matrix.after == pytest.approx(matrix.before - 0.05 * matrix.gradient)
    assert step.loss_after < step.loss
    told = text_of(step)
    assert "t=1 reads <start>, wants a: y " in told
    assert f"loss after the update: {step.loss_after:.4f}" in told
