"""The durable run directory: save, verify, find the latest, average."""

from seqloom.store.checkpoints import Checkpoint, SkippedCheckpoint, average_tensors, step_name
from seqloom.store.directory import RunDirectory

__all__ = ["Checkpoint", "RunDirectory", "SkippedCheckpoint", "average_tensors", "step_name"]
