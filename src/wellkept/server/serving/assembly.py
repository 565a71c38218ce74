"""One application with REST, MCP and the page: the same tokens, the same hosts, one store.

MCP is a route among those of REST, so that its requests pass the same layers. In addition it needs its own
lifespan and the owner of a session: a session of the older protocol belongs to the token that opened it and does
not exist for any other token.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from anyio import CapacityLimiter, to_thread

from wellkept.errors import ConfigError, StorageError
from wellkept.frozen import frozen
from wellkept.server.access import EVERYTHING, Grant, TokenKeeper

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.integrations.opentelemetry import Telemetry
    from wellkept.server.page import Sessions

MCP_PATH = "/mcp"
_LOOKUP_THREADS = 8
NOTHING = Grant(actor="", namespaces=(), scopes=frozenset())
"""The grant of a call without a valid grant on a server with tokens: it permits nothing."""


@frozen(kw_only=True)
class Assembled:
    """An application, and the function that starts its shutdown.

    Attributes:
        app: The application, in ASGI.
        drain: Switches `/readyz` to 503.
    """

    app: ASGIApp
    drain: Callable[[], None]


def assembled(
    store: MemoryStore,
    *,
    tokens: TokenKeeper | None = None,
    toolset: Literal["default", "full"] = "default",
    hosts: tuple[str, ...] = (),
    rate: float | None = 100.0,
    sessions: Sessions | None = None,
    telemetry: Telemetry | None = None,
) -> Assembled:
    """Create an application with REST, MCP and the page over one store.

    Args:
        store: The store; its namespace and actor apply to requests that name none.
        tokens: The access tokens, required once one exists; None to require none.
        toolset: The tools offered to agents.
        hosts: Accepted host names, besides those of loopback; pages of these hosts may send requests.
        rate: Sustained requests per second for one token; None for no limit.
        sessions: The sessions of browsers; by default none is open yet.
        telemetry: As for `create_app`; it measures the verbs of MCP and the page too.
    """
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.routing import Route

    from wellkept.server.mcp.server import http_app
    from wellkept.server.page import with_page
    from wellkept.server.rest import Limits, create_app
    from wellkept.server.rest.health import Health

    asked = tokens if tokens is not None and tokens.required else None
    health = Health()
    limits = Limits(rate=rate, hosts=hosts, origins=tuple(f"https://{name}" for name in hosts if name != "*"))
    queue = store.queue
    rest = create_app(
        store, tokens=asked, limits=limits, health=health, queue_depth=lambda: queue.depth, telemetry=telemetry
    )
    store = store if telemetry is None else telemetry.observed(store)
    # The layers before it check Host and Origin, with one list for both.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    grant = _grant_of_request(tokens_are_asked=asked is not None)
    mcp = http_app(store, toolset=toolset, grant=grant, security=unguarded)
    # Its endpoint is added as a route: mounted, it would redirect /mcp to /mcp/, which not all clients follow.
    [endpoint] = [route.endpoint for route in mcp.routes if isinstance(route, Route) and route.path == "/"]
    owned = SessionOwner(endpoint)
    for path in (MCP_PATH, f"{MCP_PATH}/"):
        rest.router.routes.append(Route(path, endpoint=owned, name="mcp", include_in_schema=False))
    rest.router.lifespan_context = _both(rest.router.lifespan_context, mcp.router.lifespan_context)
    app = with_page(rest, store, tokens=asked, sessions=sessions)
    app = app if asked is not None or tokens is None else LateTokenCheck(app, tokens)
    return Assembled(app=app, drain=health.drain)


class LateTokenCheck:
    """Closes a server that was started without tokens as soon as a token is created.

    Args:
        app: An application that requires no token.
        tokens: The access tokens.
    """

    def __init__(self, app: ASGIApp, tokens: TokenKeeper) -> None:
        self._app = app
        self._tokens = tokens
        self._own = CapacityLimiter(_LOOKUP_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] == "http" and scope["path"] != "/healthz" and await self._is_closed():
            from wellkept.server.rest.problems import problem

            what = "the server was started without tokens, and tokens exist now"
            await problem(503, what, todo="Restart it, so that it requires them")(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _is_closed(self) -> bool:
        # The database may not answer, so the check blocks neither the event loop nor the threads of requests.
        return await to_thread.run_sync(self._has_tokens, limiter=self._own)

    def _has_tokens(self) -> bool:
        try:
            return self._tokens.required
        except (ConfigError, StorageError):  # an unreadable list counts as one with tokens
            return True


class SessionOwner:
    """Sets the owner of an MCP request in the form of the SDK, which separates sessions by owner.

    Args:
        app: The MCP endpoint.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its owner."""
        grant = scope.get("state", {}).get("grant")
        if grant is not None:
            from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
            from mcp.server.auth.provider import AccessToken

            # Two tokens may share a name, so the owner is derived from the secret, which itself is not passed on.
            credentials = dict(scope["headers"]).get(b"authorization", b"")
            owner = hashlib.sha256(credentials).hexdigest()
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=sorted(grant.scopes)))
        await self._app(scope, receive, send)


def _grant_of_request(*, tokens_are_asked: bool) -> Callable[[], Grant]:
    """The grant of the current request. Where tokens are required, a missing grant permits nothing."""
    from wellkept.server.rest.request_checks import current_grant

    def grant() -> Grant:
        found = current_grant.get()
        return NOTHING if tokens_are_asked and found is EVERYTHING else found

    return grant


def _both(outer: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Combine two lifespans."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[Any]:
        async with outer(app) as state, inner(app):
            yield state

    return lifespan
