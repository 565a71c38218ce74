"""The OpenAPI document of the operations: parameters and bodies from the input models, with references resolved.

FastAPI describes the answers. Requests are parsed strictly by `wellkept.operations.registry.parsed`, so they are
described from the same models.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from wellkept.operations.queued_writes import MAY_WAIT, QUEUE_HEADER
from wellkept.operations.registry import OPERATIONS, Operation, Route
from wellkept.server.rest.narrowing import close_kinds, narrow
from wellkept.server.rest.problems import ProblemDetails, responses

NAMESPACE_SCHEMA: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 2_400,
    "pattern": "^[^/]+(?:/[^/]+)*$",
}
"""The raw header. A valid header may still decode to an invalid namespace, which is answered with 404."""
SESSION_SCHEMA: dict[str, Any] = {
    "type": "string",
    "maxLength": 500,
    "not": {"pattern": r"[\x00-\x1f\x7f]|%(?:[01][0-9A-Fa-f]|7[Ff])"},
}
"""The raw header: no control characters, neither directly nor as escapes."""
KEY_SCHEMA: dict[str, Any] = {"type": "string", "maxLength": 400, "pattern": "^[ -~]*$"}
_PREFIX = "Asked."
_TEMPLATE = "#/components/schemas/" + _PREFIX + "{model}"


def _header(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """An optional header as a parameter."""
    return {"name": name, "in": "header", "required": False, "description": description, "schema": dict(schema)}


NAMESPACE_HEADER = _header(
    "Wellkept-Namespace",
    "The namespace, such as acme/alice/coder; UTF-8 or percent-encoded. By default the server's.",
    NAMESPACE_SCHEMA,
)
SESSION_HEADER = _header("Wellkept-Session", "The conversation that the request belongs to.", SESSION_SCHEMA)
KEY_HEADER = _header(
    "Idempotency-Key",
    "A second request with the same key changes nothing; with another body it is rejected.",
    KEY_SCHEMA,
)
_QUEUE = _header(
    QUEUE_HEADER,
    "on: what can be deferred is queued until the session's queue is flushed.",
    {"type": "string", "enum": ["on", "off"], "default": "off"},
)


def parameters(row: Operation, route: Route, *, queried: bool) -> list[dict[str, Any]]:
    """The parameters of an operation's route: path parameters, query parameters and headers."""
    schema = _model(row)
    needed = set(schema.get("required", ()))
    made: list[dict[str, Any]] = []
    for name, part in schema.get("properties", {}).items():
        if name in route.parameters:
            made.append({"name": name, "in": "path", "required": True, **_parted(part)})
        elif queried:
            parameter = _parted(_without_null(part))
            if _is_object(parameter["schema"]):
                parameter = {**parameter, "content": {"application/json": {"schema": parameter["schema"]}}}
                del parameter["schema"]
            made.append({"name": name, "in": "query", "required": name in needed, **parameter})
    made += copy.deepcopy([NAMESPACE_HEADER, SESSION_HEADER])
    if row.effect != "read" and ({"idempotency_key", "items"} & schema.get("properties", {}).keys()):
        made.append(copy.deepcopy(KEY_HEADER))
    if row.name in MAY_WAIT:
        made.append(copy.deepcopy(_QUEUE))
    return made


def request_body(row: Operation, route: Route, kinds: Collection[str]) -> dict[str, Any]:
    """The JSON body of an operation's route: its input without the path parameters.

    Args:
        row: The operation.
        route: Its route.
        kinds: The kinds of the policy; `*` among them when it accepts any kind.
    """
    schema = copy.deepcopy(dict(_model(row)))
    if "*" not in kinds:
        close_kinds(schema, kinds)
    for name in route.parameters:
        schema.get("properties", {}).pop(name, None)
    left = [name for name in schema.get("required", ()) if name not in route.parameters]
    schema.pop("$defs", None)
    schema.pop("required", None)
    if left:
        schema["required"] = left
    return {"required": bool(left), "content": {"application/json": {"schema": schema}}}


def field_schema(row: Operation, route: Route) -> Mapping[str, Any]:
    """The schema of an operation's fields, without path parameters: an invalid one is answered with 404."""
    schema = dict(_model(row))
    schema["properties"] = {
        name: part for name, part in schema.get("properties", {}).items() if name not in route.parameters
    }
    return schema


def is_list(row: Operation, name: str) -> bool:
    """Whether a field is a list of texts, written as a repeated query parameter."""
    part = _without_null(_model(row)["properties"][name])
    if "$ref" in part:
        part = _model(row)["$defs"][part["$ref"].removeprefix(_TEMPLATE.format(model=""))]
    return bool(part.get("type") == "array")


def document(app: FastAPI, *, secured: bool) -> Callable[[], dict[str, Any]]:
    """Make the function that returns the OpenAPI document of an application.

    Args:
        app: The application, with all its routes.
        secured: Whether tokens are required.
    """

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schemas = made.setdefault("components", {}).setdefault("schemas", {})
            schemas["ProblemDetails"] = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
            for row in OPERATIONS:
                for name, part in _model(row).get("$defs", {}).items():
                    schemas[_PREFIX + name] = part
            for item in made["paths"].values():
                for operation in item.values():
                    _complete(operation)
            if secured:
                made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                made["security"] = [{"token": []}]
            app.openapi_schema = made
        return app.openapi_schema

    return openapi


@cache
def _model(row: Operation) -> Mapping[str, Any]:
    schema = row.input.model_json_schema(ref_template=_TEMPLATE)
    narrow(schema)
    return schema


def _complete(operation: dict[str, Any]) -> None:
    """Add the headers that every route accepts, and the errors of the layers around it."""
    if "nodes" in operation.get("tags", ()):
        operation.setdefault("parameters", []).extend(copy.deepcopy([NAMESPACE_HEADER, SESSION_HEADER]))
    described = operation.setdefault("responses", {})
    for status, part in responses().items():
        known = described.setdefault(str(status), {"description": part["description"]})
        if status == 422 and "HTTPValidationError" in str(known.get("content")):
            del known["content"]  # FastAPI's own error format, which is never sent
        known.setdefault("content", {}).update(part["content"])
        known.setdefault("headers", {}).update(part.get("headers", {}))


def _parted(part: Mapping[str, Any]) -> dict[str, Any]:
    """A property as a parameter, with its description next to its schema."""
    schema = {key: value for key, value in part.items() if key != "description"}
    return {"schema": schema} | ({"description": part["description"]} if "description" in part else {})


def _without_null(part: Mapping[str, Any]) -> dict[str, Any]:
    """A property as a query parameter; null is expressed by omitting it."""
    options = [option for option in part.get("anyOf", ()) if option.get("type") != "null"]
    rest = {key: value for key, value in part.items() if not (key == "default" and value is None)}
    if "anyOf" not in part:
        return rest
    del rest["anyOf"]
    return {**rest, **options[0]} if len(options) == 1 else {**rest, "anyOf": options}


def _is_object(schema: Mapping[str, Any]) -> bool:
    return "$ref" in schema or schema.get("type") == "object"
