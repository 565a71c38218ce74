"""Stores of mem0: the folder of Qdrant's local mode, and the history database.

The folder has one SQLite file per collection, with points as pickles (see `pickles.py`). The history records all events
of each memory; only the current state is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wellkept.adapters.databases import looking_at
from wellkept.adapters.foreign_records import KINDS, Foreign, Found, Unread, texts_of, time_of
from wellkept.adapters.pickles import Thing, as_json, data_of
from wellkept.errors import InvalidInput, NotAStore, SchemaTooNew, WellkeptError

STORAGE = "storage.sqlite"
_LEGACY = "storage.dbm"
_TEXTS = ("data", "memory", "text", "content", "document", "page_content")
"""Payload keys of the text: mem0's own, then those of other tools that use the same folder."""
_OWNERS = ("user_id", "agent_id", "run_id")
_NOT_SAID = frozenset(("hash", "text_lemmatized", "updated_at", "expiration_date", "id"))
_OWN_BOOKS = ("mem0migrations",)
_ENTITIES = "_entities"


def is_folder(path: Path) -> bool:
    """Whether a folder is a Qdrant local-mode folder."""
    return (path / "collection").is_dir() and (path / "meta.json").is_file()


def is_points(tables: Mapping[str, frozenset[str]]) -> bool:
    """Whether a database is a collection of such a folder."""
    return {"id", "point"} <= tables.get("points", frozenset())


def is_history(tables: Mapping[str, frozenset[str]]) -> bool:
    """Whether a database is mem0's history."""
    return {"memory_id", "new_memory"} <= tables.get("history", frozenset())


def memories(path: Path) -> Iterator[Found]:
    """The memories of a collection's file, or of the folder of all collections."""
    return points(path) if path.is_file() else folder(path)


def folder(path: Path) -> Iterator[Found]:
    """The memories of all collections of a folder, oldest first per collection.

    Raises:
        NotAStore: It holds no collection.
        SchemaTooNew: A collection has an unsupported format.
        StorageError: A file is damaged, truncated or locked.
    """
    collections = sorted(child for child in (path / "collection").iterdir() if child.is_dir())
    files = [child / STORAGE for child in collections if _is_wanted(child)]
    if not files:
        raise NotAStore(
            "this Qdrant folder holds no collection", where=str(path), todo="Name the folder your agent writes to"
        )
    for file in files:
        yield from points(file)


def _is_wanted(collection: Path) -> bool:
    """Whether a collection holds memories; mem0's internal collections and entity names do not."""
    name = collection.name
    if name in _OWN_BOOKS:
        return False
    if name.endswith(_ENTITIES) and (collection.parent / name.removesuffix(_ENTITIES)).is_dir():
        return False
    if (collection / STORAGE).is_file():
        return True
    if (collection / _LEGACY).exists():
        raise SchemaTooNew(
            "this collection is kept in the dbm format of qdrant-client before 1.1.7",
            where=str(collection),
            todo="Open it once with qdrant-client 1.1.7 to 1.15, which turns it into SQLite",
        )
    raise NotAStore(f"holds no {STORAGE}", where=str(collection), todo="Name the folder your agent writes to")


def points(file: Path) -> Iterator[Found]:
    """The memories of one collection."""
    with looking_at(file) as database:
        database.require({"points": ("point",)}, what="Qdrant collection")
        blobs = [row["point"] for row in database.rows("points")]
    name = file.parent.name
    seen: set[str] = set()
    read: list[tuple[str, Mapping[str, Any]]] = []
    for blob in blobs:  # newest first: older copies of a point are outdated
        try:
            point = _point(blob)
        except WellkeptError as error:
            yield Unread(raw="", why=error)
            continue
        if point[0] not in seen:
            seen.add(point[0])
            read.append(point)
    read.reverse()
    read.sort(key=lambda point: _said(point[1]))
    for point_id, payload in read:
        yield _memory(point_id, payload, name)


def _point(blob: object) -> tuple[str, dict[str, Any]]:
    if not isinstance(blob, bytes):
        raise InvalidInput("a point is not a pickle", where="points")
    value = data_of(blob)
    state = value.state if isinstance(value, Thing) else None
    if not isinstance(value, Thing) or value.cls.name != "PointStruct" or not isinstance(state, dict):
        raise InvalidInput("holds no point of Qdrant", where="points")
    fields = state.get("__dict__", state)  # pydantic keeps the fields next to its own bookkeeping
    payload = as_json(fields.get("payload") if isinstance(fields, dict) else None)
    if not isinstance(payload, dict):
        raise InvalidInput("a point has no payload", where="points")
    return str(as_json(fields.get("id"))), payload


def _memory(point_id: str, payload: Mapping[str, Any], collection: str) -> Found:
    key = next((name for name in _TEXTS if isinstance(payload.get(name), str)), None)
    if key is None:
        why = InvalidInput("has no text", where=point_id, todo=f"One of these keys is read: {', '.join(_TEXTS)}")
        return Unread(raw=str(payload), why=why)
    owner = next((payload[name] for name in _OWNERS if isinstance(payload.get(name), str) and payload[name]), "")
    rest = {name: value for name, value in payload.items() if name not in _NOT_SAID and name != key}
    return Foreign(
        id=point_id,
        text=payload[key],
        kind=KINDS.get(str(payload.get("memory_type") or payload.get("type") or ""), ""),
        tags=texts_of(payload.get("categories") or payload.get("tags")),
        agent=payload["agent_id"] if isinstance(payload.get("agent_id"), str) else "",
        owner=owner,
        recorded_at=_said(payload),
        expires_at=time_of(payload.get("expiration_date")),
        metadata={**rest, "collection": collection},
    )


def _said(payload: Mapping[str, Any]) -> str:
    """Time of the current text: an update replaces the text and keeps the creation date."""
    return time_of(payload.get("updated_at")) or time_of(payload.get("created_at"))


def history(file: Path) -> Iterator[Found]:
    """The current memories of mem0's history: the last text of each, unless deleted."""
    with looking_at(file) as database:
        database.require({"history": ("memory_id", "new_memory", "event")}, what="history of mem0")
        yield from _current(dict(row) for row in database.rows("history"))


def _current(events: Iterable[Mapping[str, Any]]) -> Iterator[Found]:
    last: dict[str, Mapping[str, Any]] = {}
    first: dict[str, str] = {}
    times: dict[str, int] = {}
    for event in events:
        key = str(event["memory_id"])
        first.setdefault(key, time_of(event.get("created_at")))
        times[key] = times.get(key, 0) + 1
        last[key] = event
    kept = [key for key, event in last.items() if event["event"] != "DELETE" and not event.get("is_deleted")]
    for key in kept:
        event = last[key]
        text = event["new_memory"]
        if not isinstance(text, str):
            yield Unread(raw=key, why=InvalidInput("has no text", where=key))
            continue
        about = {name: event.get(name) for name in ("actor_id", "role") if event.get(name)}
        yield Foreign(
            id=key,
            text=text,
            recorded_at=time_of(event.get("updated_at")) or first[key],
            metadata={**about, "versions": times[key]},
        )
