"""What sections of the configuration are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "LARGEST",
    "Count",
    "DropoutRate",
    "Layers",
    "PartOptions",
    "Positive",
    "Section",
    "Share",
    "Width",
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


class PartOptions(Section):
    """The options of one member of a family, which `kind` tells apart from the others.

    A member declares `kind: Literal["name"] = "name"`.
    """

    kind: str
