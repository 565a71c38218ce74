"""The store of a call: its namespace, its session, and the permission of the caller.

Permission is decided from names alone before anything is read, so that a rejection does not disclose whether
the namespace contains anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from anyio import CapacityLimiter

from wellkept.errors import InvalidInput
from wellkept.frozen import frozen
from wellkept.server.large_requests import LARGE_AT_ONCE

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.server.access import Grant
    from wellkept.server.access.grants import Scope as Needed
    from wellkept.server.mcp.call_store import Tell

QUEUE_HEADER = "wellkept-queue"
_MCP_SESSION_HEADER = "mcp-session-id"
_ONLY_CLIENT = "mcp"


@frozen(kw_only=True)
class StoreAccess:
    """Access of a server's calls to the store.

    Attributes:
        opened: Returns the store, which may be opened by the first call.
        grant: Returns the grant of the current request; None permits everything, in the store's own
            namespace.
        few: Limiter of the threads for calls with long arguments.
    """

    opened: Callable[[], MemoryStore]
    grant: Callable[[], Grant] | None = None
    few: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(LARGE_AT_ONCE))

    def store(self, headers: Mapping[str, str] | None, scope: Needed, tell: Tell | None = None) -> MemoryStore:
        """The store for the caller of a request.

        Args:
            headers: Headers of the HTTP request; None for standard input.
            scope: The scope that the call needs: `read`, `write` or `admin`.
            tell: Callback for the progress of long calls.

        Raises:
            InvalidInput: The caller lacks permission, or a header is invalid.
            WellkeptError: The store cannot be opened.
        """
        from wellkept.server.mcp.call_store import CallStore

        store, actor, whole = self.opened(), "", True
        if self.grant is not None:
            from wellkept.server.access.grants import covers_all

            grant = self.grant()
            store = _granted(store, grant, headers or {}, scope)
            actor, whole = grant.actor, covers_all(grant)
        return CallStore(store.in_session(_session(headers)), actor, tell, whole=whole)


def wants_queue(headers: Mapping[str, str] | None) -> bool:
    """Whether a request queues its writes, for example while the client's agent is thinking.

    Raises:
        InvalidInput: The header is invalid.
    """
    from wellkept.operations.queued_writes import wants_queue_by_header

    return wants_queue_by_header((headers or {}).get(QUEUE_HEADER))


def _granted(store: MemoryStore, grant: Grant, headers: Mapping[str, str], scope: Needed) -> MemoryStore:
    from wellkept.engine.base.inputs import check_namespace
    from wellkept.server.access import allowed, home
    from wellkept.server.access.headers import NAMESPACE, read_header

    asked = read_header(headers, NAMESPACE)
    name = check_namespace(asked) if asked is not None else home(grant, store.namespace)
    if not allowed(grant, name, scope):
        raise InvalidInput(
            f"the token does not allow {scope} access in this namespace",
            where=NAMESPACE,
            todo="Name a namespace of the token, or use a token with this scope",
        )
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.server.access.one_namespace import bound

    ctx = bound(store._ctx, grant)
    seen = store if ctx is store._ctx else MemoryStore(ctx)
    return seen if name == store.namespace else seen.in_namespace(name)


def _session(headers: Mapping[str, str] | None) -> str:
    """The session of a call, used to recognise handed-out texts that come back as writes.

    Over standard input, one client uses one process. Over HTTP, the session named by the client applies, otherwise
    the session of the older protocol; the newer protocol has none.
    """
    if headers is None:
        return _ONLY_CLIENT
    from wellkept.server.access.headers import read_header, session_of

    own, mcp = session_of(headers), read_header(headers, _MCP_SESSION_HEADER)
    return own or (f"mcp {mcp}" if mcp else "")
