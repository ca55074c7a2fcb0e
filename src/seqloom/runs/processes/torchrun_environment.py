"""What a launcher such as torchrun tells each process that it starts."""

import os
from typing import NamedTuple

from seqloom.errors import ConfigError

__all__ = ["TorchrunEnvironment", "torchrun_environment"]

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


class TorchrunEnvironment(NamedTuple):
    """This process's number among all, how many there are, and its number on this machine."""

    rank: int
    world: int
    local_rank: int

    @property
    def is_restarted(self) -> bool:
        """Whether the launcher has started the ranks before, with the same command."""
        return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


def torchrun_environment() -> TorchrunEnvironment | None:
    """What a launcher has put into the environment; None where nothing did."""
    if any(name not in os.environ for name in NAMES):
        return None
    values = [os.environ[name] for name in NAMES[:3]]
    if not all(value.isdecimal() for value in values) or not int(values[0]) < int(values[1]):
        told = ", ".join(f"{name}={os.environ[name]}" for name in NAMES[:3])
        raise ConfigError(
            f"the environment says {told}", remedy="start with torchrun, or unset RANK"
        )
    return TorchrunEnvironment(*map(int, values))
