"""REST and MCP offer the operations of the table as they are: names, parameters, defaults and results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

import wellkept
from stores import Place, place
from surfaces.operations.cases import CALLED, LISTED, SAME, Known, Said, copied
from surfaces.operations.differences import NO_TOOL_FIELDS
from surfaces.operations.likeness import likeness
from wellkept import MemoryStore
from wellkept.operations.registry import OPERATIONS, Operation, call, operation
from wellkept.server.rest import create_app

NAMES = [row.name for row in OPERATIONS]
ROUTED = [row for row in OPERATIONS if row.route is not None]
TOOLS = [row for row in OPERATIONS if row.toolset != "none"]
MCP_ONLY = {"erase": {"dry_run"}, "queue_drop": {"dry_run"}}
"""What cannot be taken back shows first what it would do; no client is asked in between."""
OF_A_SERVER: dict[str, dict[str, Any]] = {"pack": {"session": ""}}
"""What a tool answers otherwise: an MCP server is one conversation, so what it packed is no news to it."""
Case = tuple[str, Said]
CASES: list[Case] = [(name, said) for name, said, _ in SAME] + [(name, said) for name, _, said, _ in LISTED]
CASES += CALLED
AS_TOOLS = [(name, said) for name, said in CASES if operation(name).toolset != "none"]
IDS = [f"{at}-{name}" for at, (name, _) in enumerate(CASES)]
IN_QUERY = ("GET", "DELETE")


@pytest.fixture
def stores(template: tuple[Place, Known], tmp_path: Path) -> Iterator[tuple[MemoryStore, MemoryStore]]:
    """Two copies of one store: one for a server, one for the table."""
    opened = []
    for name in ("here.db", "there.db"):
        copied(template[0], place(tmp_path / name))
        opened.append(wellkept.open(str(place(tmp_path / name)), embedder="hashing", relation_model="none"))
    yield opened[0], opened[1]
    for store in opened:
        store.close()


def defaults(row: Operation) -> dict[str, Any]:
    """Fields with their defaults, as the schema of the table tells them."""
    return {name: part.get("default") for name, part in row.input.model_json_schema()["properties"].items()}


INSIDE = {"embedding", "checked", "chunks", "parts", "weights"}
"""What a tool tells only under `explain`."""


def whole(told: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """An answer with all its fields, whose records say only what says something."""
    kept = {key: told[key] for key in told if key not in INSIDE or given.get("explain")}
    return {key: item if key in ("metadata", "signals") else saying(item, given) for key, item in kept.items()}


def saying(value: Any, given: dict[str, Any]) -> Any:
    """A part of an answer without what says nothing, but for the records that are the caller's own."""
    if isinstance(value, list):
        return [saying(item, given) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: item if key in ("metadata", "signals") else saying(item, given)
        for key, item in value.items()
        if key not in INSIDE or given.get("explain")
    }
    return {key: item for key, item in kept.items() if item not in (None, "", [], {})}


# --------------------------------------------------------------------------------------------
# REST


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as store:
        made: dict[str, Any] = create_app(store).openapi()
        return made


@pytest.mark.parametrize("row", ROUTED, ids=[row.name for row in ROUTED])
def test_an_operation_is_a_route_with_the_same_parameters_and_defaults(
    document: dict[str, Any], row: Operation
) -> None:
    assert row.route is not None
    told = document["paths"][row.route.path][row.route.method.lower()]
    assert told["operationId"] == row.name
    found: dict[str, Any] = {}
    for part in told["parameters"]:
        if part["in"] != "header":
            schema = part["schema"] if "schema" in part else part["content"]["application/json"]["schema"]
            found[part["name"]] = schema.get("default")
    if "requestBody" in told:
        body = told["requestBody"]["content"]["application/json"]["schema"]
        found |= {name: part.get("default") for name, part in body.get("properties", {}).items()}
    assert found == defaults(row)


