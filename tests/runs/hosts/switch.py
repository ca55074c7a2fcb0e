"""An Ethernet switch in user space that delays frames and limits their rate.

    python -m tests.runs.hosts.switch DELAY RATE INTERFACE…

Hands each frame on after DELAY seconds, at RATE bytes a second and port (0: as fast as it goes).
Kernels without netem have no other way to make a slow link. Frames are read with the header that
holds their unfinished checksums and segmentation, so that the kernel finishes both at the far end.
"""

import heapq
import select
import socket
import struct
import sys
import time
from collections.abc import Sequence

ALL_PROTOCOLS = 3
SOL_PACKET, VIRTIO_HEADER = 263, 15
HEADER = 10  # bytes of the virtio header before each frame
OUTGOING = 4  # frames that this very process has sent
LARGEST = 1 << 17
MULTICAST = 1


class Switch:
    """Ports, what address is behind which of them, and the frames under way."""

    def __init__(self, interfaces: Sequence[str], *, delay: float, rate: float) -> None:
        self._ports = [_open_port(name) for name in interfaces]
        self._delay, self._rate = delay, rate
        self._behind: dict[bytes, socket.socket] = {}
        self._free = dict.fromkeys(self._ports, 0.0)  # when a port has sent all it was given
        self._under_way: list[tuple[float, int, socket.socket, bytes]] = []
        self._count = 0

    def run(self) -> None:
        """Hand frames on until the process is ended."""
        while True:
            wait = max(0.0, self._under_way[0][0] - time.monotonic()) if self._under_way else None
            for port in select.select(self._ports, [], [], wait)[0]:
                self._receive(port)
            self._send_due()

    def _receive(self, port: socket.socket) -> None:
        try:
            frame, address = port.recvfrom(LARGEST)
        except OSError:  # the link was set down
            return
        if address[2] == OUTGOING:
            return
        to, source = frame[HEADER : HEADER + 6], frame[HEADER + 6 : HEADER + 12]
        self._behind[source] = port
        known = None if to[0] & MULTICAST else self._behind.get(to)
        for other in [known] if known is not None else self._ports:
            if other is not port:
                self._schedule(other, frame)

    def _schedule(self, port: socket.socket, frame: bytes) -> None:
        start = max(time.monotonic(), self._free[port])
        self._free[port] = start + (len(frame) / self._rate if self._rate else 0.0)
        self._count += 1  # frames of one instant keep their order
        heapq.heappush(self._under_way, (self._free[port] + self._delay, self._count, port, frame))

    def _send_due(self) -> None:
        while self._under_way and self._under_way[0][0] <= time.monotonic():
            port, frame = heapq.heappop(self._under_way)[2:]
            try:
                port.send(frame)
            except OSError:  # the link is down, or the queue is full: frames may be lost
                continue


def _open_port(interface: str) -> socket.socket:
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    port.setsockopt(SOL_PACKET, VIRTIO_HEADER, struct.pack("i", 1))
    for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        port.setsockopt(socket.SOL_SOCKET, buffer, 1 << 24)
    port.bind((interface, ALL_PROTOCOLS))
    return port


if __name__ == "__main__":
    Switch(sys.argv[3:], delay=float(sys.argv[1]), rate=float(sys.argv[2])).run()
