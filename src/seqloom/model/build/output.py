"""The output layer that fits a decoder."""

from seqloom.config import ModelConfig
from seqloom.errors import ConfigError
from seqloom.model.build.sizes import Target
from seqloom.nn.embedding import Embedding, OutputLayer

__all__ = ["output_layer"]


def output_layer(config: ModelConfig, width: int, target: Target) -> OutputLayer:
    """An output layer for features of this width."""
    if not config.tie_output or not isinstance(target.vectors, Embedding):
        return OutputLayer(width, target.size, tied=None, bias=config.output_bias)
    if target.vectors.width != width:
        raise ConfigError(
            f"model.tie_output needs features as wide as the embeddings, {target.vectors.width}, "
            f"but the decoder gives {width}: make them equal or set model.tie_output=false"
        )
    return OutputLayer(width, target.size, tied=target.vectors, bias=config.output_bias)
