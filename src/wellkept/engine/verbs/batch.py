"""Batch writes: read in order, with keys from the whole batch; an invalid item does not stop the others."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import asked_of
from wellkept.engine.gate import write
from wellkept.engine.gate.idempotency import payload_of
from wellkept.engine.queue import deferred
from wellkept.engine.transfer import import_lines
from wellkept.errors import WellkeptError
from wellkept.types import BatchResult, ItemError, NewMemory, OnConflict, WriteResult

Item = str | NewMemory | Mapping[str, Any]


def remember_many(
    ctx: Context, items: Iterable[Item], read: Callable[[Item], NewMemory], *, on_conflict: OnConflict | None
) -> BatchResult:
    """Write items in order; `read` validates one. Inside a `deferred` block, kinds that may be queued are."""
    given = list(items)
    taken: list[NewMemory] = []
    places: list[int] = []
    results: dict[int, WriteResult] = {}
    errors: list[ItemError] = []
    for place, item in enumerate(given):
        try:
            taken.append(read(item))
            places.append(place)
        except WellkeptError as error:
            errors.append(_item_error(place, item, error))
    ctx = asked_of(ctx, {new.kind for new in taken}, on_conflict)
    written = deferred.remember_all(ctx, _keyed(taken), write.Cause("remember_many"), on_conflict=on_conflict)
    for place, result in zip(places, written, strict=True):
        if isinstance(result, WriteResult):
            results[place] = result
        else:
            errors.append(_item_error(place, given[place], result))
    counts: Counter[str] = Counter(result.outcome for result in results.values())
    ordered = tuple(results.get(place) for place in range(len(given)))
    return BatchResult(ordered, tuple(sorted(errors, key=lambda error: error.index)), dict(counts))


def _keyed(items: Sequence[NewMemory]) -> list[NewMemory]:
    """The items with idempotency keys derived from the whole batch, where the caller gave none."""
    whole = hashlib.sha256("".join(payload_of(new) for new in items).encode()).hexdigest()[:24]
    return [
        new if new.idempotency_key else replace(new, idempotency_key=f"batch:{whole}:{place}")
        for place, new in enumerate(items)
    ]


def _item_error(place: int, item: object, error: WellkeptError) -> ItemError:
    content = item.get("content", "") if isinstance(item, Mapping) else getattr(item, "content", item)
    return ItemError(place, import_lines.shown(str(content)), type(error).__name__, str(error))
