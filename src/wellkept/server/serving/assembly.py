"""One application of REST and MCP: the same tokens, the same hosts, one store.

MCP stands among the routes of REST, so that a request to it passes the same gates. What it needs
beside them is its own lifespan, and the owner of a session: a session of the older protocol belongs to
the token that opened it, and is not there for any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from anyio import CapacityLimiter, to_thread

from wellkept.errors import ConfigError, StorageError
from wellkept.server.access import EVERYTHING, Grant, TokenKeeper

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from wellkept.engine.verbs.store import MemoryStore

MCP_PATH = "/mcp"
_LOOKUP_THREADS = 8
NOTHING = Grant(actor="", namespaces=(), scopes=frozenset())
"""What a call without a grant may do on a server that has tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """An application, and how to tell it that the end has begun.

    Attributes:
        app: The application, in ASGI.
        drain: Turns `/readyz` to 503.
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
) -> Assembled:
    """REST and MCP over one store.

    Args:
        store: Its namespace and actor are those of requests that name none.
        tokens: Where every request is looked up, once there is one; None to ask for none.
        toolset: Which tools an agent sees.
        hosts: Names the server answers to, beside those of loopback; pages of these names may send requests.
        rate: Requests a second that one token may send for long; None for no limit.
    """
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.routing import Route

    from wellkept.server.mcp.server import http_app
    from wellkept.server.rest import Limits, create_app
    from wellkept.server.rest.health import Health

    asked = tokens if tokens is not None and tokens.required else None
    health = Health()
    limits = Limits(rate=rate, hosts=hosts, origins=tuple(f"https://{name}" for name in hosts if name != "*"))
    rest = create_app(store, tokens=asked, limits=limits, health=health, queue_depth=lambda: store.queue.depth)
    # Host and Origin are checked by the gates before it, by one list for both.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    grant = _grant_of_request(tokens_are_asked=asked is not None)
    mcp = http_app(store, toolset=toolset, grant=grant, security=unguarded)
    # Its endpoint becomes a route of ours: mounted, it would redirect /mcp to /mcp/, which not all clients follow.
    [endpoint] = [route.endpoint for route in mcp.routes if isinstance(route, Route) and route.path == "/"]
    owned = SessionOwner(endpoint)
    for path in (MCP_PATH, f"{MCP_PATH}/"):
        rest.router.routes.append(Route(path, endpoint=owned, name="mcp", include_in_schema=False))
    rest.router.lifespan_context = _both(rest.router.lifespan_context, mcp.router.lifespan_context)
    app: ASGIApp = rest if asked is not None or tokens is None else LateTokenCheck(rest, tokens)
    return Assembled(app=app, drain=health.drain)


class LateTokenCheck:
    """Keeps a server that was started without tokens from staying open after the first one was made.

    Args:
        app: Asks nobody.
        tokens: Where they are kept.
    """

    def __init__(self, app: ASGIApp, tokens: TokenKeeper) -> None:
        self._app = app
        self._tokens = tokens
        self._own = CapacityLimiter(_LOOKUP_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["path"] != "/healthz" and await self._is_closed():
            from wellkept.server.rest.problems import problem

            what = "the server was started without tokens, and tokens exist now"
            await problem(503, what, todo="Restart it, so that it requires them")(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _is_closed(self) -> bool:
        # A database may be gone and say nothing: not on the loop, and on no thread that requests have.
        return await to_thread.run_sync(self._has_tokens, limiter=self._own)

    def _has_tokens(self) -> bool:
        try:
            return self._tokens.required
        except (ConfigError, StorageError):  # a list that cannot be read is a list
            return True


class SessionOwner:
    """Says whose a request to MCP is, in the way its package knows: sessions are kept apart by it.

    Args:
        app: The endpoint of MCP.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its owner."""
        grant = scope.get("state", {}).get("grant")
        if grant is not None:
            from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
            from mcp.server.auth.provider import AccessToken

            # Two tokens may act under one name; what tells them apart is the secret, of which nothing is passed on.
            said = dict(scope["headers"]).get(b"authorization", b"")
            owner = hashlib.sha256(said).hexdigest()
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=sorted(grant.scopes)))
        await self._app(scope, receive, send)


def _grant_of_request(*, tokens_are_asked: bool) -> Callable[[], Grant]:
    """The grant of the request under way. One that got lost on its way opens nothing where tokens are asked for."""
    from wellkept.server.rest.gates import current_grant

    def grant() -> Grant:
        found = current_grant.get()
        return NOTHING if tokens_are_asked and found is EVERYTHING else found

    return grant


def _both(outer: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Two lifespans as one."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[Any]:
        async with outer(app) as state, inner(app):
            yield state

    return lifespan
