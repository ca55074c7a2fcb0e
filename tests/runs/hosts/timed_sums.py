"""A rank that times sums over all ranks.

    python -m tests.runs.hosts.timed_sums ROUNDS LIMIT…

Prints the least seconds that a sum of a thousand numbers took in so many rounds, if only tensors of
up to LIMIT bytes are sent whole. Two sums are timed together: of ranks that begin at different
times, one waits longer at every other sum.
"""

import os
import sys
import time

import torch

from seqloom.training import process_group
from seqloom.training.distributed import all_reduce

__all__: list[str] = []


def main() -> None:
    """Join, and sum."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    rounds, *limits = map(int, sys.argv[1:])
    with process_group("env://", rank, world) as ranks:
        for all_reduce.SENT_AT_ONCE in limits:
            ends = [time.perf_counter()]
            for _ in range(2 * rounds):
                ranks.sum(torch.ones(1_000))
                ends.append(time.perf_counter())
            pairs = zip(ends[2::2], ends[4::2], strict=False)
            print(min(later - earlier for earlier, later in pairs) / 2, flush=True)


if __name__ == "__main__":
    main()
