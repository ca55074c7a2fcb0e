"""From a configuration to a network.

Each chosen part builds itself from its options and the sizes around it. A choice that cannot work
is refused here, before training, with the sizes named.
"""

from seqloom.model.build.model import build, build_on_meta, build_sequence_model

__all__ = ["build", "build_on_meta", "build_sequence_model"]
