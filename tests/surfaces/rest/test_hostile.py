"""Every operation with hostile input: it is refused or handled as data, and nothing breaks.

Issue 6: deep JSON, 20 MB, wrong types, no UTF-8, tricks with paths, SQL and HTML in every field leave a store
that verifies, with everything in it that was there before.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

import wellkept
from surfaces.serving.asking import Known, asked, learn, send
from wellkept.operations.registry import OPERATIONS, Operation
from wellkept.server.rest import create_app
from wellkept.server.rest.problems import MEDIA_TYPE
from wellkept.types import ALL_STATUSES, Filter

ROUTED = [row for row in OPERATIONS if row.route is not None]
TEXTS = (
    "'; DROP TABLE memory; --",
    "\" OR 1=1; DELETE FROM journal WHERE ''='",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "{{7*7}}${7*7}$(id)`id`%s%n\\u0000",
    "../../../etc/passwd",
    "file:///etc/passwd",
    "nul \x00 inside",
    "half a character \ud800",
    "\u202eturned over\u2066",
    "%27%20OR%201%3D1",
    "x" * 30_000,
)
OTHERS = (
    None,
    True,
    -1,
    2**63,
    10**30,
    1.5,
    1e308,
    "",
    "7",
    [],
    [[]],
    {},
    {"$ne": None},
    ["a", 7, None],
    {"a": {"b": []}},
)
PATHS = (
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e",
    "%00",
    "%ff%fe",
    "%27%20OR%20%271%27=%271",
    "a%0d%0aX:%20y",
    "x" * 5_000,
    "*",
)
DEEP = 50_000
BIG = 20 << 20
KEPT = "What was here before."


@dataclass
class Place:
    """A client of a store, and ids in it."""

    http: TestClient
    store: wellkept.MemoryStore
    known: Known
    kept: str

    def holds(self) -> None:
        """All former data is there."""
        (row,) = self.store.list(Filter(ids=(self.kept,), statuses=ALL_STATUSES))
        assert row.content == KEPT


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = Path(tmp_path_factory.mktemp("hostile")) / "a.db"
    with ExitStack() as stack:
        store = stack.enter_context(wellkept.open(str(path), embedder="hashing", relation_model="none"))
        http = stack.enter_context(
            TestClient(create_app(store), base_url="http://127.0.0.1", raise_server_exceptions=False)
        )
        kept = store.remember(KEPT, kind="thesis").memory
        assert kept is not None
        found = Place(http, store, Known("amber"), kept.id)
        rng = random.Random(1)
        for name in ("remember",) * 6 + ("conflicts", "plan", "start_episode", "queue_remember"):
            row = next(row for row in ROUTED if row.name == name)
            answer = send(http, row, asked(row, rng, found.known))
            assert answer.status_code < 300
            learn(found.known, row, answer.json())
        yield found
        # Once, at the end: a look at everything takes longer than the requests of a test, and no route mends a flaw.
        assert [problem for problem in store.verify() if problem.what != "one end does not exist"] == []


def told(answer: Any) -> None:
    """Whatever it is, it is an answer: no fault of ours, no page, nothing of how it came about."""
    assert answer.status_code < 500, answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    kind = answer.headers["content-type"]
    assert kind == (MEDIA_TYPE if answer.status_code >= 400 else "application/json")
    assert "Traceback" not in answer.text
    if answer.status_code >= 400:
        assert answer.json().keys() >= {"type", "title", "status", "detail", "where", "todo"}


def with_body(row: Operation) -> bool:
    return row.route is not None and row.route.method not in ("GET", "DELETE")


def sent(place: Place, row: Operation, fields: dict[str, Any]) -> Any:
    """A request whose fields may be of any kind; half characters are sent as JSON escapes them."""
    assert row.route is not None
    named = row.route.parameters
    path = row.route.path.format(**{name: quote(str(fields[name]), safe="", errors="replace") for name in named})
    rest = {name: value for name, value in fields.items() if name not in named}
    if with_body(row):
        headers = {"content-type": "application/json"}
        return place.http.request(row.route.method, path, content=json.dumps(rest), headers=headers)
    texts = {name: text.encode("utf-8", "replace") for name, text in spread(rest)}
    return place.http.request(row.route.method, path, params=texts)


def spread(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        yield name, value if isinstance(value, str) else json.dumps(value)


def some(values: tuple[Any, ...], at: int, count: int) -> tuple[Any, ...]:
    """A few of many, others for the next field: all fields meet some, and all values are met."""
    return tuple(values[(at * count + place) % len(values)] for place in range(count))


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row.name)
def test_hostile_text_in_every_field_is_text_or_refused(place: Place, row: Operation) -> None:
    for at, name in enumerate(row.input.model_fields):
        for text in some(TEXTS, at, 4):
            told(sent(place, row, {**asked(row, random.Random(2), place.known), name: text}))
        if with_body(row):
            for inside in ([text], {text: text}):
                told(sent(place, row, {**asked(row, random.Random(2), place.known), name: inside}))
    place.holds()


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row.name)
def test_every_kind_of_value_in_every_field_is_taken_or_refused(place: Place, row: Operation) -> None:
    for at, name in enumerate(row.input.model_fields):
        for value in some(OTHERS, at, 5):
            told(sent(place, row, {**asked(row, random.Random(3), place.known), name: value}))
    place.holds()


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row.name)
def test_a_field_that_nobody_knows_is_refused(place: Place, row: Operation) -> None:
    for name in ("__proto__", "constructor", "'; DROP TABLE memory; --", "", "namespace"):
        fields = {**asked(row, random.Random(4), place.known), name: "x"}
        answer = sent(place, row, fields)
        told(answer)
        assert answer.status_code == 422
    place.holds()


def every_route() -> list[tuple[str, str]]:
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as opened:
        paths = create_app(opened).openapi()["paths"]
    return sorted((method.upper(), path) for path, item in paths.items() for method in item)


EVERY = every_route()
READS_NO_BODY = ("GET", "DELETE")
WITHOUT_BODY = ("/v1/nodes/backfill-embeddings",)
"""Routes of the source that look at no body, whatever comes."""


@pytest.mark.parametrize(("method", "path"), EVERY)
def test_a_body_that_is_too_deep_or_no_text_is_refused_by_every_route(place: Place, method: str, path: str) -> None:
    """Includes routes of the source and of health. An import reads lines; its answer lists invalid ones."""
    url = path.format(
        **dict.fromkeys(("memory_id", "old_id", "key", "run_id", "queued_id", "episode_id", "node_id", "entry"), "x")
    )
    lines = path == "/v1/import"
    headers = {"content-type": "application/x-ndjson" if lines else "application/json"}
    deep = b'{"content": ' + b"[" * DEEP + b"]" * DEEP + b"}"
    for body in (deep, b'{"content": ' + b'{"a":' * DEEP, b"[" * DEEP):
        answer = place.http.request(method, url, content=body, headers=headers)
        assert answer.status_code == (200 if lines else 400), answer.text
    for body in (b'{"content": "\xff\xfe"}', b"\xff\xfe{\x00}\x00", b"\x00" * 9, b"{", b"PK\x03\x04", b"\xed\xa0\x80"):
        answer = place.http.request(method, url, content=body, headers=headers)
        assert answer.status_code < 500, answer.text
        if method not in READS_NO_BODY and not lines and path not in WITHOUT_BODY:
            # The source says first that there is no such node.
            assert answer.status_code in ((400, 404, 422) if "/nodes/" in path else (400, 422)), answer.text
    place.holds()


# One limit stands before every route.
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/memories"), ("GET", "/v1/memories"), ("POST", "/v1/import"), ("POST", "/v1/nodes")],
)
@pytest.mark.parametrize("whole", [True, False])
def test_a_body_that_is_too_large_is_refused_whole_or_in_pieces(
    place: Place, method: str, path: str, *, whole: bool
) -> None:
    big = b'{"content": "' + b"x" * BIG + b'"}'
    pieces = (big[at : at + 65_536] for at in range(0, len(big), 65_536))
    headers = {"content-type": "application/x-ndjson" if path == "/v1/import" else "application/json"}
    answer = place.http.request(method, path, content=big if whole else pieces, headers=headers)
    assert answer.status_code == 413
    place.holds()


@pytest.mark.parametrize(("method", "path"), [pair for pair in EVERY if "{" in pair[1]])
def test_a_tricky_path_names_nothing_and_reaches_nothing(place: Place, method: str, path: str) -> None:
    start, end = path.partition("{")[0], path.partition("}")[2]
    before = len(place.store.journal())
    for trick in PATHS:
        answer = place.http.request(method, f"{start}{trick}{end}", json=None if method in READS_NO_BODY else {})
        assert 400 <= answer.status_code < 500, (trick, answer.text)
        assert "passwd" not in answer.text.replace("../../etc/passwd", "")
    assert len(place.store.journal()) == before
    place.holds()
