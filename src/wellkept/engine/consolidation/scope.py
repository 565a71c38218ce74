"""The memories that a run reads, page by page by creation, then id."""

from __future__ import annotations

from wellkept.core.consolidation.findings import order_of
from wellkept.core.text.forms import slot_key
from wellkept.storage.port import Tx
from wellkept.types import Filter, Memory, Scope

_PAGE = 5_000


def rows_in(tx: Tx, scope: Scope) -> tuple[Memory, ...]:
    """The active memories of a scope, by (created_at, id); with a limit the newest of them."""
    found: list[Memory] = []
    after = None
    while True:
        page = tx.find(Filter(kinds=scope.kinds, created_from=scope.created_from, after=after), limit=_PAGE)
        found += [row for row in page if _fits(row, scope)]
        if len(page) < _PAGE:
            break
        after = (page[-1].created_at, page[-1].id)
    found.sort(key=order_of)
    return tuple(found if scope.limit is None else found[max(0, len(found) - scope.limit) :])


def _fits(row: Memory, scope: Scope) -> bool:
    if scope.created_to is not None and row.created_at >= scope.created_to:
        return False
    wanted = {slot_key(tag) for tag in scope.tags}
    return not wanted or not wanted.isdisjoint(slot_key(tag) for tag in row.tags)
