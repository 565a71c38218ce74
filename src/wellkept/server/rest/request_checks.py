"""The layers before the routes: origin, token, rate, body size and concurrency.

Plain ASGI, so that no part of a body is read before the token is checked, and then no more than the limits
allow.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from anyio import CapacityLimiter, move_on_after, to_thread
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellkept.errors import ConfigError, StorageError, WellkeptError
from wellkept.parsing import json_values
from wellkept.server.access import EVERYTHING, Grant, TokenKeeper
from wellkept.server.rest.limits import Buckets, Limits, depth
from wellkept.server.rest.problems import problem, too_many

log = logging.getLogger(__name__)

IMPORT_PATH = "/v1/import"
PAGE_PATH = "/page"
"""Where the page for people is; see `wellkept.server.page`."""
OPEN_PATHS = frozenset(
    {"/", "/healthz", "/readyz", "/openapi.json"}
    | {f"{PAGE_PATH}/{name}" for name in ("login", "enter", "page.css", "page.js", "icon.svg")}
)
"""Paths that need no token; they disclose nothing about stored data."""

current_grant: ContextVar[Grant] = ContextVar("wellkept_grant", default=EVERYTHING)
"""The grant of the current request, for apps mounted beside the routes."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SMALL = 1 << 14
_DRAINED = 64
_LOOKUP_THREADS = 8
"""Maximum number of concurrent token lookups; half of a process's database connections."""
_DRAIN_SECONDS = 10.0
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="wellkept"'}


class OriginCheck:
    """Rejects requests for other hosts, and requests from pages of other sites.

    A web page in a local browser can reach a server on loopback in two ways: by DNS rebinding, which the `Host`
    header reveals, or by submitting a form, which the `Origin` header reveals.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._hosts = frozenset(name.lower() for name in limits.hosts) | _LOOPBACK
        self._any_host = "*" in limits.hosts
        self._origins = frozenset(origin.lower().rstrip("/") for origin in limits.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope), scope["method"])
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers, method: str) -> Response | None:
        host = headers.get("host", "")
        if not self._any_host and _name(f"//{host}") not in self._hosts:
            return problem(
                403, "the server does not serve this host name", where="Host", todo="Add it to the allowed hosts"
            )
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site") == "cross-site"
        if origin is not None:
            known = origin.lower() in self._origins or urlsplit(origin).netloc.lower() == host.lower() != ""
            foreign = not known
        if foreign and (origin is not None or method not in _SAFE):
            return problem(
                403,
                "requests from pages of other sites are not allowed",
                where="Origin",
                todo="Add it to the allowed origins",
            )
        return None


class TokenCheck:
    """Requires a token when tokens are in use, and limits the rate of each token."""

    def __init__(self, app: ASGIApp, tokens: TokenKeeper | None, limits: Limits) -> None:
        self._app = app
        self._tokens = tokens
        self._own = CapacityLimiter(_LOOKUP_THREADS)
        self._buckets = (
            None if limits.rate is None else Buckets(rate=limits.rate, burst=limits.burst, clock=limits.clock)
        )
        self._logged = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] != "http" or self._tokens is None or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        secret = _bearer(Headers(scope=scope))
        # The lookup may read a changed file or query a database. It runs in a thread to keep the event loop free, and
        # outside the threads of requests, which may all be waiting for an unreachable database.
        try:
            grant = await to_thread.run_sync(self._tokens.grant_of, secret, limiter=self._own) if secret else None
        except (ConfigError, StorageError) as error:
            await self._unreadable_tokens(error)(scope, receive, send)
            return
        if grant is None:
            what = "the token is not valid" if secret else "a token is needed"
            todo = "Send `Authorization: Bearer` with a secret of `wellkept token create`"
            await problem(401, what, where="Authorization", todo=todo, headers=_CHALLENGE)(scope, receive, send)
            return
        wait = 0.0 if self._buckets is None else self._buckets.wait(hashlib.sha256(secret.encode()).hexdigest())
        if wait:
            await too_many(wait)(scope, receive, send)
            return
        scope.setdefault("state", {})["grant"] = grant
        mark = current_grant.set(grant)
        try:
            await self._app(scope, receive, send)
        finally:
            current_grant.reset(mark)

    def _unreadable_tokens(self, error: WellkeptError) -> Response:
        """The answer while tokens cannot be read; the reason is logged for the operator, once."""
        if str(error) != self._logged:
            self._logged = str(error)
            log.error("All requests are refused: %s", error)
        return problem(503, "tokens cannot be read", todo="Tell the server's operator; its log says why")


class BodyLimits:
    """Reads the body of a request within its limits, before it is parsed.

    The body of an import is passed on as a stream; the import limits its size itself.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        streamed = scope["path"] == IMPORT_PATH
        most = self._limits.import_bytes if streamed else self._limits.body_bytes
        if _content_length(headers) > most:
            await discard(_parts(receive), most)
            await too_large(most)(scope, receive, send)
            return
        if streamed or not _has_body(headers):
            await self._app(scope, receive, send)
            return
        parts = _parts(receive)
        body = await _read(parts, most)
        if body is None:
            await discard(parts, most)
            await too_large(most)(scope, receive, send)
            return
        refusal = self._shaped(body) if len(body) < _SMALL else await to_thread.run_sync(self._shaped, body)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _shaped(self, body: bytes) -> Response | None:
        """The error for a body whose nesting or number of values exceeds the limits."""
        deepest, most = self._limits.json_depth, self._limits.json_values
        if depth(body, deepest) > deepest:
            return problem(400, "the body is nested too deeply", where="body", todo=f"Use at most {deepest} levels")
        if json_values(body) > most:
            return problem(400, "the body holds too many values", where="body", todo=f"Send at most {most}")
        return None


