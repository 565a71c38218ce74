"""Errors as problem documents (RFC 9457): the mapping from errors to statuses, and the code that writes them.

A problem contains the description, location and remedy of the error. It contains no stack trace and no text of a
memory. For internal errors, paths and addresses are written to the log only.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from wellkept import errors
from wellkept.errors import ConflictError, UndoBlocked, WellkeptError
from wellkept.types import Conflict
from wellkept.types.showing import count_of

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
_LOG = logging.getLogger("wellkept.rest")
_INSIDE = 500

STATUSES: Mapping[type[WellkeptError], int] = {
    WellkeptError: 500,
    # The input violates the document, ...
    errors.InvalidInput: 422,
    # ... or it is valid, but contradicts stored data or another part of the request.
    errors.SelfReference: 409,
    errors.CycleError: 409,
    errors.IllegalTransition: 409,
    errors.NotFound: 404,
    errors.AmbiguousId: 409,
    errors.ConflictError: 409,
    errors.UndoBlocked: 409,
    errors.IdempotencyMismatch: 409,
    errors.ConfigError: 500,
    errors.InvalidPolicy: 422,
    errors.InvalidRules: 422,
    errors.InvalidPlan: 409,
    errors.StorageError: 500,
    errors.Busy: 503,
    errors.Elsewhere: 503,
    errors.ReadOnly: 503,
    errors.NotPermitted: 403,
    errors.Full: 507,
    errors.ModelError: 502,
    errors.ModelUnavailable: 503,
}
"""The status of each error class; other classes have the status of their base class."""

DECLARED: Mapping[int, str] = {
    400: "The request is malformed: not JSON, not UTF-8, or nested too deeply",
    401: "No token, or an invalid one",
    403: "The token does not allow it, or the request's origin is not allowed",
    404: "There is no such memory, conflict, entry or run in this namespace, or the namespace is invalid",
    409: "It conflicts with what is stored: a conflict under `raise`, an ambiguous id, a key reused with "
    "another body, a change that is not allowed, a plan of another store; or two of its fields "
    "contradict each other",
    413: "The body is too large",
    415: "The media type of the body is not supported",
    422: "A field is invalid",
    429: "Too many requests with this token; `Retry-After` says when to send the next",
    500: "The server failed; nothing was partly written",
    502: "The model's answer cannot be used",
    503: "The store is busy, read-only or stopping; the same request may be sent again",
    507: "No space is left; nothing was partly written",
}
"""The errors that every operation may answer with."""


class ProblemDetails(BaseModel):
    """An error (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="`urn:wellkept:error:` and the name of the error; `about:blank` for one of HTTP.")
    title: str = Field(description="The kind of error, in words.")
    status: int
    detail: str = Field(description="What went wrong, in one sentence.")
    where: str = Field("", description="The field, header or id concerned.")
    todo: str = Field("", description="What to do about it.")


