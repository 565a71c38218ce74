"""What stands beneath a memory in a pack: the memories that it outdates, and the wording that fits the query better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wellkept.core.recall.bm25 import document_terms, query_terms
from wellkept.core.records.lifecycle import age_of
from wellkept.types import Conflict, Hit
from wellkept.types.packs import Group


def mark_between(newer: Group, older: Group) -> Conflict | None:
    """The mark by which a group, or a memory beneath it, outdates another group; the most probable one.

    A group whose shown text is no older than the one that marks it is not outdated: it was told again since.
    """
    told = {key: hit.memory for hit in (*newer.members, *newer.before) for key in hit.ids}
    found = (item for item in _marks(newer) if item.a in older.ids and item.b in told)
    held = [item for item in found if age_of(older.shown.memory) < age_of(told[item.b])]
    return max(held, key=lambda item: (item.probability or 0.0, item.key), default=None)


def with_older(newer: Group, older: Group) -> Group:
    """The newer group with the older one beneath it, after what stands there already."""
    hit = replace(older.shown, repeats=tuple(member.memory for member in older.repeats), conflicts=older.conflicts)
    return replace(newer, before=(*newer.before, hit))


def further_wording(hit: Hit) -> str:
    """The text of the wording that fits the query better, if it has a telling word that its head lacks; else empty.

    Example:
        >>> from datetime import UTC, datetime
        >>> from wellkept.types import Memory
        >>> day = datetime(2026, 3, 1, tzinfo=UTC)
        >>> head, same, more = (Memory(id=text, namespace="n", content=text, created_at=day, updated_at=day) for text in
        ...     ("Backups run at night.", "At night the backups run.", "The backups run at night, on the NAS."))
        >>> further_wording(Hit(head, 1.0, {}, wording=same)), further_wording(Hit(head, 1.0, {}, wording=more))
        ('', 'The backups run at night, on the NAS.')
    """
    if hit.wording is None:
        return ""
    known = {*document_terms(hit.memory.title), *document_terms(hit.memory.content)}
    return "" if known.issuperset(query_terms(hit.wording.content)) else hit.wording.content


def _marks(group: Group) -> Iterator[Conflict]:
    every = (*group.conflicts, *(item for hit in group.before for item in hit.conflicts))
    return (item for item in every if item.kind == "outdated" and item.resolution is None)
