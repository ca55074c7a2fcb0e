"""The durable run directory: save, verify, find the latest."""

from seqloom.store.checkpoints import Checkpoint, SkippedCheckpoint, step_name
from seqloom.store.directory import RunDirectory
from seqloom.store.events import EventTail

__all__ = [
    "Checkpoint",
    "EventTail",
    "RunDirectory",
    "SkippedCheckpoint",
    "step_name",
]
