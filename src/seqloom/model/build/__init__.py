"""From a configuration to a model: the only place that asks which part was chosen.

A choice that cannot work is refused here, before training, with the sizes named.
"""

from seqloom.model.build.model import HeadedModel, Network, SequenceModel, build, build_writer

__all__ = ["HeadedModel", "Network", "SequenceModel", "build", "build_writer"]
