"""Data sets: files to rows, checks, token ids on disk, batches."""

from seqloom.data.batches import Batches, Indices, Lengths, in_order, padding_share, spread
from seqloom.data.corpus import Batch, Corpus, kind_in_batch
from seqloom.data.encoding import Columns, fingerprint, usable
from seqloom.data.masking import Masking
from seqloom.data.readers.gettext import Gap, PoFile
from seqloom.data.readers.lines import file_name
from seqloom.data.readers.series import SeriesColumns, SeriesTable, read_series
from seqloom.data.readers.word_vectors import WordVectors, read_vectors, vectors_size, write_vectors
from seqloom.data.report import Dropped, Place, Reason, Report
from seqloom.data.split import Split, Tail, hold_out
from seqloom.data.stream_batches import Chunk, Lanes
from seqloom.data.survey import Distribution, Overlap, Survey, overlap, survey
from seqloom.data.table import (
    Data,
    Row,
    data_files,
    describe_data,
    is_stream,
    is_tagged,
    read_lines,
    read_rows,
)
from seqloom.data.windows import Shape, Windows, parts, source_rows, window_corpus, windows

__all__ = [
    "Batch",
    "Batches",
    "Chunk",
    "Columns",
    "Corpus",
    "Data",
    "Distribution",
    "Dropped",
    "Gap",
    "Indices",
    "Lanes",
    "Lengths",
    "Masking",
    "Overlap",
    "Place",
    "PoFile",
    "Reason",
    "Report",
    "Row",
    "SeriesColumns",
    "SeriesTable",
    "Shape",
    "Split",
    "Survey",
    "Tail",
    "Windows",
    "WordVectors",
    "data_files",
    "describe_data",
    "file_name",
    "fingerprint",
    "hold_out",
    "in_order",
    "is_stream",
    "is_tagged",
    "kind_in_batch",
    "overlap",
    "padding_share",
    "parts",
    "read_lines",
    "read_rows",
    "read_series",
    "read_vectors",
    "source_rows",
    "spread",
    "survey",
    "usable",
    "vectors_size",
    "window_corpus",
    "windows",
    "write_vectors",
]
