"""`check-similar` and the node routes: bodies, status codes and error texts as the original host system has them.

Where the original system would lose data or treat two different cases alike, the rules of the store
apply: `DELETE` hides a node and can be reverted, a difference prevents `duplicate`, and every
`POST /nodes` passes the gate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from wellkept.core.records.explain import duplicate_message
from wellkept.engine.base.inputs import MAX_LABEL, label
from wellkept.engine.base.retry import repeated
from wellkept.engine.gate.check_similar import check_similar, lifecycle_of
from wellkept.engine.lookup.read import walk
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import (
    AmbiguousId,
    ConflictError,
    IllegalTransition,
    InvalidField,
    InvalidInput,
    ModelError,
    NotFound,
    StorageError,
    WellkeptError,
)
from wellkept.operations.pages import page
from wellkept.server.large_requests import LARGE, LARGE_AT_ONCE
from wellkept.server.rest.narrowing import TEXT
from wellkept.server.rest.nodes_api import (
    TYPE_KEY,
    Backfilled,
    CheckSimilar,
    Deleted,
    Failure,
    FoundNode,
    FoundNodes,
    Node,
    NodeIn,
    NodePatch,
    Nodes,
    Search,
    Similar,
    Stored,
    edge,
    fields_of,
    kind_of,
    node_fields,
)
from wellkept.server.rest.sending import sent
from wellkept.server.rest.store_of_request import UnknownNamespace
from wellkept.types import Filter, Lifecycle, Memory, WriteResult

REQUIRED = "content, title, and subtype are required"
"""The error text of the original endpoint, word for word, because its clients compare it."""
_NAMED: dict[str, Any] = {"maxLength": MAX_LABEL, **TEXT}
_MANDATORY = frozenset({"content", "title", "subtype"})
_ABSENT = frozenset({"missing", "string_too_short"})
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Failure, "description": "The request is invalid"},
    500: {"model": Failure, "description": "The model or the store failed"},
}
_UNKNOWN: dict[int | str, dict[str, Any]] = {
    404: {"model": Failure, "description": "There is no such node"},
    409: {"model": Failure, "description": "The id is ambiguous, or the state of the node does not allow it"},
}

_SINGLE = "/nodes/{node_id}"
_OTHER_METHODS = ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
_END = datetime.max.replace(tzinfo=UTC)
StoreOf = Callable[..., Any]
"""A dependency that returns the store of a request, bound to its namespace."""


class _ThreadedRequest(Request):
    """A request whose JSON is parsed in a thread, to keep the event loop free."""

    async def json(self) -> Any:
        return await to_thread.run_sync(json.loads, await self.body())


class _NodeRoute(APIRoute):
    """Returns every error in the form of the original system: `{"error": text}`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler, few = super().get_route_handler(), CapacityLimiter(LARGE_AT_ONCE)

        async def handle(request: Request) -> Response:
            asked = _ThreadedRequest(request.scope, request.receive)
            try:
                if len(await asked.body()) <= LARGE:
                    return await handler(asked)
                async with few:
                    return await handler(asked)
            except RequestValidationError as error:
                return failure(400, _unusable(request, error))
            except UnknownNamespace:
                raise  # an error of the request itself has the same form as on other paths
            except WellkeptError as error:
                return failure(*_error(error, asked=_is_check(request)))

        return handle


def failure(status: int, text: str) -> JSONResponse:
    """An error in the form of the original system."""
    return JSONResponse({"error": text}, status_code=status)


def node_routes(store_of: StoreOf) -> APIRouter:
    """Create the node routes below `/v1`.

    Args:
        store_of: A FastAPI dependency that returns the `MemoryStore` of a request. The scope that the route needs
            (`read`, `write` or `admin`) is passed as a security scope.

    Returns:
        The router, for `FastAPI.include_router`.
    """
    router = APIRouter(prefix="/v1", tags=["nodes"], route_class=_NodeRoute, responses=_ERRORS)
    reading = Security(store_of, scopes=["read"])
    writing = Security(store_of, scopes=["write"])
    # Before the routes with a node id, which would match these paths too.
    _add_check(router, reading, writing)
    for path in ("/nodes/check-similar", "/nodes/backfill-embeddings"):
        router.add_api_route(path, _only_post, methods=_OTHER_METHODS, include_in_schema=False)
    _add_collection(router, reading, writing)
    _add_single(router, reading, writing)
    return router


