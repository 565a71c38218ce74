"""The journal: what was decided, by whom and why, newest first, with undo and the texts that were dropped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from starlette.responses import Response

from wellkept.server.page.frame import PAGE, Visit, memories_by_id
from wellkept.server.page.texts import OUTCOMES, day

_LOOKED_THROUGH = 500
"""Entries that a filter looks through for one page."""
_AT_ONCE = 500


def show(visit: Visit) -> Response:
    """A page of entries, by day."""
    filters = {name: visit.asked(name) for name in ("outcome", "actor", "run", "only")}
    entries, older = _entries(visit, filters, visit.number("from"))
    rows = memories_by_id(visit, [one.memory_id for one in entries if one.memory_id])
    days, summaries = [], _summaries(visit)
    for name, part in groupby(entries, key=lambda one: day(one.at)):
        of_day = list(part)
        days.append((name, summaries.get(of_day[0].at[:10], ()), of_day))
    return visit.show(
        "journal.html",
        days=days,
        rows=rows,
        undone=_undone([*visit.run("journal", newest=_LOOKED_THROUGH).entries, *entries]),
        filters=filters,
        outcomes=OUTCOMES,
        older=older,
        start=visit.number("from"),
    )


def _entries(visit: Visit, filters: dict[str, str], top: int) -> tuple[list[Any], int]:
    """Entries below a number, newest first, and the number from which to go on; 0 at the end.

    The journal has no gaps, so a page needs no search. A filter looks through a bounded part of it.
    """
    filtered = any(filters.values())
    step = _AT_ONCE if filtered else PAGE
    found: list[Any] = []
    part: Sequence[Any] = ()
    if not top:
        part = visit.run("journal", newest=step).entries
        top = part[-1].seq + 1 if part else 1
    lowest = max(1, top - (_LOOKED_THROUGH if filtered else PAGE))
    while top > lowest:
        first = max(lowest, top - step)
        if not part:
            part = visit.run("journal", after=first - 1, limit=top - first).entries
        for one in sorted((one for one in part if one.seq < top), key=lambda one: -one.seq):
            top = one.seq
            if _fits(one, filters):
                found.append(one)
                if len(found) == PAGE:
                    return found, top if top > 1 else 0
        if not part:
            break
        part = ()
    return found, top if top > 1 else 0


def _summaries(visit: Visit) -> dict[str, list[tuple[str, int]]]:
    """How many decisions of which outcome each day has as a whole, most frequent first."""
    store = visit.store()
    with store._ctx.storage.begin(store.namespace, write=False) as tx:
        counted = tx.outcomes_by_day()
    found: dict[str, list[tuple[str, int]]] = {}
    for (name, outcome), count in sorted(counted.items(), key=lambda one: (-one[1], one[0])):
        found.setdefault(name, []).append((outcome, count))
    return found


def _undone(entries: Sequence[Any]) -> set[int]:
    undone: set[int] = set()
    for one in sorted(entries, key=lambda one: -one.seq):  # an undo that was itself undone takes nothing back
        if one.undoes and one.seq not in undone:
            undone.add(one.undoes)
    return undone


def _fits(entry: Any, filters: dict[str, str]) -> bool:
    return (
        filters["outcome"] in ("", entry.outcome)
        and filters["actor"] in ("", entry.actor)
        and filters["run"] in ("", entry.run_id)
        and (filters["only"] != "dropped" or (entry.dropped is not None and bool(entry.dropped.content)))
    )
