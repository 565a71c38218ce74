"""The outermost layer: measures, counts and logs each request without its contents, and sets security headers."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellkept.server.access import EVERYTHING
from wellkept.server.rest.metrics import Metrics
from wellkept.server.rest.request_checks import grant_of

if TYPE_CHECKING:
    from wellkept.integrations.opentelemetry import Telemetry

_LOG = logging.getLogger("wellkept.access")
_TRACE_HEADERS = frozenset((b"traceparent", b"tracestate"))
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class AccessLog:
    """ASGI middleware that logs and counts requests.

    It logs method, route name, status, duration and actor. A path may contain ids and a query string may contain
    texts, so neither is logged.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, telemetry: Telemetry | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._telemetry is None:
            await self._served(scope, receive, send)
        else:
            with self._telemetry.request(_carrier(scope)) as request:
                try:
                    request.status = await self._served(scope, receive, send)
                finally:
                    request.operation = _operation(scope)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> int:
        started = time.perf_counter()
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - started
            operation = _operation(scope)
            grant = grant_of(scope.get("state", {}))
            self._metrics.served(operation, status, seconds)
            actor = "-" if grant is EVERYTHING else grant.actor
            _LOG.info("%s %s %d %.1f ms by %r", _method(scope), operation, status, seconds * 1000, actor)
        return status


def _carrier(scope: Scope) -> dict[str, str]:
    """The headers that name the trace of the caller."""
    return {
        name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"] if name in _TRACE_HEADERS
    }


def _operation(scope: Scope) -> str:
    """The name of the matched route. The set of names is closed, so that arbitrary paths create no new counters."""
    route = scope.get("route")
    name = getattr(route, "operation_id", None) or getattr(route, "name", None)
    return str(name) if name else "other"


def _method(scope: Scope) -> str:
    method = str(scope["method"])
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"