def _add_check(router: APIRouter, reading: Any, writing: Any) -> None:
    @router.post("/nodes/check-similar", response_model=Similar, operation_id="check_similar")
    def check(body: CheckSimilar, store: MemoryStore = reading) -> dict[str, Any]:
        """Memories of the same subtype that are similar to a text not yet stored."""
        kind = label("subtype", kind_of(body.subtype))
        return check_similar(store._ctx, body.content, body.title, kind=kind, limit=body.limit)

    @router.post("/nodes/backfill-embeddings", response_model=Backfilled, operation_id="backfill_embeddings")
    def backfill(store: MemoryStore = writing) -> Backfilled | JSONResponse:
        """Computes missing vectors, in batches."""
        done = store.sweep()
        if done.outage and not done.embedded:
            return failure(500, "embedding generation failed: the model cannot be reached")
        return Backfilled(embedded=done.embedded, left=done.left)

    @router.post("/search", response_model=FoundNodes, operation_id="search_nodes")
    def search(body: Search, store: MemoryStore = reading) -> Response:
        """Memories relevant to a query, best first."""
        hits, more = page(store.recall(body.query, limit=body.limit), body.limit)
        found = [FoundNode(**_fields(store, hit.memory), score=hit.score) for hit in hits]
        return sent(FoundNodes(data=found, more=more))


def _add_collection(router: APIRouter, reading: Any, writing: Any) -> None:
    @router.post(
        "/nodes",
        response_model=Stored,
        operation_id="create_node",
        status_code=201,
        responses={
            200: {"model": Stored, "description": "Nothing was created: the existing node is returned"},
            409: {
                "model": Failure,
                "description": "The policy rejects it: it contradicts a stored node, or has no content worth storing",
            },
        },
    )
    def create(body: NodeIn, response: Response, store: MemoryStore = writing) -> Stored | JSONResponse:
        """Stores a node, unless it is a duplicate."""
        given = fields_of(body.content_body)
        result = store.remember(
            given.pop("content"),
            kind=kind_of(body.subtype),
            title=body.content_title,
            summary=body.content_summary or "",
            event_time=body.event_time,
            metadata={} if body.type == "concept" else {TYPE_KEY: label("type", body.type)},
            **given,
        )
        if result.memory is None:  # rejected by the content filter of its kind; these routes never queue writes
            return failure(409, result.message)
        response.status_code = 201 if _is_new(result) else 200
        edges = [edge(link) for link in result.links]
        # The host system of these routes has a separate tool that reactivates a node.
        message = (
            duplicate_message(result.matches[0], verb="update_memory")
            if result.outcome == "duplicate" and result.matches and result.matches[0].lifecycle != "ACTIVE"
            else result.message
        )
        return Stored(**_fields(store, result.memory), outcome=result.outcome, message=message, edges=edges)

    @router.get("/nodes", response_model=Nodes, operation_id="list_nodes", responses=_UNKNOWN)
    def listing(
        subtype: Annotated[
            str | None, Query(description="Only nodes of this subtype", json_schema_extra=_NAMED)
        ] = None,
        lifecycle: Annotated[Lifecycle | None, Query(description="Only nodes in this lifecycle state")] = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
        before: Annotated[
            str | None, Query(description="Only nodes older than the one of this id", json_schema_extra=_NAMED)
        ] = None,
        store: MemoryStore = reading,
    ) -> Response:
        """Current nodes, newest first. If more is true, others follow: pass the id of the last one as before."""
        ctx, kinds = store._ctx, () if subtype is None else (label("subtype", kind_of(subtype)),)
        last = None if before is None else _held(store, before)
        where = Filter(kinds=kinds, before=(_END, "") if last is None else (last.created_at, last.id))

        def current() -> Iterator[Memory]:
            for row in walk(ctx, where, at_once=limit + 1):
                if lifecycle is None or lifecycle_of(ctx, row) == lifecycle:
                    yield row

        rows, more = repeated(ctx, lambda: page(current(), limit))
        return sent(Nodes(data=[Node(**_fields(store, row)) for row in rows], more=more))


