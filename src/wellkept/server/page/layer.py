"""The ASGI layer around the page: a session becomes the token it stands for, and errors become pages.

It lies outside all layers of REST, so a request of the page passes the same checks of host, origin, token, rate and
size as any other. Only paths of the page are affected: a cookie gives no access to REST or MCP.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellkept.server.page.sessions import Sessions, session_name
from wellkept.server.rest.problems import MEDIA_TYPE
from wellkept.server.rest.request_checks import PAGE_PATH

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
ErrorPage = Callable[[int, str, str], str]
"""Renders an error: status, what went wrong, and what to do."""
_MOST_PROBLEM = 1 << 16
_CHOOSE = "Choose a room of the page instead"


class PageLayer:
    """Lets a session act as its token on the paths of the page, and shows problem documents there as pages.

    Args:
        app: The application around which it lies.
        sessions: The sessions of browsers.
        error_page: Renders an error.
    """

    def __init__(self, app: ASGIApp, *, sessions: Sessions, error_page: ErrorPage) -> None:
        self._app = app
        self._sessions = sessions
        self._error_page = error_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] != "http" or not is_of_page(scope["path"]):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        secret = self._sessions.secret_of(session_name(headers))
        # A page is opened by its session only; a header beside it could come from elsewhere.
        kept = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        if secret:
            kept.append((b"authorization", f"Bearer {secret}".encode("latin-1", "replace")))
        answer = _Answer(send, lambda found: self._shown(scope, found))
        try:
            await self._app({**scope, "headers": kept}, receive, answer)
        except Exception:  # raised again after its answer, for the log of the server
            await answer.finish(scope, receive)
            raise
        await answer.finish(scope, receive)

    def _shown(self, scope: Scope, problem: dict[str, Any]) -> Response:
        status = int(problem.get("status", 500))
        if status == HTTPStatus.UNAUTHORIZED:
            back = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            wanted = f"?next={quote(back, safe='')}" if scope["method"] == "GET" and back != PAGE_PATH else ""
            target = f"{PAGE_PATH}/login{wanted}"
            if "hx-request" in Headers(scope=scope):  # a script asks for a part of a page
                return Response(status_code=status, headers={"HX-Redirect": target})
            return RedirectResponse(target, status_code=303)
        todo = _CHOOSE if status == HTTPStatus.NOT_FOUND else str(problem.get("todo", ""))
        text = self._error_page(status, str(problem.get("detail", "")), todo)
        return Response(text, status_code=status, media_type="text/html")


class _Answer:
    """Passes an answer on; a problem document is held back and rendered as a page instead."""

    def __init__(self, send: Send, shown: Callable[[dict[str, Any]], Response]) -> None:
        self._send = send
        self._shown = shown
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers.update(SECURITY_HEADERS)
            if headers.get("content-type", "") == MEDIA_TYPE:
                self._start = message
                return
        elif self._start is not None:
            self._body = (self._body + message.get("body", b""))[:_MOST_PROBLEM]
            return
        await self._send(message)

    async def finish(self, scope: Scope, receive: Receive) -> None:
        if self._start is None:
            return
        answer = self._shown(json.loads(self._body))
        before = MutableHeaders(raw=self._start["headers"])
        answer.headers.update(SECURITY_HEADERS)
        for name in ("retry-after", "cache-control", "x-content-type-options", "connection"):
            if name in before:
                answer.headers[name] = before[name]
        await answer(scope, receive, self._send)


def is_of_page(path: str) -> bool:
    """Whether a path belongs to the page.

    Example:
        >>> is_of_page("/page"), is_of_page("/page/inbox"), is_of_page("/pages"), is_of_page("/v1/memories")
        (True, True, False, False)
    """
    return path in ("/", PAGE_PATH) or path.startswith(f"{PAGE_PATH}/")
