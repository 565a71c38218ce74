"""From the headers of a request to the store it works on: its namespace, its session, and who acts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from fastapi import Request
from fastapi.security import SecurityScopes
from starlette.datastructures import Headers
from starlette.responses import Response

from wellkept.engine.context import Context
from wellkept.engine.inputs import check_namespace
from wellkept.engine.store import MemoryStore
from wellkept.surfaces.access import EVERYTHING, Grant, allowed, home
from wellkept.surfaces.access.grants import Scope, covers_all
from wellkept.surfaces.access.headers import NAMESPACE as NAMESPACE
from wellkept.surfaces.access.headers import SESSION as SESSION
from wellkept.surfaces.access.headers import read_header as read_header
from wellkept.surfaces.access.headers import session_of
from wellkept.surfaces.access.walled import Walled
from wellkept.surfaces.rest.gates import grant_of
from wellkept.surfaces.rest.problems import problem

IDEMPOTENCY = "Idempotency-Key"


class NotAllowed(Exception):
    """The grant of the request does not cover what it asks for; said alike whether anything is there (I8)."""


class Door:
    """Gives each request its store.

    Args:
        store: Whose file, embedder and policy all requests share.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    @property
    def kinds(self) -> Collection[str]:
        """The kinds of memory that the policy knows."""
        return context_of(self._store).policy.kinds.keys()

    def store_of(self, headers: Headers, grant: Grant, scope: Scope) -> MemoryStore:
        """The store in the namespace and the session that the headers name, with the actor of the token.

        Raises:
            NotAllowed: The grant does not cover the namespace, or not this scope in it.
            InvalidInput: A header cannot be used.
        """
        named = read_header(headers, NAMESPACE)
        namespace = check_namespace(named) if named is not None else home(grant, self._store.namespace)
        if not allowed(grant, namespace, scope):
            raise NotAllowed
        ctx = replace(context_of(self._store), namespace=namespace, session=session_of(headers))
        if grant is not EVERYTHING:
            ctx = replace(ctx, actor=grant.actor)
        return MemoryStore(ctx) if covers_all(grant) else Walled(ctx)

    def __call__(self, request: Request, scopes: SecurityScopes) -> MemoryStore:
        """The same as a FastAPI dependency; the security scopes say what the route needs."""
        needed: Any = scopes.scopes[0] if scopes.scopes else "admin"
        return self.store_of(request.headers, grant_of(request.scope.get("state", {})), needed)


def context_of(store: MemoryStore) -> Context:
    """The surroundings of a store; sessions and actors of requests are put in their place."""
    return store._ctx


def not_allowed() -> Response:
    """The answer to what a grant does not cover."""
    return problem(403, "the token does not allow this", todo="Ask for a token with this namespace and scope")