class ConcurrencyLimit:
    """Limits the number of requests processed at the same time.

    Only authorised requests with a complete body count, so that connections alone cannot exhaust the limit.
    An import counts from its start.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._left = limits.at_once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        if self._left <= 0:
            await problem(503, "too many concurrent requests", todo="Send it again")(scope, receive, send)
            return
        self._left -= 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._left += 1


def grant_of(state: Mapping[str, Any]) -> Grant:
    """The grant of a request, from the state of its ASGI scope."""
    grant = state.get("grant", EVERYTHING)
    assert isinstance(grant, Grant)
    return grant


def too_large(most: int) -> Response:
    """The answer to a body above its limit."""
    headers = {"Connection": "close"}
    return problem(413, "the body is too large", where="body", todo=f"Send at most {most} bytes", headers=headers)


async def discard(parts: AsyncIterator[bytes], most: int) -> None:
    """Read the rest of a body within limits: a client that is cut off while sending never reads the answer."""
    left = _DRAINED * most
    with move_on_after(_DRAIN_SECONDS), suppress(ClientDisconnect):
        async for part in parts:
            left -= len(part)
            if left <= 0:
                return


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive. It ends after the last part; reading on would wait for the disconnect."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the client disconnected, and the body is incomplete
            return
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def _read(parts: AsyncIterator[bytes], most: int) -> bytes | None:
    """The whole body; None when it exceeds the limit, with the rest unread."""
    kept: list[bytes] = []
    size = 0
    async for part in parts:
        size += len(part)
        if size > most:
            return None
        kept.append(part)
    return b"".join(kept)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receive function that first returns the body already read, then further messages."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _bearer(headers: Headers) -> str:
    scheme, _, secret = headers.get("authorization", "").strip().partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _name(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # brackets without an IP address
        return ""


def _content_length(headers: Headers) -> int:
    length = headers.get("content-length", "")
    # A length with too many digits cannot be parsed as a number, and exceeds the limit anyway.
    return int(length[:18]) if length.isascii() and length.isdigit() else 0


def _has_body(headers: Headers) -> bool:
    return _content_length(headers) > 0 or "transfer-encoding" in headers
