"""Stores of mcp-memory-service: one SQLite file, read without its vector extension.

Tables with vectors and full text are not read. Deleted and superseded memories are omitted, as the tool does itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wellkept.adapters.databases import looking_at
from wellkept.adapters.foreign_records import KINDS, Foreign, Found, Unread, texts_of, time_of
from wellkept.errors import InvalidInput
from wellkept.parsing import parsed_json

_NEEDED = ("id", "content", "content_hash", "tags", "memory_type", "metadata", "created_at")
_NO_TAG = "untagged"
_DEFAULT_STORE = "default"


def is_one(tables: Mapping[str, frozenset[str]]) -> bool:
    """Whether a database has the tables of mcp-memory-service."""
    return {"content", "content_hash"} <= tables.get("memories", frozenset())


def memories(file: Path) -> Iterator[Found]:
    """The memories of a store, oldest first.

    Raises:
        StorageError: The store is damaged, truncated, locked or has another layout.
    """
    with looking_at(file) as database:
        database.require({"memories": _NEEDED}, what="store of mcp-memory-service")
        rows = [dict(row) for row in database.rows("memories")]
    for row in rows:
        if not row.get("deleted_at") and not row.get("superseded_by"):
            yield _memory(row)


def _memory(row: Mapping[str, Any]) -> Found:
    digest = str(row["content_hash"])
    if not isinstance(row["content"], str):
        return Unread(raw=digest, why=InvalidInput("has no text", where=digest))
    store = row.get("store")
    tags = tuple(tag for tag in texts_of(row["tags"]) if tag != _NO_TAG)
    about = {"memory_type": row["memory_type"]} if row["memory_type"] else {}
    return Foreign(
        id=digest,
        text=row["content"],
        kind=KINDS.get(str(row["memory_type"]), ""),
        tags=tags,
        owner=store if isinstance(store, str) and store != _DEFAULT_STORE else "",
        recorded_at=time_of(row["created_at"]) or time_of(row.get("created_at_iso")),
        metadata={**_metadata(row["metadata"]), **about},
    )


def _metadata(text: object) -> dict[str, Any]:
    """The metadata object; its raw text if it is not JSON."""
    if not isinstance(text, str) or not text:
        return {}
    try:
        value = parsed_json(text)
    except InvalidInput:
        return {"metadata": text}
    return value if isinstance(value, dict) else {"metadata": value}
