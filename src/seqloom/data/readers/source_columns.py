"""The source columns of a record as the one cell that its field reads."""

from seqloom.config import DataConfig
from seqloom.data.readers.dialogs import history_record
from seqloom.data.readers.reader import Record
from seqloom.data.report import Fault
from seqloom.fields import join_turns, names_array

__all__ = ["join_columns", "names_file", "source_record"]


def names_file(cell: str, config: DataConfig) -> bool:
    """Whether a source cell is the name of a file."""
    return config.files or (config.arrays and names_array(cell))


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
