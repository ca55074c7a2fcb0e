"""The source columns of a record as the one cell that its field reads."""

from seqloom.config import DataConfig
from seqloom.data.readers.dialogs import history_record
from seqloom.data.readers.reader import Record
from seqloom.data.report import Fault
from seqloom.fields import join_turns

__all__ = ["join_columns", "source_record"]


def join_columns(record: Record, config: DataConfig) -> Record:
    """A record of several source columns with one cell in their place; empty where all are."""
    count = len(config.source_columns)
    sources = record.cells[:count]
    cell = join_turns(sources) if any(map(str.strip, sources)) else ""
    return Record(record.place, [cell, *record.cells[count:]])


def source_record(record: Record, config: DataConfig) -> Record | Fault:
    """A record of the source columns alone, as one cell."""
    if config.turns:
        return history_record(record)
    return join_columns(record, config) if config.columns else record
