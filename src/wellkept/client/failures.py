"""Converts HTTP errors back to errors of the library, and lists the statuses that allow a retry."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import httpx2

from wellkept import errors
from wellkept.errors import (
    Busy,
    ConfigError,
    ConflictError,
    InvalidInput,
    NotFound,
    StorageError,
    UndoBlocked,
    WellkeptError,
)
from wellkept.parsing import parsed_json

URN = "urn:wellkept:error:"
PASSING = frozenset({429, 502, 503, 504})
"""Statuses after which a retry may succeed."""
_LONGEST = 2_000
_KINDS: Mapping[str, type[WellkeptError]] = {
    name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, WellkeptError)
}
BY_STATUS: Mapping[int, type[WellkeptError]] = {
    400: InvalidInput,
    401: ConfigError,
    403: ConfigError,
    404: NotFound,
    413: InvalidInput,
    422: InvalidInput,
    429: Busy,
    503: Busy,
}


def error_of(response: httpx2.Response) -> WellkeptError:
    """Convert an answer to an error, of the library's class when the answer names one.

    An answer is untrusted: it can only select one of the library's error classes by name, and its texts are
    truncated.

    Args:
        response: An unsuccessful answer.

    Returns:
        `ConflictError` with the references of the conflicts, `UndoBlocked` with its entries, or the named
        class. An answer without a known class name gets the class that matches its status.
    """
    problem = _problem(response)
    what = _text(problem, "detail") or _text(problem, "error") or f"the server answered {response.status_code}"
    where, todo = _text(problem, "where"), _text(problem, "todo")
    named = _text(problem, "type").removeprefix(URN)
    match _KINDS.get(named) or BY_STATUS.get(response.status_code, WellkeptError):
        case kind if kind is ConflictError:
            conflicts = problem.get("conflicts")
            return ConflictError(
                what, conflicts=conflicts if isinstance(conflicts, list) else (), where=where, todo=todo
            )
        case kind if kind is UndoBlocked:
            entries = [item for item in problem.get("entries") or () if isinstance(item, int)]
            return UndoBlocked(what, entries=entries, where=where, todo=todo)
        case kind:
            return kind(what, where=where, todo=todo)


def unreachable(error: httpx2.HTTPError, host: str) -> StorageError:
    """Error for a missing answer. It names the host only, because the URL may contain a password."""
    slow = isinstance(error, httpx2.TimeoutException)
    what = "the server did not answer in time" if slow else "the server cannot be reached"
    return StorageError(what, where=host, todo="Check that `wellkept serve` runs there")


def not_ours(host: str) -> StorageError:
    """Error for an answer that does not come from a Wellkept server."""
    return StorageError("the answer does not come from a Wellkept server", where=host, todo="Check the address")


def _problem(response: httpx2.Response) -> dict[str, Any]:
    try:
        read = parsed_json(response.content)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _text(problem: Mapping[str, Any], name: str) -> str:
    found = problem.get(name)
    return found[:_LONGEST] if isinstance(found, str) else ""
