"""The options of teacher forcing: how often a decoder reads the label in training, and what else
it reads (S6.3)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from seqloom.config.choices import Choice
from seqloom.config.section import Count, PartOptions
from seqloom.registry import Family

__all__ = [
    "FORCING",
    "AlwaysForcingConfig",
    "ConstantForcingConfig",
    "DecayForcingOptions",
    "ExponentialForcingConfig",
    "ForcingConfig",
    "ForcingOptions",
    "FreeRunningChoice",
    "FreeRunningOptions",
    "InverseSigmoidForcingConfig",
    "LinearForcingConfig",
    "NeverForcingConfig",
]

Probability = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(gt=0, le=1_000)]
FreeRunningChoice = Literal["greedy", "draw", "straight-through", "soft"]
"""What a decoder reads of its own output where it does not read the label."""


class ForcingOptions(PartOptions):
    """What every kind of teacher forcing can be asked."""

    @property
    def free_running(self) -> "FreeRunningOptions | None":
        """The options themselves, if some steps do not read the label."""
        return None


FORCING: Family[ForcingOptions, Any] = Family(
    "kind of teacher forcing",
    home="seqloom.training.teacher_forcing",
    meaning="how often the decoder reads the label in training rather than its own output",
)


@FORCING.options("always")
class AlwaysForcingConfig(ForcingOptions):
    """Plain teacher forcing: every step reads the label."""

    kind: Literal["always"] = "always"


class FreeRunningOptions(ForcingOptions):
    """What steps read that do not read the label."""

    choice: FreeRunningChoice = Field(
        "greedy",
        description="what a step reads in place of the label: the likeliest token (under soft "
        "feedback the mean vector), a draw, or a Gumbel draw that gradients pass through, "
        "straight-through or soft",
    )
    temperature: Temperature = Field(
        1.0, description="straight-through, soft: temperature of the softmax in the first update"
    )
    final_temperature: Temperature = Field(
        1.0, description="and in the last; between them it changes by the same factor each time"
    )
    overrun: Count = Field(
        5, description="steps that an output may run on past the target's end, each at a cost"
    )

    @property
    def free_running(self) -> "FreeRunningOptions":
        return self


@FORCING.options("never")
class NeverForcingConfig(FreeRunningOptions):
    """No step reads the label."""

    kind: Literal["never"] = "never"


@FORCING.options("constant")
class ConstantForcingConfig(FreeRunningOptions):
    """Each step reads the label with the same probability, in every update."""

    kind: Literal["constant"] = "constant"
    probability: Probability = Field(0.75, description="probability that a step reads the label")


class DecayForcingOptions(FreeRunningOptions):
    """A probability that falls from 1 over training."""

    half: Count = Field(
        0,
        description="updates after which the label is read "
        "half of the time; 0 takes half of training.updates",
    )
    least: Probability = Field(0.0, description="the lowest probability")


@FORCING.options("linear")
class LinearForcingConfig(DecayForcingOptions):
    """Along a line."""

    kind: Literal["linear"] = "linear"


@FORCING.options("exponential")
class ExponentialForcingConfig(DecayForcingOptions):
    """By the same factor in each update."""

    kind: Literal["exponential"] = "exponential"


@FORCING.options("inverse-sigmoid")
class InverseSigmoidForcingConfig(DecayForcingOptions):
    """Slowly, then fast, then slowly."""

    kind: Literal["inverse-sigmoid"] = "inverse-sigmoid"


ForcingConfig = Annotated[ForcingOptions, Choice(FORCING, default="always")]
"""Any kind of teacher forcing that is registered."""
