"""What sections of the configuration are made of."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "LARGEST",
    "Count",
    "DropoutRate",
    "Layers",
    "Positive",
    "Section",
    "Share",
    "Width",
    "kind_or_table",
]

LARGEST = 2**63 - 1  # what TOML promises to hold
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
DropoutRate = Annotated[float, Field(ge=0.0, le=0.9)]
Width = Annotated[int, Field(ge=1, le=16_384)]
Layers = Annotated[int, Field(ge=1, le=64)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]


class Section(BaseModel):
    """A part of the configuration: immutable, and strict about names."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True
    )


def kind_or_table(default: str) -> Callable[[Any], Any]:
    """Lets a choice be written as its bare kind, and its options without the kind."""

    def table(value: Any) -> Any:
        if isinstance(value, str):
            return {"kind": value}
        if isinstance(value, Mapping) and "kind" not in value:
            return {"kind": default, **value}
        return value

    return table
