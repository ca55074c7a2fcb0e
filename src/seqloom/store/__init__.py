"""The durable run directory: save, verify, find the latest, average."""

from seqloom.store.directory import RunDirectory
from seqloom.store.checkpoints import Skipped, Step, average

__all__ = ["RunDirectory", "Skipped", "Step", "average"]
