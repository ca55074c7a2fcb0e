"""Memory of the core's own, freed when Python lets go of it."""

import threading
import weakref

import numpy as np

from seqloom.engine.library import address, core

__all__ = ["EntryPool", "Workspaces", "check"]


def check(status: int) -> None:
    """MemoryError where a call of the core ran out of memory."""
    if status:
        raise MemoryError("the engine has run out of memory")


class Workspaces:
    """A workspace for each thread that asks for one."""

    def __init__(self) -> None:
        self._local = threading.local()

    @property
    def handle(self) -> int:
        """The calling thread's own."""
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
    """Lives as long as its thread's workspace is needed."""


class EntryPool:
    """What every block keeps of each token that was read; entries are only ever added."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.handle: int = core().sl_pool_new(size)
        if not self.handle:
            check(1)
        self._lock = threading.Lock()  # states that share a pool may be read by several threads
        weakref.finalize(self, core().sl_pool_free, self.handle)

    @property
    def size(self) -> int:
        """Entries that were taken."""
        return int(core().sl_pool_used(self.handle))

    def take(self, count: int) -> np.ndarray:
        """The numbers of so many new entries."""
        entries = np.empty(count, dtype=np.int32)
        with self._lock:
            check(core().sl_pool_take(self.handle, count, address(entries)))
        return entries

    def copy(self, other: "EntryPool", entries: np.ndarray) -> np.ndarray:
        """The numbers here of copies of another pool's entries."""
        wanted, copies = np.ascontiguousarray(entries, dtype=np.int32), np.empty_like(entries)
        with self._lock:
            status = core().sl_pool_copy(
                self.handle, other.handle, len(wanted), address(wanted), address(copies)
            )
        check(status)
        return copies

    def fresh(self) -> "EntryPool":
        """An empty pool for entries of the same size."""
        return EntryPool(self._size)
