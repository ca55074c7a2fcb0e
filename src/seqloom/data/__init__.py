"""Data sets: files to rows, checks, token ids on disk, batches."""

from seqloom.data.batches import (
    Batches,
    Indices,
    Lengths,
    batches_by_length,
    even_indices,
    padding_share,
)
from seqloom.data.blocks.building import CorpusPlan, build_corpora
from seqloom.data.blocks.splits import Split, TailSplit
from seqloom.data.corpus import Batch, Corpus
from seqloom.data.corpus_pass import CorpusPass
from seqloom.data.encoding import Columns, fingerprint, usable_rows
from seqloom.data.identity import DataIdentity, compare_data, hash_files, identify_data
from seqloom.data.inputs import InputFile
from seqloom.data.masking import Masking
from seqloom.data.memory_inputs import MemoryInput, input_cells, row_cell
from seqloom.data.memory_rows import ArrowTable, Data, DataLike, as_data, has_names, join_targets
from seqloom.data.parts import corpus_names, data_files
from seqloom.data.preview import Preview, preview
from seqloom.data.series_table import SeriesColumns, SeriesTable, read_series
from seqloom.data.stream_batches import Chunk, StreamBatches
from seqloom.data.table import (
    Row,
    describe_data,
    is_stream,
    is_tagged,
    read_lines,
    read_rows,
)
from seqloom.data.windows import (
    Windows,
    WindowShape,
    find_windows,
    source_rows,
    split_ranges,
    window_corpus,
)
from seqloom.fields.recasing import Recasing
from seqloom.readers.arrow import ArrowStream
from seqloom.readers.lines import FileLocation, Reason, file_name
from seqloom.readers.report import DropCount, Report
from seqloom.readers.word_vectors import WordVectors, read_vectors, vectors_size, write_vectors

__all__ = [
    "ArrowStream",
    "ArrowTable",
    "Batch",
    "Batches",
    "Chunk",
    "Columns",
    "Corpus",
    "CorpusPass",
    "CorpusPlan",
    "Data",
    "DataIdentity",
    "DataLike",
    "DropCount",
    "FileLocation",
    "Indices",
    "InputFile",
    "Lengths",
    "Masking",
    "MemoryInput",
    "Preview",
    "Reason",
    "Recasing",
    "Report",
    "Row",
    "SeriesColumns",
    "SeriesTable",
    "Split",
    "StreamBatches",
    "TailSplit",
    "WindowShape",
    "Windows",
    "WordVectors",
    "as_data",
    "batches_by_length",
    "build_corpora",
    "compare_data",
    "corpus_names",
    "data_files",
    "describe_data",
    "even_indices",
    "file_name",
    "find_windows",
    "fingerprint",
    "has_names",
    "hash_files",
    "identify_data",
    "input_cells",
    "is_stream",
    "is_tagged",
    "join_targets",
    "padding_share",
    "preview",
    "read_lines",
    "read_rows",
    "read_series",
    "read_vectors",
    "row_cell",
    "source_rows",
    "split_ranges",
    "usable_rows",
    "vectors_size",
    "window_corpus",
    "write_vectors",
]
