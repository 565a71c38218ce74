"""One route per operation with an HTTP route: reads fields from path, query and body, and answers with JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, NoReturn

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import IdempotencyMismatch, InvalidField, NotFound
from wellkept.operations.queued_writes import MAY_WAIT, QUEUE_HEADER, queueing, wants_queue_by_header
from wellkept.operations.registry import OPERATIONS, Operation, Route, parsed
from wellkept.operations.row import ok
from wellkept.server.large_requests import LARGE, LARGE_AT_ONCE
from wellkept.server.rest.conforming import check_fields
from wellkept.server.rest.narrowing import with_integers
from wellkept.server.rest.problems import of_error, problem, responses
from wellkept.server.rest.request_checks import grant_of
from wellkept.server.rest.schema import field_schema, is_list, parameters, request_body
from wellkept.server.rest.sending import sent
from wellkept.server.rest.store_of_request import IDEMPOTENCY, RequestStores, read_header

_IN_QUERY = frozenset({"GET", "DELETE"})
_BETWEEN = frozenset({"event_end", "at", "weights", "where.embedded"})
"""Fields whose format is checked before; the library rejects them only in combination with another field."""
_DONE: Mapping[int, str] = {
    200: "Done",
    201: "Done; a memory was created",
    202: "Accepted; queued to be written",
}


class Malformed(Exception):
    """A body that is not JSON; answered with 400."""

    def __init__(self, response: Response) -> None:
        self.response = response
        super().__init__("malformed")


def operation_routes(stores: RequestStores) -> APIRouter:
    """The routes of all operations. Paths without parameters come first, so that `batch` is not taken for an id."""
    router, few = APIRouter(), CapacityLimiter(LARGE_AT_ONCE)
    routed = [(row, row.route) for row in OPERATIONS if row.route is not None]
    for row, route in sorted(routed, key=lambda pair: bool(pair[1].parameters)):
        statuses = (200,) if row.status is ok else tuple(_DONE)
        described: dict[int | str, dict[str, Any]] = {
            status: {"model": row.output, "description": _DONE[status]} for status in statuses
        }
        router.add_api_route(
            route.path,
            _endpoint(row, route, stores, field_schema(row, route), few),
            methods=[route.method],
            operation_id=row.name,
            name=row.name,
            summary=row.title,
            description=row.description,
            tags=[route.path.split("/")[2]],
            response_model=None,
            responses={**responses(), **described},
            openapi_extra=_extra(row, route, stores.kinds),
        )
    return router


def _extra(row: Operation, route: Route, kinds: Collection[str]) -> dict[str, Any]:
    queried = route.method in _IN_QUERY
    extra: dict[str, Any] = {"parameters": parameters(row, route, queried=queried)}
    if not queried:
        extra["requestBody"] = request_body(row, route, kinds)
    return extra


def _endpoint(
    row: Operation, route: Route, stores: RequestStores, schema: Mapping[str, Any], few: CapacityLimiter
) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    def answered(request: Request, raw: bytes) -> Response:
        store = stores.store_of(request.headers, grant_of(request.scope.get("state", {})), row.scope)
        return _answer(row, store, request=request, given=_input(row, route, request=request, raw=raw, schema=schema))

    async def endpoint(request: Request) -> Response:
        raw = b"" if route.method in _IN_QUERY else await request.body()
        # The engine is synchronous and waits for the disk, so it never runs on the event loop.
        return await to_thread.run_sync(answered, request, raw, limiter=few if len(raw) > LARGE else None)

    return endpoint


def _input(row: Operation, route: Route, *, request: Request, raw: bytes, schema: Mapping[str, Any]) -> BaseModel:
    """Read the input of an operation from path, query and body, and validate it against the document.

    Raises:
        InvalidInput: It is invalid.
        Malformed: The body is not JSON.
    """
    path = {name: _from_path(row, name, text) for name, text in request.path_params.items()}
    if route.method in _IN_QUERY:
        given = parsed(row, {**_of_query(row, request.query_params), **path}, texts=True)
        check_fields(given.model_dump(exclude=set(path), exclude_unset=True), schema)
        return given
    if request.query_params:
        raise InvalidField(
            "this operation takes no query parameters", where="query", todo="Send the fields in the body"
        )
    fields = with_integers(row.input, _of_body(request, raw))
    _refuse_doubles(fields, path)
    given = parsed(row, _keyed(row, request, {**fields, **path}))
    check_fields(fields, schema)
    return given


def _answer(row: Operation, store: MemoryStore, *, request: Request, given: BaseModel) -> Response:
    """Run the operation of a request.

    Raises:
        WellkeptError: Raised by the operation.
    """
    try:
        with queueing(store, wanted=row.name in MAY_WAIT and _wants_queue(request)):
            result = row.handler(store, given)
    except InvalidField as error:
        if error.where in _BETWEEN:
            return of_error(error, status=409)
        if error.where != "id":
            raise
        # An invalid id is treated as an unknown one.
        raise NotFound(error.what, where=error.where, todo=error.todo) from error
    return sent(result, status=row.status(result))


def _wants_queue(request: Request) -> bool:
    return wants_queue_by_header(read_header(request.headers, QUEUE_HEADER, escaped=False))


def _from_path(row: Operation, name: str, text: str) -> Any:
    kind: Any = row.input.model_fields[name].annotation
    if kind is str:
        return text
    try:
        return TypeAdapter[Any](kind).validate_python(text)
    except ValidationError as error:
        raise InvalidField("cannot be read", where=name, todo="See the operation's path") from error


def _of_query(row: Operation, given: QueryParams) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in given:
        values = given.getlist(name)
        field = row.input.model_fields.get(name)
        if field is not None and is_list(row, name):
            fields[name] = values
        elif len(values) > 1:
            raise InvalidField("is given twice", where=name, todo="Send it once")
        else:
            fields[name] = values[0]
    return fields


def _of_body(request: Request, raw: bytes) -> dict[str, Any]:
    if not raw.strip():
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        response = problem(415, "the content type is not JSON", where="Content-Type", todo="Send application/json")
        raise Malformed(response)
    try:
        data = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        what = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else "is not JSON"
        raise Malformed(problem(400, f"the body {what}", where="body", todo="Send one JSON object")) from error
    if not isinstance(data, dict):
        raise InvalidField("is not an object", where="body", todo="Send one JSON object")
    return data


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _refuse_doubles(fields: Mapping[str, Any], path: Mapping[str, Any]) -> None:
    for name in path:
        if name in fields:
            raise InvalidField("is already in the path", where=name, todo="Omit it from the body")


def _keyed(row: Operation, request: Request, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with the key of the header, for operations that accept idempotency keys.

    Repeating any other operation changes nothing, or fails because it is already done.
    """
    key = read_header(request.headers, IDEMPOTENCY, escaped=False)
    if not key:
        return fields
    if "idempotency_key" in row.input.model_fields:
        if fields.get("idempotency_key", key) != key:
            raise IdempotencyMismatch("the body has a different key", where=IDEMPOTENCY, todo="Send one of the two")
        return {**fields, "idempotency_key": key}
    items = fields.get("items")
    if "items" in row.input.model_fields and isinstance(items, list):
        return {**fields, "items": [_keyed_item(item, f"{key}:{place}") for place, item in enumerate(items)]}
    return fields


def _keyed_item(item: Any, key: str) -> Any:
    if isinstance(item, str):
        return {"content": item, "idempotency_key": key}
    if isinstance(item, dict):
        return {"idempotency_key": key, **item}
    return item
