"""The durable run directory: save, verify, find the latest, average."""

from seqloom.store.checkpoints import Checkpoint, SkippedCheckpoint, average_tensors, step_name
from seqloom.store.directory import RunDirectory
from seqloom.store.events import EventTail

__all__ = [
    "Checkpoint",
    "EventTail",
    "RunDirectory",
    "SkippedCheckpoint",
    "average_tensors",
    "step_name",
]
