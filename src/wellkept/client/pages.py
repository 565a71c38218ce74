"""Verbs that take several requests: long lists come a page at a time, and large batches go in parts.

Such a verb is a generator. It gives each call, is sent its answer, and returns the value of the whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from wellkept.client import from_json
from wellkept.client.calls import call, plain, said
from wellkept.client.exchange import Call
from wellkept.core.records.fits import is_backward
from wellkept.engine.base.inputs import MAX_BATCH, MAX_LIMIT
from wellkept.parsing import json_values
from wellkept.types import BatchResult, Filter, ItemError, Json, Memory, Neighbour, Reached, WriteResult

T = TypeVar("T")
Calls: TypeAlias = Generator[Call[Any], Any, T]
_BATCH_BYTES, _BATCH_VALUES = 900_000, 40_000
"""Below what a server takes in one request, with room for what stands beside the items."""


def pages(name: str, kind: type[T], place: Callable[[T], str | int], **fields: Any) -> Calls[tuple[T, ...]]:
    """All items of a list.

    Args:
        name: Of the operation.
        kind: Of the items.
        place: Gives what the page after an item is asked for by.
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
    """`list`, in the direction that the filter asks for."""
    kept: list[Memory] = []
    while True:
        # What is no count is for the server to refuse.
        size = min(MAX_LIMIT, limit - len(kept)) if type(limit) is int else limit or MAX_LIMIT
        found, more = yield call("list", from_json.page(Memory), {"where": where, "limit": size})
        kept = [*found, *kept] if where is not None and is_backward(where) else [*kept, *found]
        if not more or not found or len(kept) == limit:
            return tuple(kept)
        where = _beyond(where or Filter(), found)


def reached(memory_id: str, **fields: Any) -> Calls[Reached]:
    """`neighbors`; each page names all ids that nobody holds."""
    kept: list[Neighbour] = []
    while True:
        after = {"after": kept[-1].memory.id} if kept else {}
        asked = {**fields, "memory_id": memory_id, "limit": MAX_LIMIT, **after}
        found, more = yield call("neighbors", from_json.reached, asked)
        kept += found
        if not more or not found:
            return Reached(kept, dangling=found.dangling)


def batch(items: Iterable[Any], on_conflict: str | None) -> Calls[BatchResult]:
    """`remember_many`; the same items again make the same parts, and change nothing."""
    results: list[WriteResult | None] = []
    errors: list[ItemError] = []
    counts: Counter[str] = Counter()
    for part in parts([plain(item) for item in items]):
        asked = {"items": part, **said(on_conflict=on_conflict)}
        done = yield call("remember_many", from_json.record(BatchResult), asked)
        errors += [replace(error, index=error.index + len(results)) for error in done.errors]
        results += done.results
        counts.update(done.counts)
    return BatchResult(tuple(results), tuple(errors), dict(counts))


def parts(items: Sequence[Json]) -> Iterator[list[Json]]:
    """Items in as many lists as a server takes them in; one empty list for none."""
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
    """The filter for the page after one."""
    if where.ids is not None:
        return replace(where, ids=where.ids[where.ids.index(found[-1].id) + 1 :])
    if where.before is not None:
        return replace(where, before=(found[0].created_at, found[0].id))
    return replace(where, after=(found[-1].created_at, found[-1].id))