def _add_single(router: APIRouter, reading: Any, writing: Any) -> None:
    @router.get(_SINGLE, response_model=Node, operation_id="get_node", responses=_UNKNOWN)
    def get(node_id: str, store: MemoryStore = reading) -> Node:
        """One node. Reading it counts as use and delays its decay."""
        return Node(**_fields(store, _present(store, node_id, touch=True)))

    @router.patch(_SINGLE, response_model=Node, operation_id="update_node", responses=_UNKNOWN)
    def update(node_id: str, body: NodePatch, store: MemoryStore = writing) -> Node:
        """Changes a node; `state_lifecycle: ACTIVE` restores an archived or deleted one."""
        held = _held(store, node_id) if body.state_lifecycle is not None else _present(store, node_id)
        changes = _changes(body)
        if changes:
            held = store.revise(held.id, **changes)
        if body.state_lifecycle is not None and store.restore(held.id):
            held = store.get(held.id, touch=False)
        return Node(**_fields(store, held))

    @router.delete(_SINGLE, response_model=Deleted, operation_id="delete_node", responses=_UNKNOWN)
    def delete(node_id: str, store: MemoryStore = writing) -> Deleted:
        """Hides a node; it is kept and can be restored."""
        held = _present(store, node_id)
        store.forget(held.id)
        return Deleted(id=held.id, deleted=True)


def _only_post() -> JSONResponse:
    return JSONResponse({"error": "method not allowed"}, status_code=405, headers={"Allow": "POST"})


def _changes(body: NodePatch) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if body.content_body is not None:
        changes.update(fields_of(body.content_body))
    if body.content_title is not None:
        changes["title"] = body.content_title
    if body.content_summary is not None:
        changes["summary"] = body.content_summary
    if body.subtype is not None:
        changes["kind"] = kind_of(body.subtype)
    return changes


def _present(store: MemoryStore, node_id: str, *, touch: bool = False) -> Memory:
    """A node that is not deleted."""
    held = _held(store, node_id, touch=touch)
    if held.status in ("archived", "erased"):
        raise NotFound(f"no memory {node_id!r}", where="node_id")
    return held


def _held(store: MemoryStore, node_id: str, *, touch: bool = False) -> Memory:
    try:
        return store.get(node_id, touch=touch)
    except InvalidField as error:  # an invalid id is treated as an unknown one
        raise NotFound("no memory of that id", where="node_id") from error


def _fields(store: MemoryStore, memory: Memory) -> dict[str, Any]:
    ctx = store._ctx
    return node_fields(memory, lifecycle_of(ctx, memory), ctx.embedder.id)


def _is_new(result: WriteResult) -> bool:
    return result.outcome in ("created", "superseded", "queued") and result.entry > 0


def _unusable(request: Request, error: RequestValidationError) -> str:
    """The original error text for a missing field; otherwise the field and the problem."""
    problems = list(error.errors())
    asked = _is_check(request)
    if asked and any(set(one["loc"]) & _MANDATORY and _lacks(one) for one in problems):
        return REQUIRED
    first = problems[0]
    if first["type"] == "json_invalid":
        return "the body is not JSON"
    if asked and tuple(first["loc"]) == ("body",):
        return REQUIRED  # no body, or a body that is not an object
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def _is_check(request: Request) -> bool:
    return request.url.path.endswith("/nodes/check-similar")


def _lacks(problem: Any) -> bool:
    return problem["type"] in _ABSENT or problem.get("input") is None


def _error(error: WellkeptError, *, asked: bool) -> tuple[int, str]:
    """Status and text of an error; the text contains no paths or hosts."""
    match error:
        case ModelError():
            return 500, f"embedding generation failed: {error.what}"
        case StorageError():
            return 500, f"{'similarity search' if asked else 'storage'} failed: {error.what}"
        case NotFound():
            return 404, "node not found"
        case ConflictError() | AmbiguousId() | IllegalTransition():
            return 409, str(error)
        case InvalidInput():
            return 400, str(error)
        case _:
            return 400, error.what
