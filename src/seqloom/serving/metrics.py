"""What a server counts, for Prometheus; every request ends in exactly one way."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics", "Outcome", "RequestRecord", "log"]

Outcome = Literal["refused", "completed", "failed", "cancelled"]

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(self, *, waiting: Callable[[], int] = lambda: 0) -> None:
        registry = CollectorRegistry()
        self.registry = registry
        self.received = Counter(
            "seqloom_requests_received", "requests for predict, stream or score", registry=registry
        )
        self.accepted = Counter(
            "seqloom_requests_accepted", "of these, put into the queue", registry=registry
        )
        self.ended = Counter(
            "seqloom_requests",
            "how requests ended: refused, or accepted and then completed, failed, cancelled",
            ["outcome"],
            registry=registry,
        )
        for outcome in ("refused", "completed", "failed", "cancelled"):
            self.ended.labels(outcome)
        self.seconds = Histogram(
            "seqloom_request_seconds",
            "from the first byte to the last",
            buckets=SECONDS,
            registry=registry,
        )
        self.steps = Counter("seqloom_decode_steps", "steps of all batches", registry=registry)
        self.busy = Counter("seqloom_decode_seconds", "seconds that steps took", registry=registry)
        self.tokens = Counter("seqloom_tokens", "tokens of outputs", registry=registry)
        self.sizes = Histogram(
            "seqloom_batch_sentences", "inputs in a step", buckets=SIZES, registry=registry
        )
        self.joins = Histogram(
            "seqloom_joined_sentences",
            "inputs that joined a batch at once",
            buckets=SIZES,
            registry=registry,
        )
        self.lost = Counter(
            "seqloom_processes_lost", "decoding processes that ended too early", registry=registry
        )
        Gauge("seqloom_queue", "requests that wait", registry=registry).set_function(waiting)

    def on_step(self, sentences: int, rows: int, seconds: float) -> None:
        """A decode step of a batch was made."""
        self.steps.inc()
        self.busy.inc(seconds)
        self.sizes.observe(sentences)

    def on_join(self, sentences: int) -> None:
        """So many inputs were let into a batch at once."""
        self.joins.observe(sentences)

    def on_loss(self, process: int) -> None:
        """A process has ended before its time."""
        self.lost.inc()
        log("process lost", process=process)

    def on_replacement(self, process: int) -> None:
        """Another has taken its place; 0 where a thread has to decode."""
        log("process replaced", process=process)

    def text(self) -> bytes:
        """Everything as Prometheus reads it."""
        return generate_latest(self.registry)


class RequestRecord:
    """The account of one request: it is received, perhaps accepted, and ends once."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._began = time.perf_counter()
        self.accepted = False
        self.outcome: Outcome | None = None
        metrics.received.inc()

    def accept(self) -> None:
        """It was put into the queue."""
        self.accepted = True
        self._metrics.accepted.inc()

    def end(self, outcome: Outcome) -> None:
        """It is over; only the first time counts."""
        if self.outcome is None:
            self.outcome = outcome
            self._metrics.ended.labels(outcome).inc()
            self._metrics.seconds.observe(self.seconds)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began


def log(event: str, **facts: Any) -> None:
    """Write a line, with the time."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    print(json.dumps({"time": f"{stamp}Z", "event": event, **facts}), file=sys.stderr, flush=True)
