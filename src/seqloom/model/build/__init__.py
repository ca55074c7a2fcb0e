"""From a configuration to a model: the only place that asks which part was chosen.

A choice that cannot work is refused here, before training, with the sizes named.
"""

from seqloom.model.build.whole import SequenceModel, build, build_head

__all__ = ["SequenceModel", "build", "build_head"]