def responses() -> dict[int | str, dict[str, Any]]:
    """The error responses of an operation, for the OpenAPI document."""
    schema = {"$ref": "#/components/schemas/ProblemDetails"}
    described: dict[int | str, dict[str, Any]] = {
        status: {"description": words, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status, words in DECLARED.items()
    }
    for status in (429, 503):
        described[status]["headers"] = {
            "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}
        }
    return described


def status_of(error: WellkeptError) -> int:
    """The HTTP status of an error.

    Example:
        >>> status_of(errors.EmptyContent("The text is empty")), status_of(errors.Busy("locked"))
        (422, 503)
    """
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def of_error(error: WellkeptError, *, status: int = 0) -> Response:
    """Convert an error to a problem document.

    Args:
        error: The error.
        status: Overrides the status of the error; 0 to keep it.
    """
    status = status or status_of(error)
    if status >= _INSIDE:
        # Paths and addresses of the server are not disclosed to callers.
        _LOG.error("%s: %s", type(error).__name__, error.what)
        detail, where, todo = f"{HTTPStatus(status).phrase}: {_words(type(error).__name__).lower()}", "", ""
    else:
        detail, where, todo = error.what, error.where, error.todo
    more: dict[str, Any] = {}
    match error:
        case ConflictError():
            # The message quotes the stored text; a caller with read access can fetch it by its id.
            found = [_reference(item) for item in error.conflicts if isinstance(item, Conflict)]
            detail = f"the text conflicts with {count_of(len(found), 'stored memory')}; nothing was written"
            where, more["conflicts"] = "content", found
        case errors.NotPermitted():
            where = todo = ""  # the address of the database is not disclosed to callers
        case UndoBlocked():
            more["entries"] = list(error.entries)
        case _:
            pass
    name = type(error).__name__
    more |= {"type": f"urn:wellkept:error:{name}", "title": _words(name)}
    return problem(status, detail, where=where, todo=todo, **more)


def problem(
    status: int,
    detail: str,
    *,
    where: str = "",
    todo: str = "",
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Create a problem document.

    Args:
        status: HTTP status.
        detail: The problem, in one sentence.
        where: The field, header or id concerned.
        todo: The remedy.
        headers: Further headers.
        **more: Further members; `type` and `title` have defaults.
    """
    document: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    document |= {"detail": detail, "where": where, "todo": todo, **more}
    sent = dict(headers or {})
    if status == 503:
        sent.setdefault("Retry-After", str(RETRY_SECONDS))
    # ASCII, so that a lone surrogate from the request, quoted in the error, can be sent back.
    return Response(json.dumps(document), status_code=status, media_type=MEDIA_TYPE, headers=sent)


def too_many(seconds: float) -> Response:
    """The answer to a request above the rate limit."""
    wait = max(1, math.ceil(seconds))
    headers = {"Retry-After": str(wait)}
    return problem(429, "too many requests with this token", todo=f"Wait {wait} s", headers=headers)


def install(app: FastAPI) -> None:
    """Make an application answer all errors with problem documents."""
    app.add_exception_handler(WellkeptError, _wellkept)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)


def _wellkept(request: Request, error: Exception) -> Response:
    assert isinstance(error, WellkeptError)
    return of_error(error)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    match error.status_code:
        case 404:
            return problem(404, "no such path", todo="See /openapi.json")
        case 405:
            allowed = methods_at(request)
            headers = {"Allow": ", ".join(allowed)}
            return problem(
                405, "this path does not support the method", todo=f"Use {' or '.join(allowed)}", headers=headers
            )
        case status:
            return problem(status, str(error.detail), headers=headers)


def methods_at(request: Request) -> list[str]:
    """The methods of all routes that match a path; the first matching route alone may lack some of them."""
    path = request.scope["path"]
    found: set[str] = set()
    for template, item in request.app.openapi()["paths"].items():
        if compile_path(template)[0].match(path):
            found |= {method.upper() for method in item}
    return sorted(found) or ["GET"]


def _invalid(request: Request, error: Exception) -> Response:
    """An error from FastAPI's own validation; the given value is not repeated."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")[:200]
    status = 400 if first["type"] == "json_invalid" else 422
    return problem(status, str(first["msg"]), where=where or "body", todo="See /openapi.json")


def _unexpected(request: Request, error: Exception) -> Response:
    """An internal error; the trace is written to the server's log and is not part of the answer."""
    return problem(500, "the server failed", todo="See its log")


def _reference(conflict: Conflict) -> dict[str, Any]:
    """A reference to a conflict, without its texts."""
    return {
        "kind": conflict.kind,
        "reason": conflict.reason,
        "memory_id": conflict.a,
        "similarity": conflict.similarity,
    }


def _words(name: str) -> str:
    """`IdempotencyMismatch` as `Idempotency mismatch`."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
    return spaced[:1].upper() + spaced[1:]
