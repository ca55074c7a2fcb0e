"""What can be seen of an output over HTTP: the values that `seqloom look` shows."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from seqloom.config import ServingConfig
from seqloom.explanations.attention import Attentions, attention_of
from seqloom.explanations.attribution import attribute
from seqloom.explanations.explained_output import ExplainedOutput
from seqloom.explanations.plain_values import round_values
from seqloom.prediction import Predictor
from seqloom.serving.inputs import Input, StrictModel
from seqloom.serving.requests import check_inputs, check_limit

__all__ = ["LOOKS", "LookRequest", "look_cost"]

LONGEST_INTEGRAL = 256  # points at which gradients are integrated, at most
Number = Annotated[int, Field(ge=1, le=10_000)]


class LookRequest(StrictModel):
    """An input, the output that is looked at, and what is to be seen of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"input": "Elle est seule.", "show": "attention", "layer": 1}]
        }
    )

    model: str | None = Field(None, description="which model, by its name; the first if absent")
    input: Input = Field(description="as an input of /v1/predict")
    tokens: list[str] | None = Field(
        None,
        description="the output, in tokens as answers name them; the model's own if absent",
    )
    show: Literal["attention", "attribution"] = Field("attention", description="what is seen")
    of: str | None = Field(
        None, description="attention: cross, encoder or decoder; the first of these if absent"
    )
    layer: Number | None = Field(None, description="counted from 1; the last if absent")
    head: Number | None = Field(None, description="counted from 1; all of them if absent")
    pool: Literal["mean", "max"] = Field("mean", description="what is made of all heads")
    method: Literal["gradient", "integrated", "erasure"] = Field(
        "gradient", description="how an attribution is computed"
    )

    def check_sizes(self, limits: ServingConfig) -> None:
        """LimitError that names the first limit which the request exceeds."""
        check_inputs("input", [self.input], limits)
        size = sum(map(len, self.tokens or ()))
        check_limit("characters", size, limits.characters, said="tokens")


def look_cost(request: LookRequest, characters: int) -> int:
    """Positions that are read for it, at most."""
    length = characters + len(request.tokens or "") + 1
    if request.show != "attribution":
        return length
    passes = {"gradient": 1, "integrated": LONGEST_INTEGRAL, "erasure": length}
    return length * passes[request.method]


def _attention(model: Predictor, explained: ExplainedOutput, wanted: LookRequest) -> dict[str, Any]:
    """One layer of one kind of attention, and which there are."""
    found = attention_of(model, explained)
    layer = found.select_layer(wanted.of or (found.kinds or ("cross",))[0], wanted.layer)
    weights = layer.pool(wanted.head, maximum=wanted.pool == "max")
    return {
        "of": layer.kind,
        "layer": layer.layer,
        "rows": list(layer.rows),
        "columns": list(layer.columns),
        "weights": round_values(weights),
        "choices": _choices(found),
    }


def _choices(found: Attentions) -> list[dict[str, Any]]:
    """Every kind of attention with its layers, each with the number of its heads."""
    return [
        {
            "of": kind,
            "layers": [
                {"layer": each.layer, "heads": len(each.weights)}
                for each in found.select_layers(kind)
            ],
        }
        for kind in found.kinds
    ]


def _attribution(
    model: Predictor, explained: ExplainedOutput, wanted: LookRequest
) -> dict[str, Any]:
    """What each part of the source, and of the output before it, did for each output."""
    return {
        "method": wanted.method,
        "quantity": explained.quantity,
        "rows": list(explained.target),
        "source": list(explained.feature_names),
        "inputs": list(explained.inputs),
        "weights": round_values(attribute(model.network, explained, wanted.method)),
    }


LOOKS: dict[str, Callable[[Predictor, ExplainedOutput, LookRequest], dict[str, Any]]] = {
    "attention": _attention,
    "attribution": _attribution,
}
"""What computes each kind that a request may show."""
