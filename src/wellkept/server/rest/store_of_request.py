"""Selects the store of a request from its headers and grant: namespace, session and actor."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from fastapi import Request
from fastapi.security import SecurityScopes
from starlette.datastructures import Headers
from starlette.responses import Response

from wellkept.engine.base.inputs import check_namespace
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import InvalidInput
from wellkept.server.access import EVERYTHING, Grant, allowed, home
from wellkept.server.access.grants import Scope, covers_all
from wellkept.server.access.headers import NAMESPACE as NAMESPACE
from wellkept.server.access.headers import SESSION as SESSION
from wellkept.server.access.headers import read_header as read_header
from wellkept.server.access.headers import session_of
from wellkept.server.access.one_namespace import NamespaceStore, bound
from wellkept.server.rest.conforming import check_text_value
from wellkept.server.rest.problems import of_error, problem
from wellkept.server.rest.request_checks import grant_of
from wellkept.server.rest.schema import KEY_SCHEMA, NAMESPACE_SCHEMA, SESSION_SCHEMA

IDEMPOTENCY = "Idempotency-Key"
_HEADER_SCHEMAS = {NAMESPACE: NAMESPACE_SCHEMA, SESSION: SESSION_SCHEMA, IDEMPOTENCY: KEY_SCHEMA}
"""The schemas of these headers in their raw form."""


class NotAllowed(Exception):
    """The grant of a request does not cover it; the error is the same whether or not the namespace has contents.

    Args:
        todo: The requirement, when it is not the namespace or the scope.
    """

    def __init__(self, todo: str = "") -> None:
        self.todo = todo
        super().__init__("not allowed")

    @property
    def response(self) -> Response:
        """The answer to such a request; identical for every namespace, whatever its contents."""
        if self.todo:
            return problem(403, "the token does not allow this", where="Authorization", todo=self.todo)
        todo = f"Name a namespace of the token in the header {NAMESPACE}, or ask for a token with it and this scope"
        return problem(403, "the token does not allow this in this namespace", where=NAMESPACE, todo=todo)


class UnknownNamespace(InvalidInput):
    """A well-formed header that names no valid namespace; answered with 404 and the name of the original error."""

    def __init__(self, error: InvalidInput) -> None:
        self.error = error
        super().__init__(error.what, where=NAMESPACE, todo=error.todo)

    @property
    def response(self) -> Response:
        """The answer, as to the original error."""
        return of_error(type(self.error)(self.what, where=NAMESPACE, todo=self.todo), status=404)


class RequestStores:
    """Creates the store of each request.

    Args:
        store: The store whose file, embedder and policy all requests share.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    @property
    def kinds(self) -> Collection[str]:
        """The kinds of the policy."""
        return self._store._ctx.policy.kinds.keys()

    def home(self, grant: Grant) -> str:
        """The namespace of a request that names none."""
        return home(grant, self._store.namespace)

    def namespaces(self, grant: Grant) -> tuple[str, ...]:
        """The namespaces with data that a grant may read, sorted."""
        held = bound(self._store._ctx, grant).storage.header().namespaces
        return tuple(name for name in held if allowed(grant, name, "read"))

    def store_of(self, headers: Headers, grant: Grant, scope: Scope) -> MemoryStore:
        """The store for the namespace and session of the headers, with the actor of the token.

        Raises:
            NotAllowed: The grant does not cover the namespace, or not with this scope.
            UnknownNamespace: The header is well-formed, but names no valid namespace.
            InvalidInput: A header is invalid.
        """
        for name, schema in _HEADER_SCHEMAS.items():
            if name in headers:
                check_text_value(name, headers[name], schema)
        namespace = _named(headers) or home(grant, self._store.namespace)
        if not allowed(grant, namespace, scope):
            raise NotAllowed
        ctx = bound(self._store._ctx, grant)
        ctx = replace(ctx, namespace=namespace, session=session_of(headers))
        if grant is not EVERYTHING:
            ctx = replace(ctx, actor=grant.actor)
        return MemoryStore(ctx) if covers_all(grant) else NamespaceStore(ctx)

    def __call__(self, request: Request, scopes: SecurityScopes) -> MemoryStore:
        """Like `store_of`, as a FastAPI dependency; the security scopes state what the route needs."""
        needed: Any = scopes.scopes[0] if scopes.scopes else "admin"
        return self.store_of(request.headers, grant_of(request.scope.get("state", {})), needed)


def _named(headers: Headers) -> str | None:
    """The namespace named by a request. A schema of bytes cannot state which texts are valid names, so an invalid
    name is not a malformed header: like an impossible id, it refers to nothing.
    """
    if headers.getlist(NAMESPACE)[1:]:
        read_header(headers, NAMESPACE)  # rejects a repeated header
    try:
        named = read_header(headers, NAMESPACE)
        return None if named is None else check_namespace(named)
    except InvalidInput as error:
        raise UnknownNamespace(error) from error
