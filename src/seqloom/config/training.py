"""The options of training: losses, update rules, rates, teacher forcing, when to stop (S6)."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from seqloom.config.sections import Choice, Count, NameOf, PartOptions, Positive, Section, Share
from seqloom.registry import Family

__all__ = [
    "FORCING",
    "OPTIMIZERS",
    "SCHEDULES",
    "AdamConfig",
    "AdamWConfig",
    "AlwaysForcingConfig",
    "ConstantForcingConfig",
    "DecayForcingOptions",
    "ExponentialForcingConfig",
    "ForcingConfig",
    "ForcingOptions",
    "FreeRunningChoice",
    "FreeRunningOptions",
    "FrozenPart",
    "InverseSigmoidForcingConfig",
    "LinearForcingConfig",
    "MuonConfig",
    "NeverForcingConfig",
    "OptimizerConfig",
    "OptimizerOptions",
    "SgdConfig",
    "TeachingConfig",
    "TrainingConfig",
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


NonNegative = Annotated[float, Field(ge=0)]
FrozenPart = Literal["front", "encoder", "decoder", "embeddings", "all-but-output"]
"""A part of the model whose weights stay as they are (S6.7)."""


def one_or_several(value: Any) -> Any:
    """Lets a list be written as its only member."""
    return [value] if isinstance(value, str) else value


BETAS = "decay factors of the running means of gradient and square"
WEIGHT_DECAY = "decoupled weight decay, for matrices"
MOMENTUM = "momentum coefficient"


class OptimizerOptions(PartOptions):
    """What every update rule can be asked."""

    def scale_rate(self, usual: float) -> float:
        """The highest learning rate in the measure of this rule, where AdamW takes `usual`."""
        return usual


OPTIMIZERS: Family[OptimizerOptions, Any] = Family(
    "optimizer", home="seqloom.training.optimizer", meaning="the update rule"
)
SCHEDULES: Family[Any, Any] = Family(
    "schedule",
    home="seqloom.training.optimizer",
    meaning="how the rate falls afterwards",
    names=("cosine", "linear", "inverse-sqrt", "plateau", "constant"),
)


@OPTIMIZERS.options("adamw")
class AdamWConfig(OptimizerOptions):
    """Adam with decoupled weight decay (S6.6)."""

    kind: Literal["adamw"] = "adamw"
    betas: tuple[Share, Share] = Field((0.9, 0.98), description=BETAS)
    weight_decay: NonNegative = Field(0.01, description=WEIGHT_DECAY)


@OPTIMIZERS.options("adam")
class AdamConfig(OptimizerOptions):
    """Adam (S6.6)."""

    kind: Literal["adam"] = "adam"
    betas: tuple[Share, Share] = Field((0.9, 0.98), description=BETAS)


@OPTIMIZERS.options("sgd")
class SgdConfig(OptimizerOptions):
    """Gradient descent, with momentum if so wished (S6.6)."""

    kind: Literal["sgd"] = "sgd"
    momentum: Share = Field(0.0, description=MOMENTUM)

    def scale_rate(self, usual: float) -> float:
        """One step of the size of the gradient, momentum included."""
        return round(1.0 - self.momentum, 6)


@OPTIMIZERS.options("muon")
class MuonConfig(OptimizerOptions):
    """Momentum made orthogonal for matrices, AdamW for tables, vectors and all else."""

    kind: Literal["muon"] = "muon"
    momentum: Share = Field(0.95, description=MOMENTUM)
    betas: tuple[Share, Share] = Field((0.9, 0.98), description=BETAS)
    weight_decay: NonNegative = Field(0.01, description=WEIGHT_DECAY)

    def scale_rate(self, usual: float) -> float:
        """Orthogonal updates bear a higher rate."""
        return 5 * usual


OptimizerConfig = Annotated[OptimizerOptions, Choice(OPTIMIZERS, default="adamw")]
"""Any update rule that is registered."""


class TeachingConfig(Section):
    """Token-level distillation: what a student learns besides the labels."""

    runs: Annotated[tuple[str, ...], BeforeValidator(one_or_several)] = Field(
        (),
        description="runs whose distribution at each position is learnt, together if several; the "
        "new run has the vocabulary of the first",
    )
    share: Probability = Field(
        0.5, description="share of the loss that is theirs; labels have the rest"
    )
    temperature: Temperature = Field(
        1.0, description="temperature of both distributions; above 1, unlikely symbols count more"
    )
    symbols: Positive = Field(8, description="likeliest symbols of a position that are kept")


class TrainingConfig(Section):
    """How weights are found (S6)."""

    updates: Positive = Field(10_000, description="number of updates, unless stopped earlier")
    batch_tokens: Positive = Field(
        4_096, description="largest number of positions a side in one batch, padding included"
    )
    batch_rows: Count = Field(
        0, description="largest number of rows in one batch; 0 sets no limit, 1 is incremental"
    )
    accumulate: Positive = Field(1, description="batches whose gradients make one update")
    loss: Literal["tokens", "mean", "sum"] = Field(
        "tokens",
        description="mean over all tokens of a batch; or mean or sum over the steps of each row, "
        "and then the mean over rows",
    )
    label_smoothing: Share = Field(0.1, description="probability spread over the whole vocabulary")
    agreement: NonNegative = Field(
        0.0,
        description="R-Drop: each row is read twice, with other values dropped, and how far the "
        "two distributions at a position are apart counts so much in the loss; 0 reads it once",
    )
    one_position: bool = Field(
        False, description="take the loss of each row at one output position, drawn anew each time"
    )
    forcing: ForcingConfig = AlwaysForcingConfig()
    truncate: Count = Field(
        0,
        description="target steps that a gradient goes back through; of a label, tags or a number, "
        "source steps; 0 goes back to the first",
    )
    l1: NonNegative = Field(
        0.0, description="λ of the penalty λ/n Σ|w| on matrices, n training rows"
    )
    l2: NonNegative = Field(
        0.0, description="λ of the penalty λ/n Σw² on matrices, n training rows"
    )
    optimizer: OptimizerConfig = AdamWConfig()
    rate: Annotated[float, Field(gt=0)] = Field(1e-3, description="highest learning rate")
    warmup: Count = Field(400, description="updates over which the rate rises to its highest")
    decay: Annotated[str, NameOf(SCHEDULES)] = Field("cosine", description=SCHEDULES.meaning)
    final_rate: Share = Field(
        0.02, description="share of the rate left at the end of a cosine or linear decay"
    )
    plateau_patience: Positive = Field(
        2, description="plateau: validations without improvement before the rate falls"
    )
    plateau_factor: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.5, description="plateau: what the rate is multiplied with"
    )
    clip_norm: NonNegative = Field(
        1.0, description="largest norm of the gradient; 0 leaves it alone"
    )
    clip_value: NonNegative = Field(
        0.0, description="largest value of the gradient, of either sign; 0 leaves it alone"
    )
    precision: Literal["float32", "bfloat16", "auto"] = Field(
        "float32",
        description="bfloat16 computes products in half the bits; auto does so where the "
        "processor has a unit for it",
    )
    freeze: Annotated[tuple[FrozenPart, ...], BeforeValidator(one_or_several)] = Field(
        (),
        description="parts that stay: front (its convolutions), encoder, decoder, embeddings, "
        "all-but-output",
    )
    extend_vocabulary: bool = Field(
        False,
        description="when beginning from another run: add symbols of the new data that it lacks",
    )
    teaching: TeachingConfig = TeachingConfig()
    validate_every: Positive = Field(500, description="updates between two looks at held-out data")
    monitor: Literal["loss", "metric"] = Field(
        "metric", description="what decides which step is best: held-out loss or metric"
    )
    patience: Count = Field(
        5, description="validations without improvement before stopping; 0 never stops"
    )
    target: NonNegative = Field(
        0.0, description="stop when the monitored result is as good as this; 0 has no target"
    )
    minutes: NonNegative = Field(
        0.0,
        description="budget of time, resumptions included: the learning rate falls so that "
        "training ends within it; 0 sets no limit",
    )
    average: Literal["none", "last", "best", "moving"] = Field(
        "last",
        description="use the mean of the last or the best saved steps, or a moving average that "
        "follows every update",
    )
    average_steps: Positive = Field(4, description="last, best: how many steps are averaged")
    average_decay: Share = Field(
        0.999, description="moving: share of the old average in the new, less in the beginning"
    )
    skip_nonfinite: Count = Field(
        0, description="updates with a non-finite gradient to leave out before stopping"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where the model learns; auto takes a GPU where torch finds one"
    )
    workers: Count = Field(
        0, description="processes that share each batch; 0 chooses: one a core where it pays"
    )
    samples: Count = Field(3, description="held-out examples shown at each validation")
    curves: bool = Field(
        True,
        description="draw the learning curves into curves.png when training is over, and a "
        "held-out forecast of a series into forecast.png",
    )
    tensorboard: bool = Field(
        False, description="also write the figures for TensorBoard, into the run directory"
    )
    mlflow: bool = Field(
        False,
        description="also write options, figures and pictures to MLflow's local store, mlflow.db "
        "beside the run directory",
    )
