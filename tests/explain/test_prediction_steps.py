"""S9: an output step by step, in words and as a page that a keyboard steps through."""

from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from seqloom.drawing.views import text_of, write
from seqloom.explanations.attention import attention_of
from seqloom.explanations.network_graphs import decoder_reads
from seqloom.explanations.prediction_steps import PredictionSteps, explain_steps
from seqloom.prediction import OutputOptions, TokenAlternative
from seqloom.tasks import explain_output
from tests.explain.browser import browser, complaints
from tests.explain.pictures import texts
from tests.explain.tiny_models import named
from tests.prediction.untrained import untrained


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_steps_say_what_predict_says(kind: str) -> None:
    """Tokens, probabilities, alternatives and attention are those of the output itself."""
    model = untrained(kind)
    output = model.predict(["abc"], options=OutputOptions(attention=True, alternatives=5))[0]
    found = explain_steps(model, explain_output(model, "abc"))
    assert [step.wrote for step in found.steps] == [token.text for token in output.tokens]
    assert found.steps[0].read == "<start>"
    for step, token in zip(found.steps, output.tokens, strict=True):
        assert step.log_probability == pytest.approx(token.log_probability, abs=1e-9)
        assert [best.text for best in step.best][:1] == [token.alternatives[0].text]
        assert np.exp([best.log_probability for best in step.best]).sum() <= 1 + 1e-9
    weights = np.array([step.attention for step in found.steps])
    np.testing.assert_allclose(
        weights,
        attention_of(model, explain_output(model, "abc")).select_map().weights,
        atol=1e-6,
    )
    assert bool(found.steps[0].layers) == (kind == "lstm")


def test_the_state_of_a_step_is_as_large_as_its_vector() -> None:
    """‖h‖ of an LSTM is at most √D, and its gates lie between 0 and 1."""
    model = untrained("lstm")
    for step in explain_steps(model, explain_output(model, "abc")).steps:
        (layer,) = step.layers
        assert 0 < layer.norm <= 3
        assert set(layer.gates) == {"input", "forget", "output"}
        assert all(0 < value < 1 for value in layer.gates.values())


def test_steps_in_words_and_as_a_picture(tmp_path: Path) -> None:
    model = untrained("lstm")
    found = explain_steps(model, explain_output(model, "abc", "ab"))
    text = text_of(found)
    assert text.startswith("step 1: reads <start>, writes a with p ")
    assert text.count("best words") == 3
    write(found, tmp_path / "steps.svg", title="")
    assert set(texts(tmp_path / "steps.svg")) >= {"a", "b", "<end>", "probability", "mean gate"}


def hostile() -> PredictionSteps:
    """Symbols that would break a page which did not take care."""
    model = untrained("lstm")
    made = explain_steps(model, explain_output(model, "abc", "ab"))
    first = made.steps[0]
    bad = (TokenAlternative("</script><b id='injected'>", -0.1), *first.best[1:])
    changed = type(first)(**{**vars(first), "wrote": "<i>&", "best": bad})
    return PredictionSteps(
        ("מלך", "年", "<end>", "x")[: len(made.source)], (changed, *made.steps[1:])
    )


def test_a_page_is_stepped_through_with_the_keyboard(tmp_path: Path) -> None:
    """Arrow keys, Home and End; offline, without an error, and no text becomes markup."""
    path = tmp_path / "steps.html"
    write(hostile(), path, title="a <title>")
    with browser() as opened:
        opened.get(path.as_uri())
        body = opened.find_element(By.TAG_NAME, "body")

        def place() -> str:
            return opened.find_element(By.ID, "place").text

        assert opened.title == "a <title>"
        assert opened.find_element(By.ID, "wrote").text == "<i>&"
        assert not opened.find_elements(By.ID, "injected")
        assert place().startswith("step 1 of 3")
        for key, step in ((Keys.ARROW_RIGHT, 2), (Keys.END, 3), (Keys.ARROW_RIGHT, 3),
                          (Keys.ARROW_LEFT, 2), (Keys.HOME, 1)):  # fmt: skip
            body.send_keys(key)
            assert place().startswith(f"step {step} of 3")
        opened.find_elements(By.CSS_SELECTOR, ".output span")[2].click()
        assert opened.find_element(By.ID, "wrote").text == "<end>"
        assert complaints(opened) == []


@pytest.mark.parametrize(
    ("kind", "reads"),
    [
        ("lstm form a", [(False, ()), (False, ())]),
        ("lstm form b", [(True, ()), (True, ())]),
        ("lstm form c", [(True, ("z*",)), (True, ("z*",))]),
        ("lstm form f", [(False, ("z*",)), (False, ())]),
        ("lstm form soft", [(True, ()), (False, ("the distribution before",))]),
        ("additive local fed", [(True, ()), (True, ("the features before",))]),
        ("lstm reads and writes", [(True, ()), (True, ())]),
    ],
)
def test_steps_say_what_is_really_read(
    kind: str, reads: list[tuple[bool, tuple[str, ...]]]
) -> None:
    """S3.2: a form without feedback reads no output, one with the code reads it at every step."""
    assert decoder_reads(named(kind), 2) == reads
