"""Composition of the REST application: routes, the layers around them, and problem documents for all errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from starlette.responses import Response

from wellkept import __version__
from wellkept.engine.verbs.store import MemoryStore
from wellkept.server.access import TokenKeeper
from wellkept.server.rest import problems
from wellkept.server.rest.access_log import AccessLog
from wellkept.server.rest.health import Health, health_routes
from wellkept.server.rest.import_route import import_routes
from wellkept.server.rest.limits import Limits
from wellkept.server.rest.metrics import Metrics, figures_of, metrics_routes
from wellkept.server.rest.nodes_routes import node_routes
from wellkept.server.rest.request_checks import BodyLimits, ConcurrencyLimit, OriginCheck, TokenCheck
from wellkept.server.rest.routes import Malformed, operation_routes
from wellkept.server.rest.schema import document
from wellkept.server.rest.store_of_request import NotAllowed, RequestStores, UnknownNamespace

if TYPE_CHECKING:
    from wellkept.integrations.opentelemetry import Telemetry

_DESCRIPTION = "Long-term memory for agents that keeps itself free of duplicates and contradictions."


def create_app(
    store: MemoryStore,
    *,
    tokens: TokenKeeper | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    health: Health | None = None,
    queue_depth: Callable[[], int] | None = None,
    telemetry: Telemetry | None = None,
) -> FastAPI:
    """Create the REST application of a store.

    A request selects its namespace with `Wellkept-Namespace` and its session with `Wellkept-Session`. The header
    `Idempotency-Key` makes a write safe to repeat.

    Args:
        store: The store; it is not closed by the application.
        tokens: The access tokens. Without them, every request may do everything, so the server must
            listen on loopback only.
        limits: Limits of a request.
        health: Its `drain` makes `/readyz` report that the server is stopping; by default a new one,
            available as `app.state.health`.
        queue_depth: Returns the number of queued writes for `/metrics`; by default that of the store.
        telemetry: Makes spans and measurements of requests and verbs, and exports the counts of `/metrics`; by default
            nobody does.

    Returns:
        An ASGI application.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     "/v1/memories" in create_app(store).openapi()["paths"]
        True
    """
    app = FastAPI(
        title="Wellkept",
        version=__version__,
        description=_DESCRIPTION,
        # FastAPI's own telemetry writes paths and queries into spans, which may hold ids and texts; ours does not.
        # No pages that load scripts from other sites.
        telemetry={"auto_configure": False},
        openapi_url=None,  # served below, built in a thread
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.health = health if health is not None else Health()
    depth = queue_depth if queue_depth is not None else lambda: _waiting(store)
    app.state.metrics = Metrics(store, depth)
    if telemetry is not None:
        telemetry.show(lambda: figures_of(store, depth))
        store = telemetry.observed(store)
    stores = RequestStores(store)
    app.include_router(operation_routes(stores))
    app.include_router(import_routes(stores, limits))
    app.include_router(node_routes(stores))
    app.include_router(health_routes(store, app.state.health))
    app.include_router(metrics_routes(app.state.metrics))
    problems.install(app)
    for refusal in (Malformed, NotAllowed, UnknownNamespace):
        app.add_exception_handler(refusal, _refused)
    # The last layer added is the outermost.
    app.add_middleware(ConcurrencyLimit, limits=limits)
    app.add_middleware(BodyLimits, limits=limits)
    app.add_middleware(TokenCheck, tokens=tokens, limits=limits)
    app.add_middleware(OriginCheck, limits=limits)
    app.add_middleware(AccessLog, metrics=app.state.metrics, telemetry=telemetry)
    app.openapi = document(app, secured=tokens is not None)  # type: ignore[method-assign]
    app.add_route("/openapi.json", _document(app), include_in_schema=False)
    return app


def _document(app: FastAPI) -> Callable[[Request], Response]:
    """The endpoint of the OpenAPI document; FastAPI runs a function that is not a coroutine in a thread."""
    made: list[bytes] = []

    def openapi(request: Request) -> Response:
        if not made:
            made.append(json.dumps(app.openapi(), ensure_ascii=False).encode())
        return Response(made[0], media_type="application/json")

    return openapi


def _waiting(store: MemoryStore) -> int:
    return len(store._ctx.ledger.waiting())


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Malformed | NotAllowed | UnknownNamespace)
    return error.response
