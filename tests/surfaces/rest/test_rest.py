"""The REST application, asked over HTTP in process: results, refusals, bounds, tokens, isolation.

Issue 6 (REST and security), design §9; S2-28 (a conflict under `raise`), I1 to I8 where named.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

import wellkept
from stores import place
from wellkept import errors
from wellkept.server.access import Tokens
from wellkept.server.rest import Limits, create_app
from wellkept.server.rest.problems import MEDIA_TYPE, STATUSES, of_error, status_of

JSON = {"content-type": "application/json"}
LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    with wellkept.open(str(place(tmp_path / "rest.db")), embedder="hashing", relation_model="none") as opened:
        yield opened


def client(store: wellkept.MemoryStore, **options: Any) -> TestClient:
    return TestClient(create_app(store, **options), base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.fixture
def http(store: wellkept.MemoryStore) -> Iterator[TestClient]:
    with client(store) as opened:
        yield opened


def keep(http: TestClient, content: str, **fields: Any) -> Any:
    return http.post("/v1/memories", json={"content": content, **fields})


def problem_of(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == MEDIA_TYPE
    told: dict[str, Any] = answer.json()
    assert told["status"] == status
    assert told.keys() >= {"type", "title", "status", "detail", "where", "todo"}
    assert "Traceback" not in answer.text
    return told


# --------------------------------------------------------------------------------------------
# Results


def test_a_new_text_is_201_and_a_repeat_is_200(http: TestClient) -> None:
    first, again = keep(http, "Tea is upstairs."), keep(http, "tea is upstairs")
    assert (first.status_code, first.json()["outcome"]) == (201, "created")
    assert (again.status_code, again.json()["outcome"]) == (200, "duplicate")
    assert again.json()["memory"]["id"] == first.json()["memory"]["id"]


def test_a_conflict_under_raise_is_409_with_ids_but_without_texts_and_writes_nothing(
    http: TestClient, store: wellkept.MemoryStore
) -> None:
    """S2-28, F-13."""
    first = keep(http, "The limit is 0.85.", kind="lesson").json()["memory"]["id"]
    told = problem_of(keep(http, "The limit is 0.95.", kind="lesson", on_conflict="raise"), 409)
    assert told["type"] == "urn:wellkept:error:ConflictError"
    assert [item["memory_id"] for item in told["conflicts"]] == [first]
    assert "0.85" not in json.dumps(told)
    assert [row.content for row in store.list()] == ["The limit is 0.85."]


def test_the_life_of_a_memory_over_http(http: TestClient) -> None:
    memory = keep(http, "Lunch is at noon.").json()["memory"]["id"]
    path = f"/v1/memories/{memory}"
    assert http.get(path).json()["content"] == "Lunch is at noon."
    assert http.post("/v1/recall", json={"query": "when is lunch"}).json()["hits"][0]["memory"]["id"] == memory
    assert http.post(f"{path}/forget").json()["entry"] > 0
    assert http.get(path).json()["status"] == "archived"
    assert http.post(f"{path}/restore").status_code == 200
    assert http.get(path).json()["status"] == "active"
    assert len(http.get(f"/v1/history/{memory}").json()["versions"]) == 3


def test_a_batch_tells_each_item_and_a_bad_one_stops_nothing(http: TestClient) -> None:
    """S4-14."""
    told = http.post("/v1/memories/batch", json={"items": ["Use ruff.", {"content": ""}, "use ruff"]}).json()
    assert told["counts"] == {"created": 1, "duplicate": 1}
    assert [error["index"] for error in told["errors"]] == [1]


@pytest.mark.parametrize("text", ["记忆保持整洁。", "الشاي في الطابق العلوي.", "C++ ist nicht C; 1,5 ist nicht 15."])
def test_every_script_comes_back_as_it_was(http: TestClient, text: str) -> None:
    """I10."""
    memory = keep(http, text).json()["memory"]["id"]
    assert http.get(f"/v1/memories/{memory}").json()["content"] == text


# --------------------------------------------------------------------------------------------
# Keys


def test_a_key_makes_a_write_repeatable(http: TestClient, store: wellkept.MemoryStore) -> None:
    """I5: kind `thesis` would keep every repeat."""
    head = {"Idempotency-Key": "k-1"}
    bodies = [{"content": "We met at the station.", "kind": "thesis"}] * 2
    ids = [http.post("/v1/memories", json=body, headers=head).json()["memory"]["id"] for body in bodies]
    assert ids[0] == ids[1]
    assert len(store.list()) == 1


def test_the_same_key_with_another_body_is_refused(http: TestClient, store: wellkept.MemoryStore) -> None:
    head = {"Idempotency-Key": "k-1"}
    http.post("/v1/memories", json={"content": "Tea is upstairs."}, headers=head)
    told = problem_of(http.post("/v1/memories", json={"content": "Tea is downstairs."}, headers=head), 409)
    assert told["type"].endswith("IdempotencyMismatch")
    assert len(store.list()) == 1


def test_a_key_in_the_header_and_another_in_the_body_is_refused(http: TestClient) -> None:
    body = {"content": "Tea.", "idempotency_key": "b"}
    told = problem_of(http.post("/v1/memories", json=body, headers={"Idempotency-Key": "h"}), 409)
    assert told["type"].endswith("IdempotencyMismatch")


def test_a_batch_with_a_key_changes_nothing_the_second_time(http: TestClient, store: wellkept.MemoryStore) -> None:
    """I5."""
    for _ in range(2):
        body = {"items": [{"content": "We met at the station.", "kind": "thesis"}, "Tea is upstairs."]}
        http.post("/v1/memories/batch", json=body, headers={"Idempotency-Key": "k-2"})
    assert len(store.list()) == 2


# --------------------------------------------------------------------------------------------
# Refusals


def every_error() -> list[type[errors.WellkeptError]]:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.WellkeptError)
    ]
    assert len(kinds) > 25
    return kinds


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_a_failure_inside_tells_no_path(kind: type[errors.WellkeptError]) -> None:
    more: dict[str, Any] = {
        "ConflictError": {"conflicts": ()},
        "UndoBlocked": {"entries": (7,)},
    }.get(kind.__name__, {})
    answer = of_error(kind("cannot be opened", where="/srv/secret.db", todo="Look at /srv", **more))
    told = json.loads(bytes(answer.body))
    assert told["status"] == answer.status_code == status_of(kind("x", **more))
    # A path or an address of the server is told to nobody; where the store's own rules refuse, neither.
    hidden = answer.status_code >= 500 or kind is errors.NotPermitted
    assert ("/srv" in json.dumps(told)) == (not hidden)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.InvalidField, 422),
        (errors.NotFound, 404),
        (errors.AmbiguousId, 409),
        (errors.ConflictError, 409),
        (errors.IllegalTransition, 409),
        (errors.IdempotencyMismatch, 409),
        (errors.Busy, 503),
        (errors.Full, 507),
        (errors.Corrupt, 500),
        (errors.ModelUnavailable, 503),
    ],
)
def test_the_table_of_statuses(kind: type[errors.WellkeptError], status: int) -> None:
    assert next(STATUSES[base] for base in kind.__mro__ if base in STATUSES) == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"", 422),
        (b'{"content": "\xff\xfe"}', 400),
        (b"\xff\xfe{\x00}\x00", 400),
        (b"[" * 100_000, 400),
        (b'{"content": ' + b'{"a": ' * 40 + b"1" + b"}" * 41, 400),
        (b'{"content": "x", "importance": NaN}', 400),
        (b'{"content": "x", "importance": 1e999}', 422),
        (b'{"content": "x", "importance": "0.5"}', 422),
        (b'{"content": "x", "importance": 7}', 422),
        (b'{"content": "x", "metadata": {"n": ' + b"9" * 5000 + b"}}", 400),
        (b'{"content": 5}', 422),
        (b'{"content": null}', 422),
        (b'{"content": "x", "no_such_field": 1}', 422),
        (b'{"content": "a\\u0000b"}', 422),
        (b'{"content": "half \\ud800"}', 422),
        (b'{"content": "x", "title": "half \\ud800"}', 422),
        (b'{"content": "x", "metadata": {"half": "\\ud800"}}', 422),
        (b'{"content": "  "}', 422),
        (b'["content"]', 422),
        (b'"text"', 422),
    ],
)
def test_a_hostile_body_is_a_problem_and_leaves_the_store_as_it_was(
    http: TestClient, store: wellkept.MemoryStore, body: bytes, status: int
) -> None:
    problem_of(http.post("/v1/memories", content=body, headers=JSON), status)
    assert store.list() == ()
    assert store.verify() == ()


def test_a_body_of_twenty_megabytes_is_413_whether_its_length_is_said_or_not(
    http: TestClient, store: wellkept.MemoryStore
) -> None:
    big = b'{"content": "' + b"x" * (20 << 20) + b'"}'
    problem_of(http.post("/v1/memories", content=big, headers=JSON), 413)
    pieces = (big[at : at + 65_536] for at in range(0, len(big), 65_536))
    problem_of(http.post("/v1/memories", content=pieces, headers=JSON), 413)
    assert store.verify() == ()


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/import"])
def test_a_body_that_is_too_large_and_has_ended_is_answered_at_once(store: wellkept.MemoryStore, path: str) -> None:
    """After a complete request the client waits for the answer; a server that waits for more input would deadlock."""
    sent: list[Message] = []
    coming: list[Message] = [
        {"type": "http.request", "body": b'{"content": "', "more_body": True},
        {"type": "http.request", "body": b"x" * 2_000, "more_body": False},
    ]
    headers = [(b"host", b"localhost"), (b"content-type", b"application/x-ndjson"), (b"transfer-encoding", b"chunked")]
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": b"", "headers": headers,
        "server": ("localhost", 80), "client": ("127.0.0.1", 1), "state": {},
    }  # fmt: skip

    async def receive() -> Message:
        if not coming:
            await anyio.sleep_forever()
        return coming.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    async def asked() -> None:
        with anyio.fail_after(5):
            await create_app(store, limits=Limits(body_bytes=1_000, import_bytes=1_000))(scope, receive, send)

    anyio.run(asked)
    assert [message["status"] for message in sent if message["type"] == "http.response.start"] == [413]


HOSTILE = "'; DROP TABLE memories; --<script>alert(1)</script>{{7*7}}$(id)../../etc/passwd"


def test_sql_and_html_in_every_field_are_text(http: TestClient, store: wellkept.MemoryStore) -> None:
    names = ("content", "title", "summary", "subject", "attribute", "agent", "source", "trigger", "frame")
    fields: dict[str, Any] = dict.fromkeys(names, HOSTILE)
    fields |= {"tags": [HOSTILE], "metadata": {HOSTILE: HOSTILE}, "signals": {HOSTILE: [HOSTILE]}}
    fields |= {"idempotency_key": HOSTILE}
    made = http.post("/v1/memories", json=fields, headers={"Wellkept-Session": "<b>'"})
    assert made.status_code == 201
    kept = http.get(f"/v1/memories/{made.json()['memory']['id']}").json()
    assert [kept[name] for name in names[:-1]] == [HOSTILE] * 8
    assert kept["metadata"] == {HOSTILE: HOSTILE}
    assert http.post("/v1/recall", json={"query": HOSTILE}).json()["hits"]
    assert made.headers["x-content-type-options"] == "nosniff"
    assert store.verify() == ()


@pytest.mark.parametrize(
    "path",
    [
        "/v1/memories/..%2f..%2fetc%2fpasswd",
        "/v1/memories/%00",
        "/v1/memories/%ff%fe",
        "/v1/memories/'%20OR%20'1'='1",
        "/v1/memories/" + "x" * 5000,
        "/v1/../metrics/../nothing",
        "//v1/memories",
        "/v1/memories/",
    ],
)
def test_a_tricky_path_is_nothing_that_is_there(http: TestClient, path: str) -> None:
    problem_of(http.get(path), 404)


def test_another_method_is_405_and_names_those_that_there_are(http: TestClient) -> None:
    answer = http.put("/v1/memories")
    problem_of(answer, 405)
    assert answer.headers["allow"] == "GET, POST"


def test_a_form_of_a_page_is_no_json(http: TestClient) -> None:
    problem_of(http.post("/v1/memories", content=b"content=x", headers={"content-type": "text/plain"}), 415)


def test_a_field_of_the_path_may_not_stand_in_the_body_too(http: TestClient) -> None:
    assert problem_of(http.post("/v1/memories/x/forget", json={"memory_id": "y"}), 422)["where"] == "memory_id"


def test_a_body_that_asks_for_whole_numbers_takes_them_written_as_fractions(http: TestClient) -> None:
    assert http.post("/v1/recall", json={"query": "x", "limit": 2.0}).status_code == 200
    problem_of(http.post("/v1/recall", json={"query": "x", "limit": 2.5}), 422)


def test_a_fault_of_ours_tells_nothing_of_itself(store: wellkept.MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret words of a memory")

    http = client(store)
    monkeypatch.setattr(wellkept.MemoryStore, "get", broken)
    answer = http.get("/v1/memories/some-id")
    problem_of(answer, 500)
    assert "secret" not in answer.text


# --------------------------------------------------------------------------------------------
# Where a request comes from


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "127.0.0.1:8080"}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:8080"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "[zz"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ({"Host": "localhost:1", "Origin": "http://localhost:2"}, 403),
        ({"Host": "localhost", "Origin": "https://evil.example"}, 403),
        ({"Host": "localhost", "Origin": "null"}, 403),
        ({"Host": "localhost", "Origin": "https://page.example"}, 200),
        ({"Host": "memory.example"}, 200),
    ],
)
def test_only_the_servers_own_names_and_pages_are_served(
    store: wellkept.MemoryStore, headers: dict[str, str], status: int
) -> None:
    limits = Limits(hosts=("memory.example",), origins=("https://page.example",))
    assert client(store, limits=limits).get("/v1/stats", headers=headers).status_code == status


def test_a_form_from_another_site_without_an_origin_is_refused(http: TestClient) -> None:
    answer = http.post("/v1/memories", json={"content": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
    problem_of(answer, 403)


# --------------------------------------------------------------------------------------------
# Tokens and namespaces

Opened = tuple[TestClient, Callable[..., dict[str, str]], Tokens]


@pytest.fixture
def guarded(store: wellkept.MemoryStore, tmp_path: Path) -> Opened:
    tokens = Tokens(tmp_path / "tokens.json")

    def token(name: str, namespace: str, scope: str) -> dict[str, str]:
        _, secret = tokens.create(name=name, namespaces=[namespace], scopes=[scope])
        return {"Authorization": f"Bearer {secret}", "Wellkept-Namespace": namespace.replace("*", "one")}

    return client(store, tokens=tokens), token, tokens


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic d2s6", "Bearer " + "x" * 7000, "Bearer é"])
def test_without_a_valid_token_nothing_is_told_but_that_the_process_lives(guarded: Opened, header: str) -> None:
    http, _, _ = guarded
    headers = {"Authorization": header.encode()} if header else {}
    answer = http.get("/v1/stats", headers=headers)  # type: ignore[arg-type]
    problem_of(answer, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert http.get("/healthz").status_code == http.get("/readyz").status_code == 200
    problem_of(http.get("/metrics"), 401)


def test_a_token_does_what_its_scope_allows_and_no_more(guarded: Opened) -> None:
    http, token, _ = guarded
    reader, writer = token("reader", "acme/*", "read"), token("writer", "acme/*", "write")
    assert http.post("/v1/memories", json={"content": "Tea."}, headers=writer).status_code == 201
    problem_of(http.post("/v1/memories", json={"content": "Tea."}, headers=reader), 403)
    assert http.post("/v1/recall", json={"query": "tea"}, headers=reader).json()["hits"]
    problem_of(http.get("/metrics", headers=writer), 403)


def test_a_token_neither_reaches_nor_senses_another_namespace(guarded: Opened) -> None:
    """I8: the answer is the same, to the byte, whether the other namespace holds something or not."""
    http, token, _ = guarded
    ours, theirs = token("a", "acme/one", "write"), token("b", "umbrella/two", "write")
    secret = http.post("/v1/memories", json={"content": "The launch is in May."}, headers=theirs).json()
    full = http.get("/v1/stats", headers={**ours, "Wellkept-Namespace": "umbrella/two"})
    empty = http.get("/v1/stats", headers={**ours, "Wellkept-Namespace": "nobody/here"})
    assert problem_of(full, 403) == problem_of(empty, 403)
    memory = secret["memory"]["id"]
    there = http.get(f"/v1/memories/{memory}", headers=ours)
    nowhere = http.get(f"/v1/memories/{'0' * 36}", headers=ours)
    assert problem_of(there, 404)["detail"].replace(memory, "0" * 36) == problem_of(nowhere, 404)["detail"]
    made = http.post("/v1/memories", json={"content": "The launch is in May."}, headers=ours).json()
    assert (made["outcome"], made["matches"]) == ("created", [])


def test_a_refusal_for_a_namespace_names_the_header_and_not_the_namespace(guarded: Opened) -> None:
    """Issue 6: without the header, or with a namespace of another client, the error names the right header."""
    http, token, _ = guarded
    ours = token("a", "acme/*", "write")
    without = {"Authorization": ours["Authorization"]}
    told = [
        problem_of(http.get("/v1/stats", headers=headers), 403)
        for headers in (without, {**ours, "Wellkept-Namespace": "umbrella/two"})
    ]
    assert told[0] == told[1]
    assert told[0]["where"] == "Wellkept-Namespace"
    assert "Wellkept-Namespace" in told[0]["todo"]
    assert "umbrella" not in json.dumps(told)
    assert "admin" in problem_of(http.get("/metrics", headers=ours), 403)["todo"]


def test_who_acted_stands_in_the_journal(guarded: Opened, store: wellkept.MemoryStore) -> None:
    http, token, _ = guarded
    http.post("/v1/memories", json={"content": "Tea."}, headers=token("ci robot", "acme/one", "write"))
    assert [entry.actor for entry in store.in_namespace("acme/one").journal()] == ["ci robot"]


def test_a_revoked_token_ends_at_once(guarded: Opened) -> None:
    http, token, tokens = guarded
    headers = token("ci", "acme/one", "read")
    assert http.get("/v1/stats", headers=headers).status_code == 200
    tokens.revoke(tokens.list()[0].id)
    problem_of(http.get("/v1/stats", headers=headers), 401)


def test_a_token_has_a_rate_of_its_own(store: wellkept.MemoryStore, tmp_path: Path) -> None:
    now = [0.0]
    tokens = Tokens(tmp_path / "tokens.json")
    http = client(store, tokens=tokens, limits=Limits(rate=0.5, burst=2, clock=lambda: now[0]))
    heads = [
        {"Authorization": f"Bearer {tokens.create(name=name, namespaces=['*'], scopes=['read'])[1]}"} for name in "ab"
    ]

    def asked(number: int) -> Any:
        return http.get("/v1/stats", headers=heads[number])

    assert [asked(0).status_code for _ in range(3)] == [200, 200, 429]
    assert asked(0).headers["retry-after"] == "2"
    problem_of(asked(0), 429)
    assert asked(1).status_code == 200
    now[0] = 2.0
    assert [asked(0).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("named", ["acme/%E5%BC%A0", "acme/张".encode(), "acme%2F张".encode()])
def test_a_namespace_may_be_in_any_script(http: TestClient, store: wellkept.MemoryStore, named: Any) -> None:
    http.post("/v1/memories", json={"content": "Tea."}, headers={"Wellkept-Namespace": named})
    assert len(store.in_namespace("acme/张").list()) == 1


@pytest.mark.parametrize(
    ("named", "status"),
    [("", 422), ("/", 422), ("a//b", 422), ("x" * 3_000, 422)]
    + [(named, 404) for named in ("a/%00", "%0A", "x" * 300, "a%2F%2Fb", "%20", "a/%E2%80%AEb", b"a/\x80")],
)
def test_what_is_no_namespace_is_refused_and_what_can_be_none_is_nowhere(
    http: TestClient, store: wellkept.MemoryStore, named: Any, status: int
) -> None:
    told = problem_of(
        http.post("/v1/memories", json={"content": "Tea."}, headers={"Wellkept-Namespace": named}), status
    )
    assert told["where"] == "Wellkept-Namespace"
    assert told["todo"]
    assert store.namespaces() == ()


def test_what_a_session_was_handed_is_no_news_when_it_comes_back(http: TestClient) -> None:
    chat = {"Wellkept-Session": "chat 7"}
    body = {"content": "Ship the export behind a flag.", "kind": "thesis"}
    http.post("/v1/memories", json=body)
    http.post("/v1/pack", json={"query": "how is the export shipped"}, headers=chat)
    assert http.post("/v1/memories", json=body, headers=chat).json()["outcome"] == "duplicate"
    assert http.post("/v1/memories", json=body).json()["outcome"] == "created"


# --------------------------------------------------------------------------------------------
# Import


def lines_of(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_an_import_answers_line_by_line_and_tells_bad_ones_by_number(http: TestClient) -> None:
    body = b'{"text": "Tea is upstairs."}\n{bad\n\n{"content": ""}\n{"content": "tea is upstairs"}\n\xff\n' + b"[" * 99
    told = lines_of(http.post("/v1/import", content=body, headers=LINES))
    by_line = {item["line"]: item.get("outcome") or item["error"]["type"] for item in told if "line" in item}
    assert by_line == {
        1: "created", 2: "InvalidInput", 4: "EmptyContent", 5: "duplicate", 6: "InvalidText", 7: "InvalidInput"
    }  # fmt: skip
    assert told[-1]["report"]["counts"] == {"created": 1, "duplicate": 1}
    assert told[-1]["report"]["errors"] == 4


def test_the_same_import_again_changes_nothing_and_a_long_one_tells_how_far_it_is(
    http: TestClient, store: wellkept.MemoryStore
) -> None:
    """I5."""
    body = b"".join(b'{"content": "Note %d", "kind": "thesis"}\n' % number for number in range(300))
    told = lines_of(http.post("/v1/import?source=notes", content=body, headers=LINES))
    steps = [item["progress"]["lines"] for item in told if "progress" in item]
    assert steps == sorted(steps)
    assert steps
    again = lines_of(http.post("/v1/import?source=notes", content=body, headers=LINES))
    assert again[-1]["report"]["counts"] == {"replayed": 300}
    assert len(store.list()) == 300


def test_an_import_is_one_run_that_can_be_taken_back(http: TestClient, store: wellkept.MemoryStore) -> None:
    told = lines_of(http.post("/v1/import", content=b'{"content": "Tea."}\n', headers=LINES))
    assert http.post(f"/v1/runs/{told[-1]['report']['run_id']}/undo").status_code == 200
    assert store.list() == ()


def test_an_export_comes_back_through_an_import(http: TestClient, store: wellkept.MemoryStore, tmp_path: Path) -> None:
    keep(http, "Tea is upstairs.")
    store.export(tmp_path / "all.jsonl")
    body = (tmp_path / "all.jsonl").read_bytes()
    head = {**LINES, "Wellkept-Namespace": "copy"}
    assert lines_of(http.post("/v1/import", content=body, headers=head))[-1]["report"]["counts"] == {"created": 1}
    assert [row.content for row in store.in_namespace("copy").list()] == ["Tea is upstairs."]


AT = "2026-03-01T12:00:00Z"
ROW = {"id": "m1", "namespace": "default", "content": "Tea is upstairs.", "created_at": AT, "updated_at": AT}
ROWS = (
    {"memory": {**ROW, "confirmations": 1_000_000, "access_count": 9}},
    {"memory": {**ROW, "id": "m2", "content": "Coffee is downstairs.", "status": "archived"}},
    {"link": {"src": "m1", "dst": "m2"}},
    {"memory": {**ROW, "id": "m3", "polarity": 99}},
)


def rows_of(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in ({"wellkept": 1}, *records))


def holder(store: wellkept.MemoryStore, folder: Path, scope: str) -> tuple[TestClient, dict[str, str]]:
    """A client with a token of this scope, and the headers of an import."""
    tokens = Tokens(folder / "tokens.json")
    secret = tokens.create(name=scope, namespaces=["*"], scopes=[scope])[1]  # type: ignore[list-item]
    return client(store, tokens=tokens), {**LINES, "Authorization": f"Bearer {secret}"}


def test_rows_of_an_export_pass_the_gate_with_scope_write(store: wellkept.MemoryStore, tmp_path: Path) -> None:
    """E2: content fields are accepted from writers; ids, counts, status and links only from an administrator."""
    http, head = holder(store, tmp_path, "write")
    told = lines_of(http.post("/v1/import", content=rows_of(*ROWS), headers=head))
    by_line = {item["line"]: item.get("outcome") or item["error"]["type"] for item in told if "line" in item}
    assert by_line == {2: "created", 3: "InvalidInput", 4: "InvalidInput", 5: "InvalidField"}
    assert told[-1]["report"]["counts"] == {"created": 1}
    assert told[-1]["report"]["restored"] is False
    [row] = store.list()
    assert (row.id == "m1", row.confirmations, row.access_count, row.created_at.isoformat()) == (
        False, 0, 0, "2026-03-01T12:00:00+00:00"
    )  # fmt: skip
    again = lines_of(http.post("/v1/import", content=rows_of(*ROWS), headers=head))
    assert again[-1]["report"]["counts"] == {"replayed": 1}


def test_rows_of_an_export_are_restored_with_scope_admin_or_not_at_all(
    store: wellkept.MemoryStore, tmp_path: Path
) -> None:
    """E2: a typed error for each line, and nothing half written."""
    http, head = holder(store, tmp_path, "admin")
    told = lines_of(http.post("/v1/import", content=rows_of(*ROWS), headers=head))
    assert [(item["line"], item["error"]["type"]) for item in told if "line" in item] == [(5, "InvalidInput")]
    report = {"run_id": "", "read": 4, "counts": {}, "errors": 1, "restored": False}
    assert told[-1]["report"] | {"run_id": ""} == report
    assert store.list() == ()
    told = lines_of(http.post("/v1/import", content=rows_of(*ROWS[:2]), headers=head))
    assert (told[-1]["report"]["counts"], told[-1]["report"]["restored"]) == ({"created": 2}, True)
    assert (store.get("m1").confirmations, store.get("m2").status) == (1_000_000, "archived")
    assert http.get("/v1/memories", headers=head).status_code == 200


def test_an_import_has_a_bound_of_its_own(store: wellkept.MemoryStore) -> None:
    http = client(store, limits=Limits(body_bytes=100, import_bytes=1000))
    line = b'{"content": "Tea is upstairs."}\n'
    assert http.post("/v1/import", content=line * 10, headers=LINES).status_code == 200
    problem_of(http.post("/v1/import", content=line * 100, headers=LINES), 413)
    problem_of(http.post("/v1/import", content=(line for _ in range(100)), headers=LINES), 413)
    problem_of(http.post("/v1/import", content=line, headers=JSON), 415)


# --------------------------------------------------------------------------------------------
# Health, figures, logs


def test_a_server_that_stops_lives_but_is_not_ready(http: TestClient) -> None:
    http.app.state.health.drain()  # type: ignore[attr-defined]
    assert http.get("/healthz").status_code == 200
    problem_of(http.get("/readyz"), 503)


def test_a_store_that_does_not_answer_is_not_ready(http: TestClient, store: wellkept.MemoryStore) -> None:
    store.close()
    assert http.get("/healthz").status_code == 200
    problem_of(http.get("/readyz"), 503)


def test_the_figures_tell_outcomes_conflicts_latency_and_the_queue(store: wellkept.MemoryStore) -> None:
    http = client(store, queue_depth=lambda: 3)
    for text in ("The limit is 0.85.", "The limit is 0.85.", "The limit is 0.95."):
        keep(http, text, kind="lesson")
    http.get("/v1/memories/unknown")
    told = http.get("/metrics").text
    for line in (
        'wellkept_outcomes_total{outcome="created"} 2.0',
        'wellkept_outcomes_total{outcome="duplicate"} 1.0',
        "wellkept_open_conflicts 1.0",
        "wellkept_unchecked_memories 0.0",
        "wellkept_queue_depth 3.0",
        'wellkept_requests_total{operation="remember",status="201"} 2.0',
        'wellkept_requests_total{operation="get",status="404"} 1.0',
        'wellkept_request_seconds_count{operation="remember"} 3.0',
    ):
        assert line in told


def test_two_applications_in_one_process_count_for_themselves(store: wellkept.MemoryStore) -> None:
    one, other = client(store), client(store)
    one.get("/v1/stats")
    assert 'operation="stats"' not in other.get("/metrics").text


def test_the_log_of_requests_holds_no_text(http: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="wellkept"):
        keep(http, "SECRET words")
        http.get("/v1/memories", params={"where": json.dumps({"subject": "SECRET"})})
        http.get("/v1/memories/SECRET")
        keep(http, "SECRET", importance="SECRET")
    lines = [record.getMessage() for record in caplog.records if record.name == "wellkept.access"]
    assert len(lines) == 4
    assert lines[0].startswith("POST remember 201 ")
    assert "SECRET" not in caplog.text
