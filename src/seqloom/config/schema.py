"""The one list of options: a field here is a TOML key, a `--set` name and a row of the manual.

A choice between parts is a union of small classes told apart by `kind`; only `model.build` asks.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AttentionConfig",
    "Config",
    "DataConfig",
    "DecoderConfig",
    "EncoderConfig",
    "ModelConfig",
    "RecurrentDecoderConfig",
    "RecurrentEncoderConfig",
    "SearchConfig",
    "TextConfig",
    "TrainingConfig",
    "TransformerDecoderConfig",
    "TransformerEncoderConfig",
]

Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Dropped = Annotated[float, Field(ge=0.0, le=0.9)]
Width = Annotated[int, Field(ge=1, le=16_384)]
Layers = Annotated[int, Field(ge=1, le=64)]
LARGEST = 2**63 - 1  # what TOML promises to hold
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]


class Section(BaseModel):
    """A part of the configuration: immutable, and strict about names."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True
    )


class DataConfig(Section):
    """Where the two columns are and which rows count."""

    source: str = Field("1", description="source column: its name, or its position from 1")
    target: str = Field("2", description="target column: its name, or its position from 1")
    header: Literal["auto", "yes", "no"] = Field(
        "auto", description="whether a TSV or CSV file starts with a line of column names"
    )
    skip_bad: bool = Field(
        False, description="leave out malformed rows and count them, rather than stop at the first"
    )
    max_line: Positive = Field(1_000_000, description="longest line in bytes that is read")
    max_source: Positive = Field(256, description="longest source in tokens")
    max_target: Positive = Field(256, description="longest target in tokens")
    overlong: Literal["drop", "truncate", "error"] = Field(
        "drop", description="what to do with a training row that is longer than that"
    )
    valid_share: Share = Field(
        0.05, description="share of the rows held out where no held-out data is given"
    )
    valid_rows: Positive = Field(2_000, description="and at most this many rows")


class TextConfig(Section):
    """A column of text and the units it is cut into (SPEC S1.3)."""

    kind: Literal["text"] = Field("text", description="what the column holds")
    unit: Literal["character", "word", "subword", "byte"] = Field(
        "subword", description="what a token is"
    )
    algorithm: Literal["unigram", "bpe"] = Field(
        "unigram", description="how subwords are learnt (sentencepiece)"
    )
    size: Positive = Field(8_000, description="largest vocabulary, special symbols included")
    min_count: Positive = Field(1, description="rarer characters or words become <unk>")
    normalize: Literal["none", "NFC", "NFKC"] = Field("NFC", description="Unicode normal form")
    lowercase: bool = Field(False, description="fold capitals to small letters")


class AttentionConfig(Section):
    """How a recurrent decoder looks at the source (SPEC S4.1)."""

    score: Literal["dot", "scaled", "general", "additive"] = Field(
        "general", description="the score of a query and a key"
    )


class RecurrentEncoderConfig(Section):
    """Stacked recurrent layers over the source (SPEC S2.6)."""

    kind: Literal["recurrent"] = Field("recurrent", description="the family of layers")
    unit: Literal["lstm"] = Field("lstm", description="the recurrent unit")
    width: Width = Field(256, description="size of the hidden state of one direction")
    layers: Layers = Field(2, description="number of stacked layers")
    both_directions: bool = Field(True, description="read the source from both ends")
    dropout: Dropped = Field(0.2, description="share of values dropped between layers in training")


class RecurrentDecoderConfig(Section):
    """A recurrent decoder with attention (SPEC S3.2 e)."""

    kind: Literal["recurrent"] = Field("recurrent", description="the family of layers")
    unit: Literal["lstm"] = Field("lstm", description="the recurrent unit")
    width: Width = Field(512, description="size of the hidden state")
    layers: Layers = Field(1, description="number of stacked layers")
    dropout: Dropped = Field(0.2, description="share of values dropped in training")
    attention: AttentionConfig = AttentionConfig()


