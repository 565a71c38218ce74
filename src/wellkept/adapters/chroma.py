"""Chroma folders: documents and metadata are read from the SQLite file; vectors are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from wellkept.adapters.databases import looking_at
from wellkept.adapters.foreign_records import KINDS, Foreign, Found, Unread, json_of, share_of, texts_of, time_of
from wellkept.engine.transfer.import_lines import Relations
from wellkept.errors import InvalidInput

FILE = "chroma.sqlite3"
OLD_FILES = ("chroma-embeddings.parquet", "chroma-collections.parquet")
_DOCUMENT = "chroma:document"
_NEEDED = {
    "collections": ("id", "name"),
    "segments": ("id", "collection"),
    "embeddings": ("id", "segment_id", "embedding_id", "created_at"),
    "embedding_metadata": ("id", "key", "string_value", "int_value", "float_value", "bool_value"),
}
_MOST_LINKS = 1_000
_TIMES = ("created_at", "timestamp", "date", "time")
_OWNERS = ("user_id", "user", "agent_id")


def is_one(tables: Mapping[str, frozenset[str]]) -> bool:
    """Whether a database has Chroma's tables."""
    return "embedding_metadata" in tables and "collections" in tables


def memories(path: Path) -> Iterator[Found]:
    """The documents of all collections of a folder or its file, oldest first per collection.

    Raises:
        StorageError: The file is damaged, truncated, locked or has another layout.
    """
    with looking_at(path / FILE if path.is_dir() else path) as database:
        database.require(_NEEDED, what="store of Chroma")
        collections = {str(row["segment"]): str(row["name"]) for row in database.rows("collections")}
        about: dict[int, dict[str, Any]] = {}
        for row in database.rows("embedding_metadata"):
            about.setdefault(row["id"], {})[str(row["key"])] = _value(row)
        stored = [
            (collections.get(str(row["segment_id"]), ""), row["id"], str(row["embedding_id"]), row["created_at"])
            for row in database.rows("embeddings")
        ]
    stored.sort(key=lambda row: row[0])
    for name, number, key, written in stored:
        yield _memory(key, about.get(number, {}), (name, written))


def _value(row: Any) -> Any:
    if row["bool_value"] is not None:
        return bool(row["bool_value"])
    return next((row[name] for name in ("string_value", "int_value", "float_value") if row[name] is not None), None)


def _memory(key: str, about: Mapping[str, Any], where: tuple[str, object]) -> Found:
    collection, written = where
    text = about.get(_DOCUMENT)
    if not isinstance(text, str):
        return Unread(raw=key, why=InvalidInput("has a vector but no document", where=key))
    rest = {name: value for name, value in about.items() if not name.startswith("chroma:")}
    said = next((time for name in _TIMES if (time := time_of(rest.get(name)))), "")
    user = next((str(rest[name]) for name in _OWNERS if rest.get(name)), "")
    used = rest.get("access_count")
    return Foreign(
        id=key,
        text=text,
        title=str(rest.get("title") or ""),
        kind=KINDS.get(str(rest.get("memory_type") or rest.get("type") or rest.get("kind") or ""), ""),
        tags=texts_of(rest.get("tags")),
        owner="/".join(part for part in (collection, user) if part),
        recorded_at=said or time_of(written),
        updated_at=_told(rest, "updated_at", "last_modified"),
        last_accessed_at=_told(rest, "last_accessed_at", "last_accessed"),
        expires_at=_told(rest, "expires_at"),
        importance=share_of(rest.get("importance")),
        confidence=share_of(rest.get("confidence")),
        polarity=rest["polarity"] if rest.get("polarity") in (-1, 1) else 0,
        pinned=rest.get("pinned") is True,
        access_count=used if type(used) is int and used > 0 else 0,
        relations=_relations(key, rest),
        metadata=rest,
    )


def _told(about: Mapping[str, Any], *names: str) -> str:
    """A time under one of these names; 0 means none."""
    return next((time for name in names if about.get(name) and (time := time_of(about[name]))), "")


def _relations(key: str, about: Mapping[str, Any]) -> Relations | None:
    """Successor and links of a memory: `superseded_by`, and `links` as JSON with `to` and `rel`."""
    by, links = about.get("superseded_by"), json_of(about.get("links"))
    leads = [item for item in links if isinstance(item, dict)] if isinstance(links, list) else []
    edges = tuple((item["to"], str(item.get("rel") or "related")) for item in leads if isinstance(item.get("to"), str))
    at = _told(about, "superseded_at")
    return Relations(
        id=key,
        superseded_by=by if isinstance(by, str) else "",
        superseded_at=datetime.fromisoformat(at) if at else None,
        links=edges[:_MOST_LINKS],
    )
