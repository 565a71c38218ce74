"""What a list says beside its memories: the wordings behind each, and the open marks of probable updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wellkept.core.records.conflicts import is_open
from wellkept.engine.base.context import Context
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import Conflict, Filter, Memory

_AT_ONCE = 500


@frozen
class Standing:
    """What stands beside some memories.

    Attributes:
        marks: The open marks of which one of them is the older or the newer end, by key.
        wordings: By the id of its head, the wordings behind it, oldest first; heads without any are missing.
    """

    marks: tuple[Conflict, ...]
    wordings: Mapping[str, tuple[Memory, ...]]


def standing(ctx: Context, rows: Sequence[Memory]) -> Standing:
    """What stands beside the memories."""
    ids, now = tuple(dict.fromkeys(row.id for row in rows)), ctx.clock()
    marks: dict[str, Conflict] = {}
    behind: dict[str, tuple[Memory, ...]] = {}
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            found = (item for item in tx.conflicts(ids=some) if item.kind == "outdated" and is_open(item, now))
            marks.update((item.key, item) for item in found)
            behind.update(wordings_behind(tx, some))
    return Standing(tuple(marks[key] for key in sorted(marks)), behind)


def wordings_behind(tx: Tx, heads: Iterable[str]) -> dict[str, tuple[Memory, ...]]:
    """The wordings behind each of the heads, oldest first.

    A memory that somebody linked by hand with the same relation is no wording.
    """
    ids = frozenset(heads)
    ends = {link.src for link in tx.links(tuple(ids)) if link.rel == "restates" and link.dst in ids}
    found = tx.find(Filter(ids=tuple(sorted(ends)), statuses=("wording",))) if ends else []
    behind: dict[str, list[Memory]] = {}
    for row in sorted(found, key=lambda row: (row.created_at, row.id)):
        if row.superseded_by in ids:
            behind.setdefault(row.superseded_by, []).append(row)
    return {head: tuple(rows) for head, rows in behind.items()}
