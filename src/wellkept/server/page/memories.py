"""Memories: the list, newest first, and the search with the parts of each score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from wellkept.frozen import frozen
from wellkept.server.page.frame import PAGE, Visit
from wellkept.types import Filter

STATUSES = (("active", "current"), ("superseded", "replaced"), ("archived", "forgotten"), ("wording", "wordings"))
PARTS = (("cosine", "meaning"), ("lexical", "words"), ("recency", "time"), ("importance", "importance"))
_END = "9999-12-31T00:00:00Z"
_BAR = 100
COUNTED = 500
"""Newest memories whose tags and sources are counted: counting those of all would read a large store for each look."""
_MOST_OFFERED = 12


@frozen
class Bar:
    """One part of a score: its name, its value from 0 to 1, and its weight."""

    name: str
    value: float
    weight: float

    @property
    def width(self) -> int:
        """Length of the bar."""
        return round(_BAR * max(0.0, min(1.0, self.value)))


def show(visit: Visit) -> Response:
    """A page of memories, or the hits of a search."""
    query = visit.asked("q")
    kinds, held, offered = _counts(visit)
    filters = {name: visit.asked(name) for name in ("kind", "tag", "source", "status", "since", "until")}
    values: dict[str, Any] = {"query": query, "kinds": kinds, "filters": filters, "offered": offered}
    values["statuses"] = [(name, label, held.get(name, 0)) for name, label in STATUSES]
    part = "hits" if query else "page"
    values |= {"hits": None, "page": None, part: _hits(visit, query, filters) if query else _page(visit, filters)}
    return visit.show("memories.html", **values)


@frozen
class Offered:
    """The most frequent tags and sources of the newest memories, with their counts.

    Attributes:
        among: How many memories were counted, at most `COUNTED`.
    """

    tags: list[tuple[str, int]]
    sources: list[tuple[str, int]]
    among: int


def _counts(visit: Visit) -> tuple[dict[str, int], Mapping[str, int], Offered]:
    """Current memories by kind, all of the policy's kinds and those that occur; memories by status; tags, sources."""
    store = visit.store()
    with store._ctx.storage.begin(store.namespace, write=False) as tx:
        census = tx.census()
        newest = tx.find(Filter(before=(datetime.max.replace(tzinfo=UTC), "")), limit=COUNTED)
    tags = Counter(tag for row in newest for tag in row.tags)
    sources = Counter(row.source for row in newest if row.source)
    offered = Offered(tags.most_common(_MOST_OFFERED), sources.most_common(_MOST_OFFERED), len(newest))
    named = sorted({*visit.frame.stores.kinds, *census.kinds} - {"*"})
    return {name: census.kinds.get(name, 0) for name in named}, census.statuses, offered


def _where(filters: dict[str, str]) -> dict[str, Any]:
    where: dict[str, Any] = {"statuses": [filters["status"] or "active"]}
    for name, field in (("kind", "kinds"), ("tag", "tags"), ("source", "sources")):
        if filters[name]:
            where[field] = [filters[name]]
    for name, field in (("since", "created_from"), ("until", "created_to")):
        if filters[name]:
            where[field] = filters[name]
    return where


def _page(visit: Visit, filters: dict[str, str]) -> dict[str, Any]:
    """One page, newest first."""
    place = visit.asked("before").partition(" ")
    before = [place[0], place[2]] if place[2] else [_END, "~"]
    found = visit.run("list", where={**_where(filters), "before": before}, limit=PAGE)
    rows = list(reversed(found.memories))
    older = f"{rows[-1].created_at} {rows[-1].id}" if rows and found.more else ""
    marks = {mark.a: mark for mark in found.marks}
    return {"rows": rows, "marks": marks, "wordings": found.wordings, "older": older, "first": not place[2]}


def _hits(visit: Visit, query: str, filters: dict[str, str]) -> list[dict[str, Any]]:
    """The hits of a search, with their scores in parts. Looking does not count as use."""
    found = visit.run("recall", query=query, where=_where(filters), limit=20, explain=True, touch=False)
    return [{"hit": hit, "bars": bars_of(hit)} for hit in found.hits]


def bars_of(hit: Any) -> list[Bar]:
    """The parts of a score in a fixed order, those that count first."""
    bars = [Bar(label, hit.parts[name], hit.weights.get(name, 0.0)) for name, label in PARTS if name in hit.parts]
    return sorted(bars, key=lambda bar: -bar.weight)
