"""An item and the memory that holds it.

The text of an item is the content of its memory, so the gate and `recall` read it; key and value are in the metadata.
A memory that something else wrote has its id for a key and its text for a value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path

from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.integrations.common.namespaces import Labels
from wellkept.types import Memory

FIELD = "langgraph"
"""The field of the metadata that holds key and value."""
_USUAL = ("text", "content", "memory")
"""Fields that hold the text of an item, if it names none."""


@frozen
class Written:
    """What a put stores.

    Attributes:
        content: The text.
        record: Key, value, and how the item is kept.
        indexed: Whether a query finds it.
    """

    content: str
    record: Mapping[str, Any]
    indexed: bool


def written(op: PutOp, fields: Sequence[str]) -> Written:
    """The memory of an item.

    Raises:
        InvalidField: The value is no JSON object.
    """
    value = dict(op.value or {})
    try:
        whole = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        todo = "Put texts, numbers, booleans, None, lists and objects of them"
        raise InvalidField(f"the value of {op.key!r} is no JSON: {error}", where="value", todo=todo) from error
    found = [] if op.index is False else list(_texts(value, fields if op.index is None else op.index))
    record: dict[str, Any] = {"key": op.key, "value": json.loads(whole)}
    if not found:
        record["indexed"] = False
    if op.ttl is not None:
        record["ttl"] = float(op.ttl)
    return Written("\n".join(found) or whole, record, bool(found))


def _texts(value: Mapping[str, Any], paths: Sequence[str]) -> Iterator[str]:
    """The texts that are indexed: at the paths, or of a usual field, or all texts of the value."""
    if paths:
        yield from (text for path in paths if path != "$" for text in get_text_at_path(value, path) if text.strip())
        if "$" not in paths:
            return
    for name in _USUAL:
        held = value.get(name)
        if texts := list(_leaves(held)):
            yield from texts
            return
    yield from list(_leaves(value)) or ([json.dumps(value, ensure_ascii=False)] if value else [])


def _leaves(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and one.strip():
            yield one
        elif isinstance(one, Mapping):
            waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list | tuple):
            waiting.extend(reversed(one))


def record_of(row: Memory) -> Mapping[str, Any]:
    """Key and value of a memory."""
    held = row.metadata.get(FIELD)
    if isinstance(held, Mapping) and isinstance(held.get("key"), str) and isinstance(held.get("value"), Mapping):
        return held
    return {"key": row.id, "value": {"content": row.content, "kind": row.kind}}


def key_of(row: Memory) -> str:
    """The key of a memory."""
    return str(record_of(row)["key"])


def is_apart(row: Memory) -> bool:
    """Whether no query finds a memory, because its item is not indexed."""
    return record_of(row).get("indexed") is False


def item_of(row: Memory, labels: Labels) -> Item:
    """The item of a memory."""
    record = record_of(row)
    return Item(
        value=dict(record["value"]),
        key=record["key"],
        namespace=labels,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def search_item(row: Memory, labels: Labels, score: float | None) -> SearchItem:
    """The item of a memory that a search found."""
    record = record_of(row)
    return SearchItem(labels, record["key"], dict(record["value"]), row.created_at, row.updated_at, score)
