"""OpenTelemetry: a span and a measurement for each verb of a store.

Attributes hold names of verbs, outcomes, rules and counts. They never hold a text, an id, a namespace or a query: who
reads traces does not read memories.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from wellkept import __version__
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import ConfigError, StorageError
from wellkept.integrations.frameworks import need
from wellkept.types import BatchResult, WriteResult
from wellkept.types.results import Figure

need("opentelemetry")

from opentelemetry import metrics, trace  # noqa: E402
from opentelemetry.trace import Span, SpanKind, StatusCode  # noqa: E402

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider
    from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
    from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
    from opentelemetry.trace import Tracer, TracerProvider

T = TypeVar("T")
SCOPE = "wellkept"
"""The name of the instrumentation, of the service, and the beginning of every attribute and instrument."""
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of the buckets of a time, also those of `/metrics`."""
_WAIT_MILLISECONDS = 3_000
_FRESH_SECONDS = 1.0


class Telemetry:
    """Spans and measurements of a store's verbs, and of whatever else is named.

    Args:
        tracer_provider / meter_provider: Where they go; by default the providers of the process.

    Example:
        >>> import wellkept
        >>> from wellkept.integrations.opentelemetry import Telemetry
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     observed = Telemetry().observed(store)
        ...     observed.remember("Tea is upstairs.").outcome
        'created'
    """

    def __init__(
        self, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        self._tracer: Tracer = trace.get_tracer(SCOPE, __version__, tracer_provider)
        self._meter: Meter = metrics.get_meter(SCOPE, __version__, meter_provider)
        self._verbs = self._seconds("verb", "Time of a verb.")
        self._requests = self._seconds("request", "Time from the first byte of a request to the last of its response.")

    def observed(self, store: MemoryStore) -> MemoryStore:
        """The same store, with a span and a measurement for each verb; also for the stores made from it."""
        return type(store)(replace(store._ctx, watch=self._verb))

    @contextmanager
    def request(self, carrier: dict[str, str]) -> Iterator[Request]:
        """Measure a request, as part of the trace that its headers name.

        Args:
            carrier: Headers of the request, in lower case.
        """
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        around = TraceContextTextMapPropagator().extract(carrier)
        with self._tracer.start_as_current_span(
            "request", around, kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            started = time.perf_counter()
            made = Request(span)
            try:
                yield made
            finally:
                self._requests.record(time.perf_counter() - started, made.told())

    def show(self, read: Callable[[], Iterable[Figure]]) -> None:
        """Export counts of what is stored, read anew at each export.

        Args:
            read: Gives the figures, always the same ones.
        """
        reading = _Reading(read)
        for figure in read():
            make = self._meter.create_observable_counter if figure.grows else self._meter.create_observable_gauge
            make(f"{SCOPE}.{figure.name}", [reading.of(figure.name)], description=figure.description)

    def _verb(self, name: str, act: Callable[[], T]) -> T:
        attributes: dict[str, str] = {f"{SCOPE}.verb": name}
        started = time.perf_counter()
        # An error's text may quote a memory, so neither it nor its trace is recorded.
        with self._tracer.start_as_current_span(
            f"{SCOPE}.{name}", attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                result = act()
            except BaseException as error:
                attributes |= {f"{SCOPE}.outcome": "error", "error.type": type(error).__name__}
                span.set_status(StatusCode.ERROR, type(error).__name__)
                raise
            else:
                attributes[f"{SCOPE}.outcome"] = result.outcome if isinstance(result, WriteResult) else "done"
                _describe(span, result)
                return result
            finally:
                span.set_attributes(attributes)
                self._verbs.record(time.perf_counter() - started, attributes)

    def _seconds(self, name: str, description: str) -> metrics.Histogram:
        return self._meter.create_histogram(
            f"{SCOPE}.{name}", "s", description, explicit_bucket_boundaries_advisory=SECONDS
        )


@dataclass(slots=True)
class Request:
    """A request in progress.

    Attributes:
        span: Its span.
        operation: The name of its route, from a closed set.
        status: The status of its answer; 500 until there is one.
    """

    span: Span
    operation: str = "other"
    status: int = 500

    def told(self) -> dict[str, str]:
        """Name the span; returns what the measurement is counted under."""
        attributes = {f"{SCOPE}.operation": self.operation, "http.response.status_code": str(self.status)}
        self.span.update_name(f"request {self.operation}")
        self.span.set_attribute(f"{SCOPE}.operation", self.operation)
        self.span.set_attribute("http.response.status_code", self.status)
        if self.status >= 500:
            self.span.set_status(StatusCode.ERROR)
        return attributes


class Exporting:
    """Telemetry that is sent to a collector, by OTLP over HTTP.

    The SDK adds what its own variables say, such as `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and
    `OTEL_EXPORTER_OTLP_HEADERS`.

    Args:
        endpoint: The collector, such as `http://127.0.0.1:4318`.

    Attributes:
        telemetry: Where spans and measurements are made.

    Raises:
        ConfigError: The address is no http(s) URL.
    """

    def __init__(self, endpoint: str) -> None:
        if not endpoint.startswith(("http://", "https://")):
            raise ConfigError(
                "the collector needs an http or https URL", where="otel", todo="Use http://127.0.0.1:4318"
            )
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        base = endpoint.rstrip("/")
        own = Resource.create({"service.name": SCOPE, "service.version": __version__})
        resource = own.merge(OTELResourceDetector().detect())
        self._traces: SdkTracerProvider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces")))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{base}/v1/metrics"))
        self._metrics: SdkMeterProvider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self.telemetry = Telemetry(self._traces, self._metrics)

    def close(self) -> None:
        """Send what is left, for at most a few seconds, and stop."""
        self._traces.force_flush(_WAIT_MILLISECONDS)
        self._traces.shutdown()
        self._metrics.shutdown(_WAIT_MILLISECONDS)


def _describe(span: Span, result: object) -> None:
    """What a verb has found, in counts and closed words."""
    match result:
        case WriteResult():
            if result.reasons:
                span.set_attribute(f"{SCOPE}.rule", result.reasons[0].rule)
            if result.degraded:
                span.set_attribute(f"{SCOPE}.degraded", sorted(result.degraded))
            span.set_attribute(f"{SCOPE}.conflicts", len(result.conflicts))
        case BatchResult():
            span.set_attribute(f"{SCOPE}.results", len(result.results))
            span.set_attribute(f"{SCOPE}.errors", len(result.errors))
        case tuple() | list():
            span.set_attribute(f"{SCOPE}.results", len(result))
        case _:
            pass


class _Reading:
    """The figures of one export: they are counted once, and each instrument takes its own."""

    def __init__(self, read: Callable[[], Iterable[Figure]]) -> None:
        self._read = read
        self._until = 0.0
        self._figures: tuple[Figure, ...] = ()

    def __call__(self) -> tuple[Figure, ...]:
        if time.monotonic() >= self._until:
            self._figures = tuple(self._read())
            self._until = time.monotonic() + _FRESH_SECONDS
        return self._figures

    def of(self, name: str) -> Callable[[CallbackOptions], Iterator[metrics.Observation]]:
        def observed(options: CallbackOptions) -> Iterator[metrics.Observation]:
            try:
                figures = self()
            except StorageError:  # a figure that cannot be read is missing in this export
                return
            for figure in figures:
                for word, count in figure.values.items() if figure.name == name else ():
                    yield metrics.Observation(count, {f"{SCOPE}.{figure.label}": word} if figure.label else {})

        return observed
