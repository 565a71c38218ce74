"""Metrics for Prometheus: requests as they are served, and counts of the store at each scrape.

Outcomes, conflicts and unchecked rows are read from the store at each scrape, so they include all processes and
surfaces, not only requests to this server. They are totals over all namespaces, without the names of
namespaces. OpenTelemetry exports the same counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client import Counter as Counted
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from wellkept.engine.verbs.store import MemoryStore
from wellkept.server.access import Grant
from wellkept.server.access.one_namespace import bound
from wellkept.server.rest.request_checks import current_grant, grant_of
from wellkept.server.rest.store_of_request import NotAllowed
from wellkept.types.results import Figure

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def figures_of(store: MemoryStore, queue_depth: Callable[[], int]) -> tuple[Figure, ...]:
    """Count what is stored, with one read per namespace.

    Args:
        store: The store.
        queue_depth: Returns the number of queued writes.
    """
    outcomes: Counter[str] = Counter()
    memories: Counter[str] = Counter()
    conflicts = unchecked = waiting = 0
    # Read under the caller's token where the database requires one; otherwise nothing is visible.
    seen = MemoryStore(replace(bound(store._ctx, current_grant.get()), watch=None))
    for name in seen.namespaces():
        stats = seen.in_namespace(name).stats()
        outcomes.update(stats.outcomes)
        memories.update(stats.memories)
        conflicts += stats.open_conflicts
        unchecked += stats.unchecked
        waiting += stats.waiting
    return (
        Figure("outcomes", "Journal entries, by outcome.", outcomes, "outcome", grows=True),
        Figure("memories", "Memories, by status.", memories, "status"),
        Figure("open_conflicts", "Open conflicts.", {"": conflicts}),
        Figure("unchecked_memories", "Memories stored while a check was unavailable.", {"": unchecked}),
        Figure("waiting_memories", "Memories that wait to be judged.", {"": waiting}),
        Figure("queue_depth", "Queued writes.", {"": queue_depth()}),
    )


class Metrics:
    """The metrics of one server, in a separate registry.

    Args:
        store: The store whose contents are counted.
        queue_depth: Returns the number of queued writes.
    """

    def __init__(self, store: MemoryStore, queue_depth: Callable[[], int]) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(_Contents(store, queue_depth))
        self._requests = Counted(
            "wellkept_requests", "Requests served.", ("operation", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "wellkept_request_seconds",
            "Time from the first byte of a request to the last byte of its response.",
            ("operation",),
            buckets=_SECONDS,
            registry=self.registry,
        )

    def served(self, operation: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return generate_latest(self.registry)


class _Contents(Collector):
    """Collector that counts the contents of the store at each scrape."""

    def __init__(self, store: MemoryStore, queue_depth: Callable[[], int]) -> None:
        self._store = store
        self._queue_depth = queue_depth

    def describe(self) -> Iterator[Metric]:
        """No metric families in advance, because they require the store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The metric families."""
        for figure in figures_of(self._store, self._queue_depth):
            family = CounterMetricFamily if figure.grows else GaugeMetricFamily
            labels = (figure.label,) if figure.label else ()
            made = family(f"wellkept_{figure.name}", figure.description, labels=labels)
            for word, count in sorted(figure.values.items()):
                made.add_metric((word,) if labels else (), count)
            yield made


def metrics_routes(metrics: Metrics) -> APIRouter:
    """`/metrics`. It covers all namespaces, so the token must cover all of them with the scope `admin`."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/metrics",
        operation_id="metrics",
        summary="Metrics for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    def figures(request: Request) -> Response:
        """Requests, latency, outcomes, open conflicts, unchecked memories and the depth of the queue."""
        if not _sees_all(grant_of(request.scope.get("state", {}))):
            raise NotAllowed("Use a token for `*` with the scope admin")
        return Response(metrics.text(), media_type=MEDIA_TYPE)

    return router


def _sees_all(grant: Grant) -> bool:
    return "*" in grant.namespaces and "admin" in grant.scopes
