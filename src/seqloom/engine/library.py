"""The compiled core through ctypes: its location, its structures, and the reason if it is
missing.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.engine.builder import LIBRARY, source_hash

__all__ = [
    "BlockStructure",
    "CodesStructure",
    "ColumnsStructure",
    "FoundStructure",
    "LayerStructure",
    "ListsStructure",
    "MatrixStructure",
    "NormStructure",
    "RecurrentStructure",
    "ScorerStructure",
    "SearchStructure",
    "SourceStructure",
    "StackStructure",
    "StepStructure",
    "TaskStructure",
    "TextStructure",
    "UnitStructure",
    "address",
    "core",
    "core_or_none",
    "instruction_set",
    "instruction_sets",
    "missing_reason",
]

PLACE = "SEQLOOM_ENGINE_LIBRARY"  # environment variable for another library than the installed one
WISHED = "SEQLOOM_INSTRUCTIONS"  # environment variable for another instruction set than the best
STALE = (
    "the compiled engine was built from other sources than those of this version, so Seqloom runs "
    "on torch: build it again with python -m seqloom.engine.builder"
)


class Structure(ctypes.Structure):
    """A structure that keeps the targets of its pointers alive."""

    kept: Any = None


class MatrixStructure(Structure):
    """sl_matrix."""

    _fields_ = [
        ("kind", c_int32),
        ("inputs", c_int32),
        ("outputs", c_int32),
        ("reserved", c_int32),
        ("weights", c_void_p),
        ("scales", c_void_p),
        ("offsets", c_void_p),
        ("bias", c_void_p),
    ]


class NormStructure(Structure):
    """sl_norm."""

    _fields_ = [("gain", c_void_p), ("bias", c_void_p), ("epsilon", c_float), ("width", c_int32)]


class BlockStructure(Structure):
    """sl_block."""

    _fields_ = [
        ("norms", NormStructure * 3),
        ("project", MatrixStructure),
        ("combine", MatrixStructure),
        ("query", MatrixStructure),
        ("merge", MatrixStructure),
        ("widen", MatrixStructure),
        ("narrow", MatrixStructure),
    ]


class UnitStructure(Structure):
    """sl_unit."""

    _fields_ = [
        ("kind", c_int32),
        ("activation", c_int32),
        ("width", c_int32),
        ("real", c_int32),
        ("reset_after", c_int32),
        ("take", c_int32),
        ("project", MatrixStructure),
        ("recur", MatrixStructure),
        ("candidate", MatrixStructure),
    ]


class LayerStructure(Structure):
    """sl_layer."""

    _fields_ = [
        ("units", UnitStructure * 2),
        ("directions", c_int32),
        ("backward", c_int32),
        ("inputs", c_int32),
        ("residual", c_int32),
        ("norm", NormStructure),
    ]


class RecurrentStructure(Structure):
    """sl_recurrent."""

    _fields_ = [
        *((name, c_int32) for name in ("layers", "parts", "width", "output", "vectors")),
        *((name, c_int32) for name in ("feedback", "soft", "code_input", "code_first")),
        *((name, c_int32) for name in ("code_output", "feed", "summed", "query", "score")),
        *(
            (name, c_int32)
            for name in ("heads", "key", "causal", "window", "gaussian", "predicted", "source")
        ),
        *((name, c_int32) for name in ("code", "first_kind", "readout_width")),
        ("stack", POINTER(LayerStructure)),
        ("first", c_void_p),
        ("joins", POINTER(MatrixStructure)),
        ("bridges", MatrixStructure * 2),
        ("ask", MatrixStructure),
        ("keys", MatrixStructure),
        ("second", MatrixStructure),
        ("focus", MatrixStructure),
        ("mean", MatrixStructure),
        ("weigh", c_void_p),
        ("focus_weigh", c_void_p),
        ("readout", MatrixStructure),
        ("bridge_activation", c_int32),
        ("key_factor", c_float),
    ]


class StackStructure(Structure):
    """sl_stack."""

    _fields_ = [
        ("width", c_int32),
        ("heads", c_int32),
        ("head", c_int32),
        ("layers", c_int32),
        ("norm_first", c_int32),
        ("activation", c_int32),
        ("vocabulary", c_int32),
        ("positions", c_int32),
        ("crossing", c_int32),
        ("source_heads", c_int32),
        ("source_head", c_int32),
        ("turned", c_int32),
        ("joint", c_int32),
        ("ssru", c_int32),
        ("backwards", c_int32),
        ("closing", c_int32),
        ("input", c_int32),
        ("turned_states", c_int32),
        ("real", c_int32),
        ("prefix", c_int32),
        ("vectors", c_void_p),
        ("places", c_void_p),
        ("angles", c_void_p),
        ("blocks", POINTER(BlockStructure)),
        ("norm", NormStructure),
        ("mix", MatrixStructure),
        ("sources", MatrixStructure),
        ("output", MatrixStructure),
        ("recurrent", POINTER(RecurrentStructure)),
    ]


class TextStructure(Structure):
    """sl_text."""

    _fields_ = [
        ("sentences", c_int32),
        ("lengths", c_void_p),
        ("tokens", c_void_p),
        ("inputs", c_void_p),
    ]


class ScorerStructure(Structure):
    """sl_scorer."""

    _fields_ = [
        ("pool", c_int32),
        ("width", c_int32),
        ("readout", MatrixStructure),
        ("output", MatrixStructure),
    ]


class CodesStructure(Structure):
    """sl_codes."""

    _fields_ = [("parts", c_int32), ("layers", c_int32), ("width", c_int32), ("values", c_void_p)]


class SourceStructure(Structure):
    """sl_source."""

    _fields_ = [
        ("count", c_int32),
        ("room", c_int32),
        ("keys", c_void_p),
        ("values", c_void_p),
        ("code", c_void_p),
        ("first", c_void_p),
    ]


class StepStructure(Structure):
    """sl_step."""

    _fields_ = [
        ("rows", c_int32),
        ("tokens", c_void_p),
        ("positions", c_void_p),
        ("counts", c_void_p),
        ("inputs", c_void_p),
        ("paths", c_void_p),
        ("sources", c_void_p),
        ("pool", c_void_p),
        ("attention", c_void_p),
        ("attention_stride", c_int64),
    ]


class SearchStructure(Structure):
    """sl_search."""

    _fields_ = [
        ("kind", c_int32),
        ("width", c_int32),
        ("n_best", c_int32),
        ("enough", c_int32),
        ("first", c_int32),
        ("power", c_float),
        ("gnmt", c_float),
        ("reward", c_float),
        ("start", c_int32),
        ("end", c_int32),
        ("forbidden_count", c_int32),
        ("forbidden", c_void_p),
    ]


class ColumnsStructure(Structure):
    """sl_columns."""

    _fields_ = [("symbols", c_void_p), ("matrix", MatrixStructure)]


class ListsStructure(Structure):
    """sl_lists."""

    _fields_ = [
        ("common", ColumnsStructure),
        ("sample", ColumnsStructure),
        ("symbols", c_void_p),
        ("starts", c_void_p),
        ("lexicon", c_void_p),
        ("lexicon_starts", c_void_p),
        ("output_rows", c_void_p),
    ]


class TaskStructure(Structure):
    """sl_task."""

    _fields_ = [
        ("sentences", c_int32),
        ("steps", c_int32),
        ("tokens", c_void_p),
        ("starts", c_void_p),
        ("lengths", c_void_p),
        ("inputs", c_void_p),
        ("longest", c_void_p),
        ("shortest", c_void_p),
        ("lists", POINTER(ListsStructure)),
    ]


class FoundStructure(Structure):
    """sl_found."""

    _fields_ = [
        ("counts", c_void_p),
        ("tokens", c_void_p),
        ("scores", c_void_p),
        ("lengths", c_void_p),
        ("finished", c_void_p),
        ("ranks", c_void_p),
    ]


Matrix = POINTER(MatrixStructure)
Stack = POINTER(StackStructure)
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "sl_source_hash": (c_char_p, []),
    "sl_choose": (c_int, [c_char_p]),
    "sl_chosen": (c_char_p, []),
    "sl_supported": (c_char_p, []),
    "sl_pack_float32": (None, [c_void_p, c_int32, c_int32, c_void_p]),
    "sl_quantise_columns": (None, [c_void_p, c_int32, c_int32, c_void_p, c_void_p, c_void_p]),
    "sl_pack_bytes": (None, [c_void_p, c_void_p, c_int32, c_int32, c_void_p]),
    "sl_quantise": (None, [c_void_p, c_int32, c_int32, c_void_p, c_void_p]),
    "sl_halve": (None, [c_void_p, c_int32, c_int32, c_void_p]),
    "sl_products": (None, [Matrix, c_void_p, c_int32, c_void_p]),
    "sl_multiply": (None, [Matrix, c_void_p, c_int32, c_void_p, c_int32, c_int32]),
    "sl_normalise": (None, [POINTER(NormStructure), c_void_p, c_int32, c_void_p]),
    "sl_softmax": (None, [c_void_p, c_int32, c_int32, c_int32]),
    "sl_best": (None, [Matrix, c_void_p, c_int32, c_int32, c_void_p, c_void_p, c_void_p]),
    "sl_workspace_new": (c_void_p, []),
    "sl_workspace_free": (None, [c_void_p]),
    "sl_entry_size": (c_int32, [Stack]),
    "sl_pool_new": (c_void_p, [c_int32]),
    "sl_pool_free": (None, [c_void_p]),
    "sl_pool_take": (c_int32, [c_void_p, c_int32, c_void_p]),
    "sl_pool_used": (c_int32, [c_void_p]),
    "sl_pool_copy": (c_int32, [c_void_p, c_void_p, c_int32, c_void_p, c_void_p]),
    "sl_code_shape": (CodesStructure, [Stack]),
    "sl_code_size": (c_int64, [POINTER(CodesStructure)]),
    "sl_encode": (c_int, [Stack, c_void_p, POINTER(TextStructure), c_void_p, c_void_p]),
    "sl_source_size": (c_int64, [Stack, c_int32]),
    "sl_prepare": (
        c_int,
        [Stack, c_void_p, c_void_p, POINTER(CodesStructure), c_void_p, c_int32, c_void_p],
    ),
    "sl_read": (c_int, [Stack, c_void_p, POINTER(StepStructure), c_void_p]),
    "sl_write": (c_int, [Stack, c_void_p, c_void_p, c_int32, c_void_p]),
    "sl_score_all": (
        c_int,
        [Stack, POINTER(ScorerStructure), POINTER(TextStructure), c_void_p, c_int32],
    ),
    "sl_search_all": (
        c_int,
        [
            Stack,
            Stack,
            POINTER(SearchStructure),
            POINTER(TaskStructure),
            POINTER(FoundStructure),
            c_int32,
            c_int32,
        ],
    ),
}


@lru_cache(maxsize=1)
def _load_library() -> tuple[ctypes.CDLL | None, str]:
    """Load the library; None and the reason in a sentence if that fails."""
    place = Path(os.environ.get(PLACE) or LIBRARY)
    if not place.is_file():
        return None, (
            "the compiled engine was not built, so Seqloom runs on torch: install a C compiler and "
            "install Seqloom again"
        )
    try:
        library = ctypes.CDLL(str(place))
    except OSError as error:
        return None, f"the compiled engine cannot be loaded, so Seqloom runs on torch: {error}"
    try:
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError:
        return None, STALE
    installed = source_hash()  # empty if a package omits the sources
    if installed and library.sl_source_hash().decode() != installed:
        return None, STALE
    wished = os.environ.get(WISHED)
    if wished and library.sl_choose(wished.encode()):
        known = library.sl_supported().decode().replace(" ", ", ")
        return None, (
            f"{WISHED} = {wished!r} is no instruction set of this processor, so Seqloom runs on "
            f"torch: choose one of {known}"
        )
    return library, ""


def core_or_none() -> ctypes.CDLL | None:
    """The compiled core, if it is available for this processor."""
    return _load_library()[0]


def core() -> ctypes.CDLL:
    """The compiled core; RuntimeError if it is missing."""
    library, reason = _load_library()
    if library is None:
        raise RuntimeError(reason)
    return library


def missing_reason() -> str:
    """Why the compiled core is missing, in a sentence; empty if it is available."""
    return _load_library()[1]


def instruction_sets() -> list[str]:
    """The instruction sets of this processor that the core supports, the best first."""
    names: str = core().sl_supported().decode()
    return names.split()


@contextmanager
def instruction_set(name: str) -> Iterator[None]:
    """Use another instruction set within the block, for tests and measurements."""
    before: bytes = core().sl_chosen()
    if core().sl_choose(name.encode()):
        raise ValueError(f"this processor has no instruction set named {name!r}")
    try:
        yield
    finally:
        core().sl_choose(before)


def address(array: np.ndarray | None) -> int | None:
    """The address of an array, which must be C-contiguous."""
    if array is None:
        return None
    if not array.flags.c_contiguous:
        raise ValueError("an array that is handed to the core must be in one piece")
    return int(array.ctypes.data)
