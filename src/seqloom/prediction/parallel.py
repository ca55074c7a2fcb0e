"""Several batches at a time: one thread of work for each core, instead of all cores for each."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

__all__ = ["parallel_map"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """What `work` makes of each item, in order; as many at a time as torch may use threads."""
    cores = torch.get_num_threads()
    if min(cores, len(items)) < 2:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)