def requested(client: TestClient, row: Operation, given: dict[str, Any]) -> tuple[int, Any]:
    """What the application answers."""
    assert row.route is not None
    path = row.route.path.format(**given)
    rest = {key: value for key, value in given.items() if key not in row.route.parameters}
    query = {key: json.dumps(value) if isinstance(value, dict | bool) else value for key, value in rest.items()}
    sent: dict[str, Any] = {"params": query} if row.route.method in IN_QUERY else {"json": rest}
    answer = client.request(row.route.method, path, **sent)
    assert answer.status_code in (200, 201, 202), answer.text
    return answer.status_code, answer.json()


@pytest.mark.parametrize(("name", "said"), CASES, ids=IDS)
def test_rest_answers_what_the_table_does(
    stores: tuple[MemoryStore, MemoryStore], template: tuple[Path, Known], name: str, said: Said
) -> None:
    here, there = stores
    row, given = operation(name), said(template[1])
    with TestClient(create_app(here), base_url="http://127.0.0.1") as client:
        status, answer = requested(client, row, given)
    result = call(there, name, given)
    assert likeness(answer) == likeness(result.model_dump(mode="json"))
    assert status == row.status(result)


# --------------------------------------------------------------------------------------------
# MCP


@pytest.fixture(scope="module")
def tools() -> dict[str, Any]:
    """The tools by name."""
    from wellkept.server.mcp.server import create_server

    with wellkept.open("memory:", embedder="hashing", relation_model="none") as store:
        listed = anyio.run(create_server(store, toolset="full").list_tools)
    return {tool.name: tool for tool in listed}


def test_the_full_set_of_tools_is_the_table_and_the_default_set_a_part_of_it(tools: dict[str, Any]) -> None:
    from wellkept.server.mcp.server import create_server

    with wellkept.open("memory:", embedder="hashing", relation_model="none") as store:
        usual = anyio.run(create_server(store).list_tools)
    assert set(tools) == {row.name for row in TOOLS}
    assert {tool.name for tool in usual} == {row.name for row in TOOLS if row.toolset == "default"}


@pytest.mark.parametrize("row", TOOLS, ids=[row.name for row in TOOLS])
def test_an_operation_is_a_tool_with_the_same_parameters_and_defaults(tools: dict[str, Any], row: Operation) -> None:
    schema = tools[row.name].input_schema
    found = {name: part.get("default") for name, part in schema["properties"].items()}
    told = {name: value for name, value in defaults(row).items() if name not in NO_TOOL_FIELDS.get(row.name, ())}
    assert {name: value for name, value in found.items() if name not in MCP_ONLY.get(row.name, ())} == told
    assert set(schema.get("required", ())) == set(row.input.model_json_schema().get("required", ()))
    assert row.description in tools[row.name].description


def test_the_store_tool_still_ends_with_the_text_about_duplicates(tools: dict[str, Any]) -> None:
    """S0-46."""
    assert tools["remember"].description.endswith("the new one is created and linked to it.")


@pytest.mark.parametrize(("name", "said"), AS_TOOLS, ids=[f"{at}-{name}" for at, (name, _) in enumerate(AS_TOOLS)])
def test_a_tool_answers_what_the_table_does(
    stores: tuple[MemoryStore, MemoryStore], template: tuple[Path, Known], name: str, said: Said
) -> None:
    from mcp.client import Client

    from wellkept.server.mcp.server import create_server

    here, there = stores
    given = {field: value for field, value in said(template[1]).items() if field not in NO_TOOL_FIELDS.get(name, ())}
    sure = {"dry_run": False} if name in MCP_ONLY else {}

    async def asked() -> Any:
        async with Client(create_server(here, toolset="full")) as client:
            return await client.call_tool(name, {**given, **sure})

    answer = anyio.run(asked)
    assert not answer.is_error
    told = call(there, name, given).model_dump(mode="json")
    if "shortened" in answer.structured_content:  # a long journal does not fit into a context window
        assert len(json.dumps(told)) > 20_000
        return
    seen = told if name == "plan" else whole(told, given)
    assert likeness(answer.structured_content | OF_A_SERVER.get(name, {})) == likeness(seen)
