"""The store of a caller who may not see all of it, as far as it is the caller's and not the namespace's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wellkept.engine.verbs.store import MemoryStore

if TYPE_CHECKING:
    from wellkept.engine.base.context import Context
    from wellkept.server.access.grants import Grant
    from wellkept.types import Problem


def bound(ctx: Context, grant: Grant) -> Context:
    """The surroundings of a request whose transactions are those of its own token.

    Where the database knows tokens, it is asked at each transaction: what this process believes of a grant, or
    forgets to look at, opens nothing there. Elsewhere they come back as they are.

    Args:
        ctx: Those of the server.
        grant: What the request may do.
    """
    from wellkept.storage.ledger import Deferring
    from wellkept.storage.port import Guarded

    if not grant.secret or not isinstance(ctx.storage, Guarded):
        return ctx
    storage = ctx.storage.under(grant.secret)
    ledger = storage.ledger() if isinstance(storage, Deferring) else ctx.ledger
    return replace(ctx, storage=storage, ledger=ledger)


class NamespaceStore(MemoryStore):
    """A store whose verbs all stay in one namespace.

    Those of `MemoryStore` do so but for `verify`, which looks at the file as a whole: what is wrong in
    it is told with the names and ids of whichever namespace it is in.
    """

    def verify(self) -> tuple[Problem, ...]:
        """As the library's, of this namespace alone."""
        from wellkept.engine.base.retry import repeated
        from wellkept.engine.upkeep.housekeeping import verify

        return repeated(self._ctx, lambda: verify(self._ctx, whole=False))