class TransformerEncoderConfig(Section):
    """Transformer blocks over the source (SPEC S5.4)."""

    kind: Literal["transformer"] = Field("transformer", description="the family of layers")
    width: Width = Field(256, description="size of a position's vector")
    inner: Annotated[int, Field(ge=1, le=65_536)] = Field(
        1024, description="size of the network inside a block"
    )
    heads: Layers = Field(4, description="attention heads; must divide the width")
    layers: Layers = Field(3, description="number of blocks")
    norm: Literal["first", "after"] = Field(
        "first", description="layer norm before or after the sum"
    )
    dropout: Dropped = Field(0.1, description="share of values dropped in training")


class TransformerDecoderConfig(TransformerEncoderConfig):
    """Causal Transformer blocks with attention to the source (SPEC S5.4)."""


EncoderConfig = Annotated[
    TransformerEncoderConfig | RecurrentEncoderConfig, Field(discriminator="kind")
]
DecoderConfig = Annotated[
    TransformerDecoderConfig | RecurrentDecoderConfig, Field(discriminator="kind")
]


class ModelConfig(Section):
    """Embeddings, one encoder, one decoder."""

    embedding: Width = Field(256, description="size of a token's vector")
    share_vocabulary: bool = Field(
        True, description="one vocabulary and one embedding table for source and target"
    )
    tie_output: bool = Field(
        True, description="the output layer is the target embedding table, transposed"
    )
    encoder: EncoderConfig = TransformerEncoderConfig()
    decoder: DecoderConfig = TransformerDecoderConfig()


class TrainingConfig(Section):
    """How weights are found (SPEC S6)."""

    updates: Positive = Field(10_000, description="number of updates, unless stopped earlier")
    batch_tokens: Positive = Field(
        4_096, description="largest number of positions a side in one batch, padding included"
    )
    accumulate: Positive = Field(1, description="batches whose gradients make one update")
    rate: Annotated[float, Field(gt=0)] = Field(1e-3, description="highest learning rate")
    warmup: Count = Field(400, description="updates over which the rate rises to its highest")
    decay: Literal["cosine", "inverse-sqrt", "constant"] = Field(
        "cosine", description="how the rate falls afterwards"
    )
    final_rate: Share = Field(
        0.02, description="share of the rate left at the end of a cosine decay"
    )
    betas: tuple[Share, Share] = Field((0.9, 0.98), description="AdamW's two decay factors")
    weight_decay: Annotated[float, Field(ge=0)] = Field(
        0.01, description="AdamW's decoupled weight decay, for matrices"
    )
    clip_norm: Annotated[float, Field(ge=0)] = Field(
        1.0, description="largest norm of the gradient; 0 leaves it alone"
    )
    label_smoothing: Share = Field(0.1, description="probability spread over the whole vocabulary")
    validate_every: Positive = Field(500, description="updates between two looks at held-out data")
    monitor: Literal["loss", "metric"] = Field(
        "metric", description="what decides which step is best: held-out loss or metric (chrF)"
    )
    patience: Count = Field(
        5, description="validations without improvement before stopping; 0 never stops"
    )
    average: Literal["none", "last", "best"] = Field(
        "last", description="use the average of the last or the best saved steps"
    )
    average_steps: Positive = Field(4, description="how many steps are averaged")
    skip_nonfinite: Count = Field(
        0, description="updates with a non-finite gradient to leave out before stopping"
    )
    workers: Count = Field(
        0, description="processes that share each batch; 0 chooses: one a core where it pays"
    )
    samples: Count = Field(3, description="held-out examples shown at each validation")


class SearchConfig(Section):
    """How outputs are looked for unless a command says otherwise (SPEC S7)."""

    beam: Annotated[int, Field(ge=1, le=1_000)] = Field(
        5, description="paths kept at each step; 1 is greedy"
    )
    length_power: Annotated[float, Field(ge=0)] = Field(
        1.0, description="scores are divided by length to this power when outputs are compared"
    )
    max_ratio: Annotated[float, Field(gt=0)] = Field(
        2.0, description="longest output as a multiple of the source, ..."
    )
    max_extra: Count = Field(20, description="... plus this many tokens")


class Config(Section):
    """Everything that decides what a run becomes; it lies in the run directory as config.toml."""

    seed: Count = Field(1, description="where all randomness starts")
    data: DataConfig = DataConfig()
    source: TextConfig = TextConfig()
    target: TextConfig = TextConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
