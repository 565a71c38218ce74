"""The OpenAPI document against the server: what it allows is taken, what it does not is refused, nothing breaks.

schemathesis asks every operation with values that fit the document and values that do not, and applies
all its checks: no server error, only declared statuses, media types and shapes, no valid request
refused, no invalid one accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

import wellkept
from wellkept.surfaces.operations import OPERATIONS
from wellkept.surfaces.rest import Limits, create_app

ROUTED = tuple(row.name for row in OPERATIONS if row.route is not None)
OTHERS = ("import", "healthz", "readyz", "metrics")
JSON_IN_QUERY = ("list",)
"""Their filter is JSON in the query; schemathesis spreads it over the query, where nobody reads its parts."""
OFTEN = ("remember", "recall", "check", "supersede", "link", "erase", "import")
"""Those that every run asks a little; `make soak` asks all of them a lot."""
FEW, MANY = 6, 100


@schemathesis.serializer("application/x-ndjson")
def as_lines(ctx: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def store() -> Iterator[wellkept.MemoryStore]:
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as opened:
        yield opened


@pytest.fixture(scope="module")
def schema(store: wellkept.MemoryStore) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(store, limits=Limits(hosts=("testserver",))))


def beyond_a_schema(case: Any) -> bool:
    """What no JSON schema can say: how two fields of one request go together, and what a plan is."""
    body = case.body if isinstance(case.body, dict) else {}
    query = case.query if isinstance(case.query, dict) else {}
    headers = {name.lower(): value for name, value in (case.headers or {}).items()}
    texts = [str(part) for part in (body.get("where"), query.get("where")) if part]
    return any(
        (
            body.get("event_time") and body.get("event_end"),  # one lies before the other
            "idempotency_key" in body and headers.get("idempotency-key"),  # they differ
            body.get("src") is not None and body.get("src") == body.get("dst"),
            query.get("src") is not None and query.get("src") == query.get("dst"),
            case.path_parameters and body.get("new_id") == case.path_parameters.get("old_id", ""),
            body.get("weights") is not None,  # only with mode hybrid
            isinstance(body.get("config"), dict) and body["config"].get("rules"),  # TOML in a text
            any("after" in text or "before" in text for text in texts),  # a time and an id in one list
        )
    )


def ask(schema: Any, name: str, mode: GenerationMode, examples: int) -> None:
    operation = schema.find_operation_by_id(name)
    # A plan comes from the store; whatever else is said to be one is refused as no plan.
    left_out = ["positive_data_acceptance"] if name == "execute" else []
    if mode is GenerationMode.NEGATIVE and name in JSON_IN_QUERY:
        left_out.append("negative_data_rejection")

    # The few of every run are the same ones, so that a run says something of the change and not of chance.
    drawn = settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)

    @settings(drawn, derandomize=examples < MANY)
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        if mode is GenerationMode.NEGATIVE or not beyond_a_schema(case):
            case.call_and_validate(excluded_checks=[CHECKS.get_one(check) for check in left_out])

    try:
        run()
    except Unsatisfiable:
        # Nothing can be said wrongly to an operation that takes nothing.
        assert mode is GenerationMode.NEGATIVE
        assert name in OTHERS


def broken(store: wellkept.MemoryStore) -> list[Any]:
    """What `verify` finds, but for links to nowhere, which may be made (S2-42)."""
    return [problem for problem in store.verify() if problem.what != "one end does not exist"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("name", OFTEN)
def test_an_operation_keeps_what_its_document_promises(
    schema: Any, store: wellkept.MemoryStore, name: str, mode: GenerationMode
) -> None:
    ask(schema, name, mode, FEW)
    assert broken(store) == []


@pytest.mark.soak
@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("name", [*ROUTED, *OTHERS])
def test_an_operation_keeps_it_a_hundred_times(
    schema: Any, store: wellkept.MemoryStore, name: str, mode: GenerationMode
) -> None:
    ask(schema, name, mode, MANY)
    assert broken(store) == []


def test_every_operation_with_a_route_is_in_the_document(schema: Any) -> None:
    document = schema.raw_schema
    ids = {item["operationId"] for path in document["paths"].values() for item in path.values()}
    assert {*ROUTED, *OTHERS} <= ids


@pytest.mark.parametrize("status", ["400", "401", "403", "404", "409", "413", "422", "429"])
def test_every_operation_declares_the_refusals_as_problems(schema: Any, status: str) -> None:
    for path in schema.raw_schema["paths"].values():
        for item in path.values():
            assert "application/problem+json" in item["responses"][status]["content"], item["operationId"]
