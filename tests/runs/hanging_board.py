"""A rank whose board hangs as it ends, and answers while Python takes the process down (A9)."""

import os
import signal
import socket
import sys
import time

from torch.distributed.distributed_c10d import Store
from torch.distributed.rendezvous import rendezvous

from seqloom.training.distributed import ranks

__all__: list[str] = []


def _board(port: int, rank: int) -> Store:
    board: Store = next(rendezvous(f"tcp://127.0.0.1:{port}", rank, 2))[0]
    return board


def _serve_board(port: int) -> int:
    """The number of a process with a board at this port."""
    child = os.fork()
    if child == 0:
        for stream in (1, 2):  # which the test reads to their end
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        _held = _board(port, 0)
        time.sleep(120)
        os._exit(0)
    return child


class _Teardown:
    """Deleted with the module, while Python ends: the board answers, and there is time for it."""

    def __init__(self, board: int) -> None:
        self.board, self.kill, self.sleep = board, os.kill, time.sleep
        self.go_on, self.end = signal.SIGCONT, signal.SIGKILL

    def __del__(self) -> None:
        self.kill(self.board, self.go_on)
        self.sleep(1.0)
        self.kill(self.board, self.end)


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as free:
        number: int = free.getsockname()[1]
    process = _serve_board(number)
    teardown = _Teardown(process)
    ranks.GRACE = 0.2
    with ranks.Heartbeat(_board(number, 1), 1, 2) as heartbeat:
        os.kill(process, signal.SIGSTOP)
        time.sleep(10 * heartbeat.patience / 8)  # a few beats, the first of which is in flight
        print(process, flush=True)
        sys.exit(7)
