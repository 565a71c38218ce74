"""The OpenAPI document against the server: valid requests are accepted, invalid ones refused, nothing breaks.

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
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

import wellkept
from wellkept.operations.registry import OPERATIONS
from wellkept.server.rest import Limits, create_app
from wellkept.server.rest.narrowing import ANSWERS_FORMAT, RULES_FORMAT

FEW, MANY = 2, 100
"""Examples of each operation and mode: of every run, and of `make soak`."""
RULES = (
    "defaults = false",
    "[[rules]]\nid = 'fade'\nwhen = {minAgeDays = 30}\nthen = {action = 'archive'}",
    "defaults=true",
)
ANSWERS = ("q1 new", "q1 repeats 1,2 and replaces 3", "q1 replaces 1; q2 not worth keeping")


def operations() -> tuple[str, ...]:
    """All that the document has, those of the seed and of health among them."""
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as opened:
        paths = create_app(opened).openapi()["paths"]
    return tuple(sorted(item["operationId"] for path in paths.values() for item in path.values()))


EVERY = operations()
NOTHING_WRONG = ("healthz", "readyz", "metrics")
# What no JSON schema can say has a name, and whoever makes values for it knows what it stands for.
schemathesis.openapi.format(RULES_FORMAT, st.sampled_from(RULES))
schemathesis.openapi.format(ANSWERS_FORMAT, st.sampled_from(ANSWERS))


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


def ask(schema: Any, name: str, mode: GenerationMode, examples: int) -> None:
    operation = schema.find_operation_by_id(name)
    # The few of every run are the same ones, so that a run says something of the change and not of chance.
    drawn = settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)

    @settings(drawn, derandomize=examples < MANY)
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        case.call_and_validate()

    try:
        run()
    except Unsatisfiable:
        # Nothing can be said wrongly to an operation that takes nothing.
        assert mode is GenerationMode.NEGATIVE
        assert name in NOTHING_WRONG


def broken(store: wellkept.MemoryStore) -> list[Any]:
    """What `verify` finds, but for links to nowhere, which may be made (S2-42)."""
    return [problem for problem in store.verify() if problem.what != "one end does not exist"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("name", EVERY)
def test_an_operation_keeps_what_its_document_promises(
    schema: Any, store: wellkept.MemoryStore, name: str, mode: GenerationMode
) -> None:
    ask(schema, name, mode, FEW)
    assert broken(store) == []


@pytest.mark.soak
@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("name", EVERY)
def test_an_operation_keeps_it_a_hundred_times(
    schema: Any, store: wellkept.MemoryStore, name: str, mode: GenerationMode
) -> None:
    ask(schema, name, mode, MANY)
    assert broken(store) == []


def test_every_operation_with_a_route_is_in_the_document() -> None:
    assert {row.name for row in OPERATIONS if row.route is not None} <= set(EVERY)


@pytest.mark.parametrize("status", ["400", "401", "403", "404", "409", "413", "422", "429"])
def test_every_operation_declares_the_refusals_as_problems(schema: Any, status: str) -> None:
    for path in schema.raw_schema["paths"].values():
        for item in path.values():
            assert "application/problem+json" in item["responses"][status]["content"], item["operationId"]
