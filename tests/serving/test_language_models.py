"""A language model behind HTTP goes on from its input, as everywhere else (S1.2)."""

from dataclasses import replace

from seqloom.config import NoColumnConfig
from seqloom.fields import NoField
from seqloom.search import Greedy
from tests.prediction.untrained import untrained
from tests.serving.support import serving


def test_an_input_is_the_beginning_of_its_output() -> None:
    model = replace(untrained("transformer"), source=NoField(NoColumnConfig()))
    inputs = ["ab", "c"]
    expected = [each.text for each in model.predict(inputs, search=Greedy())]
    assert all(text.startswith(begun) for text, begun in zip(expected, inputs, strict=True))
    with serving({"only": model}) as served:
        answer = served.predict(*inputs, search={"kind": "greedy"})
    assert answer.status == 200, answer.body
    assert [each["text"] for each in answer.json["outputs"]] == expected
