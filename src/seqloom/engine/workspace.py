"""Memory allocated by the core, freed with its Python owner."""

import threading
import weakref

import numpy as np

from seqloom.engine.library import address, core

__all__ = ["EntryPool", "Workspaces", "check"]


def check(status: int) -> None:
    """Raise MemoryError if a call of the core ran out of memory."""
    if status:
        raise MemoryError("the engine has run out of memory")


class Workspaces:
    """A workspace for each calling thread."""

    def __init__(self) -> None:
        self._local = threading.local()

    @property
    def handle(self) -> int:
        """The calling thread's workspace."""
        found: int | None = getattr(self._local, "handle", None)
        if found is None:
            found = core().sl_workspace_new()
            if not found:
                check(1)
            self._local.handle = found
            self._local.owner = owner = _Owner()
            weakref.finalize(owner, core().sl_workspace_free, found)
        return found or 0


class _Owner:
    """Owns the workspace of a thread."""


class EntryPool:
    """Every block's cached values of the tokens read; entries are append-only."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.handle: int = core().sl_pool_new(size)
        if not self.handle:
            check(1)
        self._lock = threading.Lock()  # states in several threads may share a pool
        weakref.finalize(self, core().sl_pool_free, self.handle)

    @property
    def size(self) -> int:
        """The number of entries in use."""
        return int(core().sl_pool_used(self.handle))

    def take(self, count: int) -> np.ndarray:
        """Allocate `count` new entries; return their indices."""
        entries = np.empty(count, dtype=np.int32)
        with self._lock:
            check(core().sl_pool_take(self.handle, count, address(entries)))
        return entries

    def copy(self, other: "EntryPool", entries: np.ndarray) -> np.ndarray:
        """Copy entries of another pool; return their indices."""
        wanted, copies = np.ascontiguousarray(entries, dtype=np.int32), np.empty_like(entries)
        with self._lock:
            status = core().sl_pool_copy(
                self.handle, other.handle, len(wanted), address(wanted), address(copies)
            )
        check(status)
        return copies

    def fresh(self) -> "EntryPool":
        """An empty pool with entries of the same size."""
        return EntryPool(self._size)
