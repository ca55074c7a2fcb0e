"""Options of training: losses, optimizers, schedules, teacher forcing, stopping (S6)."""

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
"""What a decoder reads of its own output in place of the label."""


class ForcingOptions(PartOptions):
    """Options of every kind of teacher forcing."""

    @property
    def free_running(self) -> "FreeRunningOptions | None":
        """The options, if some steps read the model's own output; else None."""
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
    """Options of steps that read the model's own output."""

    choice: FreeRunningChoice = Field(
        "greedy",
        description="what a step reads in place of the label: the most probable token (with soft "
        "feedback, the mean embedding), a sample, or a Gumbel-softmax sample, "
        "straight-through or soft",
    )
    temperature: Temperature = Field(
        1.0, description="straight-through, soft: softmax temperature at the first update"
    )
    final_temperature: Temperature = Field(
        1.0, description="and at the last; it changes geometrically in between"
    )
    overrun: Count = Field(
        5,
        description="steps that an output may continue past the target's end, each counted in "
        "the loss",
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
    """Options of a probability that decays from 1 over training."""

    half: Count = Field(
        0,
        description="update at which the probability is one half; 0: half of training.updates",
    )
    least: Probability = Field(0.0, description="the lowest probability")


@FORCING.options("linear")
class LinearForcingConfig(DecayForcingOptions):
    """Linear decay."""

    kind: Literal["linear"] = "linear"


@FORCING.options("exponential")
class ExponentialForcingConfig(DecayForcingOptions):
    """Exponential decay."""

    kind: Literal["exponential"] = "exponential"


@FORCING.options("inverse-sigmoid")
class InverseSigmoidForcingConfig(DecayForcingOptions):
    """Inverse sigmoid decay."""

    kind: Literal["inverse-sigmoid"] = "inverse-sigmoid"


ForcingConfig = Annotated[ForcingOptions, Choice(FORCING, default="always")]
"""Any kind of teacher forcing that is registered."""


NonNegative = Annotated[float, Field(ge=0)]
FrozenPart = Literal["front", "encoder", "decoder", "embeddings", "all-but-output"]
"""A part of the model whose weights are frozen (S6.7)."""


def one_or_several(value: Any) -> Any:
    """Accept a single value in place of a list."""
    return [value] if isinstance(value, str) else value


BETAS = "decay rates of the moving averages of the gradient and its square"
WEIGHT_DECAY = "decoupled weight decay, for matrices"
MOMENTUM = "momentum coefficient"


class OptimizerOptions(PartOptions):
    """Options of every optimizer."""

    def scale_rate(self, usual: float) -> float:
        """The peak learning rate of this optimizer, given AdamW's."""
        return usual


OPTIMIZERS: Family[OptimizerOptions, Any] = Family(
    "optimizer", home="seqloom.training.optimizer", meaning="the optimizer"
)
SCHEDULES: Family[Any, Any] = Family(
    "schedule",
    home="seqloom.training.optimizer",
    meaning="learning rate schedule after warm-up",
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
    """Gradient descent, optionally with momentum (S6.6)."""

    kind: Literal["sgd"] = "sgd"
    momentum: Share = Field(0.0, description=MOMENTUM)

    def scale_rate(self, usual: float) -> float:
        """A rate for steps as large as the gradient, including momentum."""
        return round(1.0 - self.momentum, 6)


@OPTIMIZERS.options("muon")
class MuonConfig(OptimizerOptions):
    """Orthogonalized momentum for matrices, AdamW for embeddings and all other parameters."""

    kind: Literal["muon"] = "muon"
    momentum: Share = Field(0.95, description=MOMENTUM)
    betas: tuple[Share, Share] = Field((0.9, 0.98), description=BETAS)
    weight_decay: NonNegative = Field(0.01, description=WEIGHT_DECAY)

    def scale_rate(self, usual: float) -> float:
        """A higher rate, which orthogonal updates tolerate."""
        return 5 * usual


OptimizerConfig = Annotated[OptimizerOptions, Choice(OPTIMIZERS, default="adamw")]
"""Any update rule that is registered."""


class TeachingConfig(Section):
    """Options of token-level distillation."""

    runs: Annotated[tuple[str, ...], BeforeValidator(one_or_several)] = Field(
        (),
        description="teacher runs whose distribution at each position is learnt, as an ensemble "
        "if several; the new run has the first one's vocabulary",
    )
    share: Probability = Field(
        0.5, description="weight of the teachers in the loss; labels get the rest"
    )
    temperature: Temperature = Field(
        1.0, description="temperature of both distributions; above 1, improbable symbols count more"
    )
    symbols: Positive = Field(8, description="top symbols kept per position")


class TrainingConfig(Section):
    """Options of training (S6)."""

    updates: Positive = Field(10_000, description="number of updates, unless stopped earlier")
    batch_tokens: Positive = Field(
        4_096, description="batch size in positions of each side, including padding"
    )
    batch_rows: Count = Field(
        0, description="largest number of rows in a batch; 0: no limit, 1: online learning"
    )
    accumulate: Positive = Field(
        1, description="batches whose gradients are accumulated for one update"
    )
    loss: Literal["tokens", "mean", "sum"] = Field(
        "tokens",
        description="reduction of the loss: mean over all tokens of a batch, or mean or sum over "
        "each row's steps and then the mean over rows",
    )
    label_smoothing: Share = Field(
        0.1, description="label smoothing: probability spread over the vocabulary"
    )
    agreement: NonNegative = Field(
        0.0,
        description="R-Drop: weight of the divergence between two passes with different dropout; "
        "0: one pass",
    )
    one_position: bool = Field(
        False, description="compute the loss of each row at one random output position"
    )
    forcing: ForcingConfig = AlwaysForcingConfig()
    truncate: Count = Field(
        0,
        description="truncated backpropagation: target steps that gradients flow back (source "
        "steps for a label, tags or a number); 0: all",
    )
    l1: NonNegative = Field(
        0.0, description="L1 penalty λ/n Σ|w| on matrices, with n training rows"
    )
    l2: NonNegative = Field(0.0, description="L2 penalty λ/n Σw² on matrices, with n training rows")
    optimizer: OptimizerConfig = AdamWConfig()
    rate: Annotated[float, Field(gt=0)] = Field(1e-3, description="peak learning rate")
    warmup: Count = Field(400, description="warm-up: updates until the peak learning rate")
    decay: Annotated[str, NameOf(SCHEDULES)] = Field("cosine", description=SCHEDULES.meaning)
    final_rate: Share = Field(
        0.02, description="fraction of the peak rate at the end of a cosine or linear decay"
    )
    plateau_patience: Positive = Field(
        2, description="plateau: validations without improvement before the rate is lowered"
    )
    plateau_factor: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.5, description="plateau: factor by which the rate is multiplied"
    )
    clip_norm: NonNegative = Field(1.0, description="gradient clipping by norm; 0: off")
    clip_value: NonNegative = Field(0.0, description="gradient clipping by absolute value; 0: off")
    precision: Literal["float32", "bfloat16", "auto"] = Field(
        "float32",
        description="precision of matrix products; auto: bfloat16 if the processor supports it",
    )
    freeze: Annotated[tuple[FrozenPart, ...], BeforeValidator(one_or_several)] = Field(
        (),
        description="parts to freeze: front (its convolutions), encoder, decoder, embeddings, "
        "all-but-output",
    )
    extend_vocabulary: bool = Field(
        False,
        description="fine-tuning: add symbols of the new data that the base run lacks",
    )
    teaching: TeachingConfig = TeachingConfig()
    validate_every: Positive = Field(500, description="updates between two validations")
    monitor: Literal["loss", "metric"] = Field(
        "metric", description="criterion of the best step: held-out loss or metric"
    )
    patience: Count = Field(
        5, description="early stopping: validations without improvement; 0: off"
    )
    target: NonNegative = Field(
        0.0, description="stop when the monitored result reaches this; 0: off"
    )
    minutes: NonNegative = Field(
        0.0,
        description="time budget in minutes, including resumed sessions: the schedule is fitted "
        "to it; 0: no limit",
    )
    average: Literal["none", "last", "best", "moving"] = Field(
        "last",
        description="weight averaging: the last or the best checkpoints, or an exponential "
        "moving average",
    )
    average_steps: Positive = Field(4, description="last, best: number of checkpoints averaged")
    average_decay: Share = Field(
        0.999, description="moving: decay of the average, lower at the start"
    )
    skip_nonfinite: Count = Field(
        0, description="updates with a nonfinite gradient to skip before stopping"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="device of training; auto: a GPU if torch finds one"
    )
    workers: Count = Field(
        0,
        description="processes that share each batch; 0: automatic, one per core if that is faster",
    )
    samples: Count = Field(3, description="held-out examples shown at each validation")
    curves: bool = Field(
        True,
        description="after training, plot learning curves as curves.png, and for series a "
        "held-out forecast as forecast.png",
    )
    tensorboard: bool = Field(False, description="also log to TensorBoard, in the run directory")
    mlflow: bool = Field(
        False,
        description="also log options, metrics and pictures to MLflow's local store, mlflow.db "
        "beside the run directory",
    )
