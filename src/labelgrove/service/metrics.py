"""What the service counts, for Prometheus; several workers count together."""

from __future__ import annotations

import os

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client looks there when it is first imported
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
disable_created_metrics()  # type: ignore[no-untyped-call]  # when a count began is of no use where workers come and go
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts of a process, or of all workers where these share a folder."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "labelgrove_requests",
            "Requests answered.",
            ["route", "status"],
            registry=self._registry,
        )
        self.seconds = Histogram(
            "labelgrove_request_seconds",
            "From a request's first byte to the end of its answer.",
            ["route"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.texts = Counter(
            "labelgrove_texts", "Texts tagged.", ["model"], registry=self._registry
        )
        self.batches = Histogram(
            "labelgrove_batch_texts",
            "Texts that were tagged together.",
            ["model"],
            buckets=SIZES,
            registry=self._registry,
        )
        self.waiting = Gauge(
            "labelgrove_waiting_texts",
            "Texts that wait for a tagger.",
            ["model"],
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.feedback = Counter(
            "labelgrove_feedback", "Feedback written.", ["model"], registry=self._registry
        )
        self.reloads = Counter(
            "labelgrove_reloads", "Taggers loaded anew.", ["outcome"], registry=self._registry
        )

    def text(self) -> bytes:
        """Return all counts in Prometheus' text format."""
        return text_of_workers() if os.environ.get(FOLDER) else generate_latest(self._registry)


def text_of_workers() -> bytes:
    """Return the counts of all workers, which share a folder, in Prometheus' text format."""
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return generate_latest(together)


def forget(process: int) -> None:
    """Leave a worker that has ended out of what is counted now."""
    mark_process_dead(process)  # type: ignore[no-untyped-call]
