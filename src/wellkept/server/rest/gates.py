"""What a request passes before its route: where it comes from, whose it is, how often, how large.

Plain ASGI, so that nothing is read of a body before the token is known, and no more than the bounds
allow after that.
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
OPEN_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""What needs no token; it tells nothing of what is stored."""

current_grant: ContextVar[Grant] = ContextVar("wellkept_grant", default=EVERYTHING)
"""The grant of the request that is under way, for whatever is mounted beside the routes."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SMALL = 1 << 14
_DRAINED = 64
_LOOKUP_THREADS = 8
"""Tokens that are looked up at the same time; half of what a process connects to a database."""
_DRAIN_SECONDS = 10.0
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="wellkept"'}


class OriginCheck:
    """Refuses requests for another host, and pages of other sites.

    A page that a browser of this machine shows can reach a server on loopback: by a name that it has
    pointed there (the `Host` tells), or by sending a form (the `Origin` tells).
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._hosts = frozenset(name.lower() for name in limits.hosts) | _LOOPBACK
        self._any_host = "*" in limits.hosts
        self._origins = frozenset(origin.lower().rstrip("/") for origin in limits.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
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
    """Asks for a token where there are any, and counts what is sent with each."""

    def __init__(self, app: ASGIApp, tokens: TokenKeeper | None, limits: Limits) -> None:
        self._app = app
        self._tokens = tokens
        self._own = CapacityLimiter(_LOOKUP_THREADS)
        self._buckets = (
            None if limits.rate is None else Buckets(rate=limits.rate, burst=limits.burst, clock=limits.clock)
        )
        self._told = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http" or self._tokens is None or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        secret = _bearer(Headers(scope=scope))
        # Tokens are in a file that may have changed, or in a database: on a thread, so that the loop serves others,
        # and on one that no request has, since those may all wait for a database that is gone.
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
        """The answer while the list of tokens cannot be read; why is for whoever runs the server, and said once."""
        if str(error) != self._told:
            self._told = str(error)
            log.error("All requests are refused: %s", error)
        return problem(503, "tokens cannot be read", todo="Tell the server's operator; its log says why")


class BodyLimits:
    """Reads the body of a request within its bounds, before anything parses it.

    An import is passed on as it comes; it counts for itself.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
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
        """The refusal of a body whose lists and objects are beyond the bounds."""
        deepest, most = self._limits.json_depth, self._limits.json_values
        if depth(body, deepest) > deepest:
            return problem(400, "the body is nested too deeply", where="body", todo=f"Use at most {deepest} levels")
        if json_values(body) > most:
            return problem(400, "the body holds too many values", where="body", todo=f"Send at most {most}")
        return None


class ConcurrencyLimit:
    """Bounds how many requests are worked on at the same time.

    Only those count whose sender may send them and whose body is there, so that nobody can use the bound up
    by connecting. An import counts from its beginning.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._left = limits.at_once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
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
    """The grant of a request, from the state of its scope."""
    grant = state.get("grant", EVERYTHING)
    assert isinstance(grant, Grant)
    return grant


def too_large(most: int) -> Response:
    """The answer to a body beyond its bound."""
    headers = {"Connection": "close"}
    return problem(413, "the body is too large", where="body", todo=f"Send at most {most} bytes", headers=headers)


async def discard(parts: AsyncIterator[bytes], most: int) -> None:
    """Let a sender finish, in bounds: one who is cut off while sending never reads the answer."""
    left = _DRAINED * most
    with move_on_after(_DRAIN_SECONDS), suppress(ClientDisconnect):
        async for part in parts:
            left -= len(part)
            if left <= 0:
                return


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    """A body as it comes. It ends with its last part: who asks for more waits until the sender goes away."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the sender went away: what came is no whole body
            return
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def _read(parts: AsyncIterator[bytes], most: int) -> bytes | None:
    """A whole body, or None where it is larger than it may be; what of it is still to come is then left."""
    kept: list[bytes] = []
    size = 0
    async for part in parts:
        size += len(part)
        if size > most:
            return None
        kept.append(part)
    return b"".join(kept)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, once more; then whatever comes after it."""
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
    except ValueError:  # brackets that hold no address
        return ""


def _content_length(headers: Headers) -> int:
    said = headers.get("content-length", "")
    # More digits than any body has bytes: too long to be read as a number, and too large anyway.
    return int(said[:18]) if said.isascii() and said.isdigit() else 0


def _has_body(headers: Headers) -> bool:
    return _content_length(headers) > 0 or "transfer-encoding" in headers
