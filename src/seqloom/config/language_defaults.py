"""What to choose for models without a source: language models of rows and of streams."""

from seqloom.config.columns import TextConfig
from seqloom.config.presets import RECURRENT, TRANSFORMERS
from seqloom.config.schema import Config
from seqloom.config.serialization import Overrides
from seqloom.errors import ConfigError

__all__ = [
    "CHARACTER_UNITS",
    "check_stream",
    "decoder_without_source",
    "stream_defaults",
    "stream_tokens",
]

STREAM_COUNT = 32  # stretches of the text in a batch
LARGE = 50_000  # words or symbols that a stream's vocabulary may hold
SMALL = 200_000  # tokens that are soon learnt in full precision, ...
VALID_SHARE = 0.02  # ... and of more than those this share tells enough
CHARACTER_UNITS = ("character", "byte")


def check_stream(config: Config) -> None:
    """ConfigError where a stream is asked for and the data cannot be one."""
    if config.data.lines != "stream":
        return
    if config.source.kind != "none":
        raise ConfigError(
            "data.lines = 'stream' is for a text without a source: pass --source none, or leave "
            "it at rows"
        )
    if config.data.weight:
        raise ConfigError(
            "data.weight has no meaning in a stream, which has no rows to weigh: leave it out, or "
            "pass --lines"
        )


def decoder_without_source(preset: str) -> Overrides:
    """What a decoder does without where there is no source to look at or to begin from."""
    if preset not in RECURRENT:
        return {}
    return {"attention": {"kind": "none"}, "first_state": "zero"}


def stream_defaults(target: TextConfig, preset: str, tokens: float) -> Overrides:
    """What suits a stream of so many tokens: its vocabulary, its model, lanes with chunks of as
    many characters or words as a sentence or two have, and how much is held out."""
    spelt = target.unit in CHARACTER_UNITS
    steps = 100 if spelt else 35
    training = {"truncate": steps, "batch_tokens": STREAM_COUNT * steps, "label_smoothing": 0.0}
    chosen: Overrides = {
        "model": {} if preset in TRANSFORMERS else _layers(tokens, spelt=spelt),
        "training": {**training, "precision": "float32" if tokens < SMALL else "auto"},
    }
    if tokens >= SMALL:
        chosen["data"] = {"valid_share": VALID_SHARE}
    if target.unit in ("word", "symbol"):
        chosen["target"] = {"size": LARGE}
    return chosen


def stream_tokens(target: TextConfig) -> int:
    """How many tokens are read in all passes over a stream: a character takes far less work than a
    word, whose vocabulary is large, and tells less."""
    return 17_500_000 if target.unit in CHARACTER_UNITS else 10_600_000


def _layers(tokens: float, *, spelt: bool) -> Overrides:
    """Layers that carry their state along, as wide as so many tokens repay: one of characters, for
    which many passes do more than a second layer, two of words."""
    limits = (300_000, 3_000_000, 30_000_000) if spelt else (100_000, 2_000_000, 20_000_000)
    widths = (256, 512, 768, 1_024) if spelt else (128, 320, 512, 768)
    width = widths[sum(tokens >= limit for limit in limits)]
    layers, dropout = (1, 0.4) if spelt else (2, 0.2)
    decoder = {"width": width, "layers": layers, "dropout": dropout, "readout": "affine"}
    return {"embedding": 64 if spelt else width, "tie_output": not spelt, "decoder": decoder}
