"""From a configuration to a model: the only place that asks which part was chosen.

A choice that cannot work is refused here, before training, with the sizes named.
"""

from seqloom.model.build.model import HeadModel, Network, SequenceModel, build, build_sequence_model

__all__ = ["HeadModel", "Network", "SequenceModel", "build", "build_sequence_model"]
