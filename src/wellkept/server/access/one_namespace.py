"""A store restricted to the namespace of a caller whose grant does not cover the whole store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wellkept.engine.verbs.store import MemoryStore

if TYPE_CHECKING:
    from wellkept.engine.base.context import Context
    from wellkept.server.access.grants import Grant
    from wellkept.types import Problem


def bound(ctx: Context, grant: Grant) -> Context:
    """The context of a request, with transactions under the request's own token.

    A database with access rules checks the token in each transaction, so a grant that this process holds in error,
    or fails to check, gives no access there. For other storages the context is returned unchanged.

    Args:
        ctx: The context of the server.
        grant: The grant of the request.
    """
    from wellkept.storage.ledger import Deferring
    from wellkept.storage.port import Guarded

    if not grant.secret or not isinstance(ctx.storage, Guarded):
        return ctx
    storage = ctx.storage.under(grant.secret)
    ledger = storage.ledger() if isinstance(storage, Deferring) else ctx.ledger
    return replace(ctx, storage=storage, ledger=ledger)


class NamespaceStore(MemoryStore):
    """A store whose verbs are all restricted to one namespace.

    In `MemoryStore` this holds for all verbs but `verify`, which checks the whole file and reports problems with the
    names and ids of any namespace.
    """

    def verify(self) -> tuple[Problem, ...]:
        """Like `MemoryStore.verify`, for this namespace only."""
        from wellkept.engine.base.retry import repeated
        from wellkept.engine.upkeep.housekeeping import verify

        return repeated(self._ctx, lambda: verify(self._ctx, whole=False))
