"""Spans and measurements say what was done, how it ended and how long it took, and never what a memory says."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import wellkept
from surfaces.serving.running import serving
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import ConfigError, EmptyContent, StorageError
from wellkept.integrations.opentelemetry import Exporting, Telemetry
from wellkept.server.rest import create_app

SECRET = "The codename of the launch is Heliotrope."
QUERY = "What is the codename of the launch?"
NAMESPACE = "acme/olivia"


@dataclass
class Seen:
    """What was exported."""

    telemetry: Telemetry
    spans: InMemorySpanExporter
    metrics: InMemoryMetricReader

    def named(self) -> dict[str, dict[str, Any]]:
        """The attributes of the last span of each name."""
        return {span.name: dict(span.attributes or {}) for span in self.spans.get_finished_spans()}

    def figures(self) -> dict[str, dict[tuple[str, ...], Any]]:
        """Every measurement by its name and the values of its attributes."""
        read = self.metrics.get_metrics_data()
        assert read is not None
        found: dict[str, dict[tuple[str, ...], Any]] = {}
        for resource in read.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        key = tuple(str(value) for _, value in sorted((point.attributes or {}).items()))
                        value = getattr(point, "value", getattr(point, "count", None))
                        found.setdefault(metric.name, {})[key] = value
        return found

    def everything(self) -> str:
        """All that leaves the process, as text."""
        spans = "".join(span.to_json() for span in self.spans.get_finished_spans())
        return f"{spans}{self.metrics.get_metrics_data()}"


@pytest.fixture
def seen() -> Seen:
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    traces = TracerProvider()
    traces.add_span_processor(SimpleSpanProcessor(spans))
    return Seen(Telemetry(traces, MeterProvider([reader])), spans, reader)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with wellkept.open("memory:", embedder="hashing", relation_model="none", namespace=NAMESPACE) as opened:
        yield opened


def test_each_verb_is_a_span_with_its_outcome(seen: Seen, store: MemoryStore) -> None:
    watched = seen.telemetry.observed(store)
    watched.remember(SECRET, kind="fact")
    assert seen.named()["wellkept.remember"]["wellkept.outcome"] == "created"
    watched.remember(SECRET, kind="fact")
    told = seen.named()["wellkept.remember"]
    assert (told["wellkept.outcome"], told["wellkept.verb"]) == ("duplicate", "remember")
    watched.recall(QUERY)
    assert seen.named()["wellkept.recall"]["wellkept.results"] == 1
    watched.in_namespace("other").queue.remember("Ships sail at dawn.", kind="thesis")
    assert seen.named()["wellkept.remember"]["wellkept.outcome"] == "queued"
    watched.remember_many(["a cat", "a dog", ""])
    told = seen.named()["wellkept.remember_many"]
    assert (told["wellkept.results"], told["wellkept.errors"]) == (3, 1)
    counted = seen.figures()["wellkept.verb"]
    assert (counted["created", "remember"], counted["duplicate", "remember"], counted["done", "recall"]) == (1, 1, 1)


def test_an_error_is_named_by_its_class_alone(seen: Seen, store: MemoryStore) -> None:
    with pytest.raises(EmptyContent):
        seen.telemetry.observed(store).remember(" ")
    [span] = seen.spans.get_finished_spans()
    assert (span.status.is_ok, span.status.description, span.events) == (False, "EmptyContent", ())
    assert seen.figures()["wellkept.verb"]["EmptyContent", "error", "remember"] == 1


def test_a_store_that_nobody_watches_makes_no_spans(seen: Seen, store: MemoryStore) -> None:
    seen.telemetry.observed(store)
    store.remember(SECRET)
    assert not seen.spans.get_finished_spans()


def test_a_request_is_a_span_around_its_verb_and_goes_on_with_the_callers_trace(seen: Seen, store: MemoryStore) -> None:
    caller = "0af7651916cd43dd8448eb211c80319c"
    with TestClient(create_app(store, telemetry=seen.telemetry), base_url="http://127.0.0.1") as http:
        headers = {"traceparent": f"00-{caller}-b7ad6b7169203331-01", "Wellkept-Session": "chat with Olivia"}
        assert http.post("/v1/memories", json={"content": SECRET}, headers=headers).status_code == 201
        verb, request = seen.spans.get_finished_spans()
        assert (verb.name, request.name) == ("wellkept.remember", "request remember")
        assert verb.parent is not None and verb.parent.span_id == request.context.span_id
        assert f"{request.context.trace_id:032x}" == caller
        assert (request.attributes or {})["http.response.status_code"] == 201
        http.get("/v1/memories/nobody"), http.get("/v1/nothing"), http.get("/metrics")
        counted = seen.figures()
    assert counted["wellkept.request"] == {
        ("201", "remember"): 1, ("404", "get"): 1, ("404", "other"): 1, ("200", "metrics"): 1,
    }  # fmt: skip
    assert counted["wellkept.memories"]["active",] == 1
    assert counted["wellkept.outcomes"]["created",] == 1
    assert counted["wellkept.open_conflicts"][()] == 0


def test_no_text_query_id_namespace_or_session_leaves_the_process(seen: Seen, store: MemoryStore) -> None:
    with TestClient(create_app(store, telemetry=seen.telemetry), base_url="http://127.0.0.1") as http:
        headers = {"Wellkept-Session": "chat-with-olivia", "Idempotency-Key": "key-of-olivia"}
        made = http.post("/v1/memories", json={"content": SECRET, "subject": "Heliotrope"}, headers=headers).json()
        own = made["memory"]["id"]
        http.post("/v1/memories", json={"content": SECRET.replace("Heliotrope", "Larkspur"), "on_conflict": "raise"})
        http.post("/v1/recall", json={"query": QUERY})
        http.get("/v1/memories", params={"where": '{"subject": "Heliotrope"}'})
        http.get(f"/v1/memories/{own}"), http.get("/v1/memories/Heliotrope"), http.get("/Heliotrope?launch=1")
        http.patch(f"/v1/memories/{own}", json={"content": "Heliotrope\x00"})
        http.post("/v1/memories", content="{Heliotrope", headers={"Content-Type": "application/json"})
        told = seen.everything()
    assert "wellkept.remember" in told and "wellkept.memories" in told
    for word in ("Heliotrope", "Larkspur", "codename", "launch", own, "olivia", "acme"):
        assert word.casefold() not in told.casefold(), word


def test_a_store_that_cannot_be_read_leaves_its_figures_out(seen: Seen) -> None:
    answers = iter([[Tally()], StorageError("away"), [Tally()]])

    def read() -> list[Tally]:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    seen.telemetry.show(read)
    assert seen.metrics.get_metrics_data() is None
    assert seen.figures()["wellkept.tea"][()] == 3


@dataclass
class Tally:
    """A figure."""

    name: str = "tea"
    description: str = "Cups."
    label: str = ""
    grows: bool = False

    @property
    def values(self) -> dict[str, int]:
        return {"": 3}


@pytest.mark.parametrize("address", ["", "127.0.0.1:4318", "file:///tmp"])
def test_an_address_that_is_no_collector_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="http or https"):
        Exporting(address)


@contextmanager
def collector() -> Iterator[tuple[str, dict[str, bytes]]]:
    """A server that keeps what is sent to each path."""
    kept: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept[self.path] = kept.get(self.path, b"") + body
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.slow
@pytest.mark.file
def test_a_server_sends_to_the_collector_that_it_is_told_and_ends_cleanly(tmp_path: Path) -> None:
    with collector() as (address, kept), serving(tmp_path / "agent.db", "--otel", address) as server:
        with server.client() as http:
            assert http.post("/v1/memories", json={"content": SECRET}).status_code == 201
        server.signal(signal.SIGTERM)
        code, _, errors = server.end()
        assert code == 0, errors
    assert b"wellkept.remember" in kept["/v1/traces"] and b"request remember" in kept["/v1/traces"]
    assert b"wellkept.memories" in kept["/v1/metrics"]
    assert not any(b"Heliotrope" in body for body in kept.values())


@pytest.mark.slow
@pytest.mark.file
def test_a_collector_that_is_away_keeps_nobody_from_being_served_and_the_server_from_ending(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with serving(tmp_path / "agent.db", "--otel", address) as server:
            with server.client() as http:
                assert http.post("/v1/memories", json={"content": SECRET}).status_code == 201
            server.signal(signal.SIGTERM)
            code, _, errors = server.end()
    assert code == 0 and "Heliotrope" not in errors, errors
