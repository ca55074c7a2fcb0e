"""The durable run directory: save, verify, find the latest, average."""

from seqloom.store.checkpoints import Checkpoint, SkippedCheckpoint, average_tensors, step_name
from seqloom.store.directory import RunDirectory
from seqloom.store.monitoring import EventTail, leave_request, take_request

__all__ = [
    "Checkpoint",
    "EventTail",
    "RunDirectory",
    "SkippedCheckpoint",
    "average_tensors",
    "leave_request",
    "step_name",
    "take_request",
]
