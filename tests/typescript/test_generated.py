"""The generated part of the TypeScript client is what its script makes now."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from wellkept import __version__
from wellkept.routes import ROUTES

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
_found = importlib.util.spec_from_file_location("generate", CLIENT / "generate.py")
assert _found is not None and _found.loader is not None
generate: Any = importlib.util.module_from_spec(_found)
_found.loader.exec_module(generate)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return dict(generate.files())


def test_what_is_checked_in_is_what_the_script_makes(made: dict[str, str]) -> None:
    kept = {path.name: path.read_text("utf-8") for path in generate.PLACE.iterdir()}
    assert sorted(kept) == sorted(made)
    stale = [name for name in made if kept[name] != made[name]]
    assert not stale, f"run python clients/typescript/generate.py for {stale}"


def test_every_operation_of_the_server_is_a_method(made: dict[str, str]) -> None:
    for operation in (*ROUTES, "check_similar", "import", "healthz", "metrics"):
        name = generate.name({"operationId": operation})
        assert f"  {name}(" in made["operations.ts"], operation


def test_the_package_has_the_version_of_the_library_and_needs_nothing_to_run() -> None:
    package = json.loads((CLIENT / "package.json").read_text("utf-8"))
    assert package["version"] == __version__
    assert "dependencies" not in package


KINDS = frozenset({"fact", "note"})


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"$ref": "#/components/schemas/Asked.FilterFields"}, "FilterFields"),
        ({"const": "memory"}, '"memory"'),
        ({"enum": [-1, 0, 1], "type": "integer"}, "-1 | 0 | 1"),
        ({"enum": ["note", "fact"], "type": "string"}, "Kind"),
        ({"anyOf": [{"enum": ["note", "fact"]}, {"type": "string"}]}, "Kind"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": "string", "description": "ISO 8601; UTC without a zone."}, "Time"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}, "[string, number]"),
        ({"type": "array"}, "unknown[]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "Record<string, number>"),
        ({"type": "object", "additionalProperties": True}, "Record<string, unknown>"),
        ({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {}}, "required": ["a"]},
         "{ a: boolean; b?: unknown }"),
    ],
)  # fmt: skip
def test_a_schema_as_a_type(schema: dict[str, Any], written: str) -> None:
    document = generate._Document({"components": {"schemas": {}}, "paths": {}}, KINDS)
    assert document.type(schema) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [("", ""), ("Ends */ here.", "/** Ends * / here. */\n"), ("word " * 60, "/**\n * word")],
)
def test_a_description_never_ends_its_comment(text: str, written: str) -> None:
    made = generate._comment(text, "")
    assert made.startswith(written)
    assert made.count("*/") == bool(made)
