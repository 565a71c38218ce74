"""Verbs that need several requests: long lists are fetched by page, and large batches are sent in parts.

Such a verb is a generator. It yields each call, receives its answer, and returns the combined value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from wellkept.client import from_json
from wellkept.client.calls import call, given_fields, plain
from wellkept.client.exchange import Call
from wellkept.core.records.fits import is_backward
from wellkept.engine.base.inputs import MAX_BATCH, MAX_LIMIT
from wellkept.parsing import json_values
from wellkept.types import BatchResult, Filter, ItemError, Json, Memory, Neighbour, Reached, WriteResult

T = TypeVar("T")
Calls: TypeAlias = Generator[Call[Any], Any, T]
_BATCH_BYTES, _BATCH_VALUES = 900_000, 40_000
"""Limits below those of a server's request, with a margin for the other fields."""


def pages(name: str, kind: type[T], place: Callable[[T], str | int], **fields: Any) -> Calls[tuple[T, ...]]:
    """Fetch all items of a list.

    Args:
        name: Name of the operation.
        kind: Type of the items.
        place: Returns the position of an item, which the next page starts after.
        **fields: The other parameters.
    """
    kept: list[T] = []
    while True:
        after = {"after": place(kept[-1])} if kept else {}
        found, more = yield call(name, from_json.page(kind), {**fields, "limit": MAX_LIMIT, **after})
        kept += found
        if not more or not found:
            return tuple(kept)


def listing(where: Filter | None, limit: int | None) -> Calls[tuple[Memory, ...]]:
    """Calls of `list`, in the direction of the filter."""
    kept: list[Memory] = []
    while True:
        # The server rejects a limit that is not a count.
        size = min(MAX_LIMIT, limit - len(kept)) if type(limit) is int else limit or MAX_LIMIT
        found, more = yield call("list", from_json.page(Memory), {"where": where, "limit": size})
        kept = [*found, *kept] if where is not None and is_backward(where) else [*kept, *found]
        if not more or not found or len(kept) == limit:
            return tuple(kept)
        where = _beyond(where or Filter(), found)


def reached(memory_id: str, **fields: Any) -> Calls[Reached]:
    """Calls of `neighbors`; each page lists all linked ids that do not exist."""
    kept: list[Neighbour] = []
    while True:
        after = {"after": kept[-1].memory.id} if kept else {}
        asked = {**fields, "memory_id": memory_id, "limit": MAX_LIMIT, **after}
        found, more = yield call("neighbors", from_json.reached, asked)
        kept += found
        if not more or not found:
            return Reached(kept, dangling=found.dangling)


def batch(items: Iterable[Any], on_conflict: str | None) -> Calls[BatchResult]:
    """Calls of `remember_many`; repeating the same items makes the same parts, and changes nothing."""
    results: list[WriteResult | None] = []
    errors: list[ItemError] = []
    counts: Counter[str] = Counter()
    for part in parts([plain(item) for item in items]):
        asked = {"items": part, **given_fields(on_conflict=on_conflict)}
        done = yield call("remember_many", from_json.record(BatchResult), asked)
        errors += [replace(error, index=error.index + len(results)) for error in done.errors]
        results += done.results
        counts.update(done.counts)
    return BatchResult(tuple(results), tuple(errors), dict(counts))


def parts(items: Sequence[Json]) -> Iterator[list[Json]]:
    """Split items into lists that a server accepts; no items give one empty list."""
    part: list[Json] = []
    size = values = 0
    for item in items:
        text = json.dumps(item).encode()
        size, values = size + len(text), values + json_values(text) + 1
        if part and (len(part) >= MAX_BATCH or size > _BATCH_BYTES or values > _BATCH_VALUES):
            yield part
            part, size, values = [], len(text), json_values(text) + 1
        part.append(item)
    yield part


def _beyond(where: Filter, found: Sequence[Memory]) -> Filter:
    """The filter of the next page."""
    if where.ids is not None:
        return replace(where, ids=where.ids[where.ids.index(found[-1].id) + 1 :])
    if where.before is not None:
        return replace(where, before=(found[0].created_at, found[0].id))
    return replace(where, after=(found[-1].created_at, found[-1].id))
