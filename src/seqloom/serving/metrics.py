"""Prometheus metrics of a server; every request has exactly one outcome."""

import json
import sys
import time
from collections import Counter as Counts
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics", "Outcome", "RequestRecord", "log"]

Outcome = Literal["refused", "completed", "failed", "cancelled"]

ENCODER = json.JSONEncoder()
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

MOST_UNADDED = 1_000  # ended requests that are counted before they are added to the metrics
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The counters of one server, in a separate registry."""

    def __init__(self, *, waiting: Callable[[], int] = lambda: 0) -> None:
        registry = CollectorRegistry()
        self.registry = registry
        self.counts = RequestCounts()
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
        for outcome in get_args(Outcome):
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
        self.loads = Counter(
            "seqloom_model_loads", "times that a model was loaded", ["model"], registry=registry
        )
        self.evictions = Counter(
            "seqloom_model_evictions",
            "times that a model was given up for others",
            ["model"],
            registry=registry,
        )
        self.loaded = Gauge(
            "seqloom_model_loaded", "whether a model is loaded", ["model"], registry=registry
        )

    def on_step(self, sentences: int, rows: int, seconds: float) -> None:
        """A batch made a decoding step."""
        self.steps.inc()
        self.busy.inc(seconds)
        self.sizes.observe(sentences)

    def on_join(self, sentences: int) -> None:
        """Inputs joined a batch."""
        self.joins.observe(sentences)

    def on_loss(self, process: int) -> None:
        """A process has ended unexpectedly."""
        self.lost.inc()
        log("process lost", process=process)

    def on_replacement(self, process: int) -> None:
        """A process was replaced; 0 if a thread decodes instead."""
        log("process replaced", process=process)

    def on_load(self, model: str) -> None:
        """A model was loaded."""
        self.loads.labels(model).inc()
        self.loaded.labels(model).set(1)
        log("model loaded", model=model)

    def on_removal(self, model: str) -> None:
        """A model is loaded no longer, for whatever reason."""
        self.loaded.labels(model).set(0)

    def on_eviction(self, model: str) -> None:
        """A model was evicted for others."""
        self.evictions.labels(model).inc()
        log("model evicted", model=model)

    def text(self) -> bytes:
        """All metrics in Prometheus format."""
        self._add_counts()
        return generate_latest(self.registry)

    def _add_counts(self) -> None:
        """Add what was counted of requests since this was last called."""
        counts, self.counts = self.counts, RequestCounts()
        self.received.inc(counts.received)
        self.accepted.inc(counts.accepted)
        self.tokens.inc(counts.tokens)
        for outcome, number in counts.outcomes.items():
            self.ended.labels(outcome).inc(number)
        for seconds in counts.seconds:
            self.seconds.observe(seconds)

    def count_end(self, outcome: Outcome, seconds: float) -> None:
        """A request has ended."""
        self.counts.outcomes[outcome] += 1
        self.counts.seconds.append(seconds)
        if len(self.counts.seconds) >= MOST_UNADDED:
            self._add_counts()


@dataclass
class RequestCounts:
    """Counts of requests since they were last added to the metrics.

    The event loop alone counts requests, which needs no locks and so takes a fraction of the time.
    """

    received: int = 0
    accepted: int = 0
    tokens: int = 0
    outcomes: Counts[Outcome] = field(default_factory=Counts)
    seconds: list[float] = field(default_factory=list)  # that each ended request took


class RequestRecord:
    """The accounting of one request: received, possibly accepted, ended once."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._began = time.perf_counter()
        self.at_end: Callable[[], None] | None = None  # releases what the request holds
        self.accepted = False
        self.outcome: Outcome | None = None
        metrics.counts.received += 1

    def accept(self) -> None:
        """The request was queued."""
        self.accepted = True
        self._metrics.counts.accepted += 1

    def end(self, outcome: Outcome) -> None:
        """The request has ended; only the first call counts."""
        if self.outcome is None:
            self.outcome = outcome
            self._metrics.count_end(outcome, self.seconds)
            if self.at_end is not None:
                self.at_end()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began


def log(event: str, **facts: Any) -> None:
    """Write a log line with the time."""
    stamp = _written_time(int(time.time()))
    line = ENCODER.encode({"time": stamp, "event": event, **facts})
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@lru_cache(maxsize=1)
def _written_time(second: int) -> str:
    """A second as logged, cached for lines of the same second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
