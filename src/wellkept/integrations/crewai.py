"""CrewAI: a storage for `Memory`, whose records are memories."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.engine.base.inputs import new_memory
from wellkept.errors import InvalidField
from wellkept.integrations.common.namespaces import Labels, labels_of, name_of
from wellkept.integrations.common.turns import query_of
from wellkept.integrations.frameworks import need
from wellkept.integrations.keyed import KeyedRows, drop, rewrite, rows_of, write
from wellkept.types import Filter, Memory

need("crewai")

from crewai.memory.types import MemoryRecord, ScopeInfo  # noqa: E402

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

FIELD = "crewai"
"""The field of the metadata that holds a record, and its vector if it is of another embedder."""
_DIMENSIONS = 64
_KNOWN = 10_000
"""Texts that a search can look up by their vector."""
_MOST = 1_000
_OWN = frozenset(("content", "embedding", "last_accessed"))
"""Fields of a record that its memory holds itself."""


class WellkeptStorage:
    """A storage for CrewAI's `Memory`: each record goes through the gate, and a search gives what holds now.

    A record that was saved is there, whatever the gate decides: `get_record` and lists give it exactly. Only a search
    leaves out what was replaced, and shows what is said twice once. Records of two scopes are never compared, nor
    those that are private to two sources.

    Args:
        memories: An open store. A scope is a namespace below that of `memories`.
        kind: The kind of the records, which selects their policy.

    Example:
        >>> import wellkept
        >>> from crewai.memory.types import MemoryRecord
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     storage = WellkeptStorage(memories, kind="fact")
        ...     storage.save([MemoryRecord(content="Ada's deploys run on port 8080.", scope="/ops")])
        ...     storage.save([MemoryRecord(content="Ada's deploys run on port 9090.", scope="/ops")])
        ...     [query] = storage.embedder(["port of Ada's deploys"])
        ...     [record.content for record, score in storage.search(query)], storage.count("/ops")
        (["Ada's deploys run on port 9090."], 2)
    """

    def __init__(self, memories: MemoryStore, *, kind: str = "note") -> None:
        self.root = memories
        self.embedder = TextKeys()
        self._kind = kind
        self._rows: dict[Labels, KeyedRows] = {}
        self._writing = threading.RLock()

    def memories(self, scope: str = "/") -> MemoryStore:
        """The memories of a scope, for `undo`, `history`, `conflicts` and the other verbs."""
        return self._of(_labels(scope)).memories

    # ------------------------------------------------------------------ writing

    def save(self, records: list[MemoryRecord]) -> None:
        """Save records; one with a known id replaces the former.

        All are checked before the first is written. Then each is a transaction of its own, as each is compared with
        those before it.

        Raises:
            InvalidInput: A record cannot be kept; nothing is saved.
        """
        with self._writing:
            for space, record, fields in [self._checked(record) for record in records]:
                self._save(space, record, fields)

    def update(self, record: MemoryRecord) -> None:
        """Replace the record of the same id; its former text stays in the history."""
        self.save([record])

    def _checked(self, record: MemoryRecord) -> tuple[KeyedRows, MemoryRecord, dict[str, Any]]:
        """Where a record goes, and the fields of its memory."""
        space = self._of(_labels(record.scope, record))
        fields: dict[str, Any] = {
            "importance": record.importance,
            "tags": list(record.categories),
            "source": record.source or "",
            "metadata": self._metadata(record),
        }
        new_memory(record.content, {"kind": self._kind, **fields}, space.memories._ctx.policy)
        return space, record, fields

    def _save(self, space: KeyedRows, record: MemoryRecord, fields: dict[str, Any]) -> None:
        rows = space.of(record.id)
        if rows:
            rewrite(space.memories, rows[-1], record.content, **fields)
        else:
            write(space.memories, record.content, kind=self._kind, **fields)
        for row in rows[:-1]:
            drop(space.memories, row)
        for other in self._spaces(None):  # it may have been in another scope
            if other is not space:
                for row in other.of(record.id):
                    drop(other.memories, row)

    def _metadata(self, record: MemoryRecord) -> dict[str, Any]:
        """The metadata of a record, and the fields that its memory has no place for.

        Raises:
            InvalidField: The metadata is no JSON.
        """
        try:
            held: dict[str, Any] = record.model_dump(mode="json", exclude=set(_OWN))
        except (TypeError, ValueError) as error:
            todo = "Use texts, numbers, booleans, None, lists and objects of them"
            raise InvalidField(f"a record is no JSON: {error}", where="metadata", todo=todo) from error
        given = held.pop("metadata")
        if record.embedding and self.embedder.text_of(record.embedding) is None:
            held["vector"] = base64.b64encode(np.asarray(record.embedding, dtype=np.float16).tobytes()).decode()
        return {**given, FIELD: held}

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget records; returns their number. `undo` brings them back."""
        count = 0
        with self._writing:
            for space in self._spaces(scope_prefix):
                for row in rows_of(space.memories):
                    record = _record(row)
                    chosen = record_ids is None or record.id in record_ids
                    if chosen and _fits(record, categories, metadata_filter) and _is_older(record, older_than):
                        drop(space.memories, space.memories.get(row.id, touch=False))
                        count += 1
        return count

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget all records of a scope, or all."""
        self.delete(scope_prefix)

    def touch_records(self, record_ids: list[str]) -> None:
        """Count records as used."""
        for space in self._spaces(None):
            for row in (row for record_id in record_ids for row in space.of(record_id)):
                space.memories.get(row.id)

    # ------------------------------------------------------------------ reading

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Current records, best first, with their scores.

        With `embedder` as embedder of `Memory`, they are found as `recall` finds them; with another embedder by the
        cosine of the vectors that came with them.
        """
        text = self.embedder.text_of(query_embedding)
        found: list[tuple[MemoryRecord, float]] = []
        for space in self._spaces(scope_prefix):
            if text is None:
                scored = _nearest(self._fitting(space, categories, metadata_filter), query_embedding)
            else:
                where = None
                if categories or metadata_filter:
                    fitting = self._fitting(space, categories, metadata_filter)
                    if not fitting:
                        continue
                    where = Filter(ids=tuple(row.id for row in fitting))
                asked = max(1, min(limit, _MOST))
                hits = space.memories.recall(text, limit=asked, where=where, min_score=min_score, touch=False)
                scored = [(hit.memory, hit.score) for hit in hits]
            found += [(_record(row), score) for row, score in scored if score >= min_score]
        return sorted(found, key=lambda one: -one[1])[:limit]

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """A record by its id; None if there is none."""
        for space in self._spaces(None):
            if (row := space.newest(record_id)) is not None:
                return _record(row)
        return None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Records of a scope, newest first."""
        if limit <= 0 or offset < 0:
            return []
        found = sorted(self._records(scope_prefix), key=lambda record: _moment(record.created_at), reverse=True)
        return found[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Number, categories and dates of the records of a scope, and the scopes in it."""
        records = list(self._records(scope))
        dates = sorted((record.created_at for record in records), key=_moment)
        return ScopeInfo(
            path=_path(_labels(scope)),
            record_count=len(records),
            categories=sorted({one for record in records for one in record.categories}),
            oldest_record=dates[0] if dates else None,
            newest_record=dates[-1] if dates else None,
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes directly in a scope that have records."""
        depth = len(_labels(parent)) + 1
        below = {_labels(record.scope)[:depth] for record in self._records(parent)}
        return sorted(_path(labels) for labels in below if len(labels) == depth)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The categories of a scope, with the number of their records."""
        return dict(Counter(one for record in self._records(scope_prefix) for one in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """Number of records of a scope."""
        return sum(1 for _ in self._records(scope_prefix))

    # ------------------------------------------------------------------ awaited

    async def asave(self, records: list[MemoryRecord]) -> None:
        """As `save`, in a thread."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self, query_embedding: list[float], *args: Any, **options: Any
    ) -> list[tuple[MemoryRecord, float]]:
        """As `search`, in a thread."""
        return await asyncio.to_thread(self.search, query_embedding, *args, **options)

    async def adelete(self, *args: Any, **options: Any) -> int:
        """As `delete`, in a thread."""
        return await asyncio.to_thread(self.delete, *args, **options)

    # ------------------------------------------------------------------ where records lie

    def _records(self, scope: str | None) -> Iterator[MemoryRecord]:
        for space in self._spaces(scope):
            yield from (_record(row) for row in rows_of(space.memories))

    @staticmethod
    def _fitting(
        space: KeyedRows, categories: list[str] | None, metadata_filter: dict[str, Any] | None
    ) -> list[Memory]:
        """The current memories of a namespace that match a filter."""
        return [row for row in space.memories.list() if _fits(_record(row), categories, metadata_filter)]

    def _spaces(self, scope: str | None) -> list[KeyedRows]:
        """The namespaces of a scope and of those in it."""
        prefix = _labels(scope or "/")
        root = self.root.namespace
        names = ((), *(labels_of(root, name) for name in self.root.namespaces()))
        return [self._of(labels) for labels in names if labels is not None and labels[: len(prefix)] == prefix]

    def _of(self, labels: Labels) -> KeyedRows:
        rows = self._rows.get(labels)
        if rows is None:
            memories = self.root.in_namespace(name_of(self.root.namespace, labels))
            rows = self._rows.setdefault(labels, KeyedRows(memories, _id_of))
        return rows


class TextKeys:
    """An embedder for CrewAI whose vectors name texts: the storage looks up the text, and compares texts.

    CrewAI hands a storage vectors only, and drops texts of one batch whose vectors are near: with vectors of a model
    it would drop an update that changes one number. So equal texts alone have near vectors here.

    Example:
        >>> keys = TextKeys()
        >>> [vector] = keys(["Tea is upstairs."])
        >>> keys.text_of(vector), keys.text_of([0.5] * 64)
        ('Tea is upstairs.', None)
    """

    def __init__(self) -> None:
        self._texts: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, input: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        return [self._vector(text) for text in input]

    def text_of(self, vector: Sequence[float]) -> str | None:
        """The text of a vector, as a query; None if the vector is of another embedder, or too many came since."""
        with self._lock:
            return self._texts.get(_key(vector))

    def _vector(self, text: str) -> list[float]:
        digest = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(_DIMENSIONS)
        vector = [(byte - 127.5) / 1024 for byte in digest]
        with self._lock:
            self._texts[_key(vector)] = query_of(text)
            while len(self._texts) > _KNOWN:
                self._texts.popitem(last=False)
        return vector


def _key(vector: Sequence[float]) -> bytes:
    return np.asarray(vector, dtype=np.float32).tobytes()


def _labels(scope: str, record: MemoryRecord | None = None) -> Labels:
    """The namespace of a scope below that of the store; a private record lies in one of its source."""
    if not isinstance(scope, str):
        raise InvalidField(f"{scope!r} is no scope", where="scope", todo="Use a path such as /team/ada")
    private = (f"{_PRIVATE}{record.source or ''}",) if record is not None and record.private else ()
    return (*(part for part in scope.split("/") if part), *private)


_PRIVATE = "\0"
"""Begins the last label of a namespace whose records are private; no scope has it."""


def _path(labels: Labels) -> str:
    return "/" + "/".join(labels)


def _id_of(row: Memory) -> str:
    held = row.metadata.get(FIELD)
    return str(held["id"]) if isinstance(held, Mapping) and "id" in held else row.id


def _record(row: Memory) -> MemoryRecord:
    """The record of a memory; one that something else wrote has its id, and its tags for categories."""
    held = row.metadata.get(FIELD)
    own = {name: one for name, one in held.items() if name != "vector"} if isinstance(held, Mapping) else {}
    said = {
        "id": row.id,
        "categories": list(row.tags),
        "metadata": {name: one for name, one in row.metadata.items() if name != FIELD},
        "importance": row.importance,
        "created_at": row.created_at,
        "source": row.source or None,
    }
    used = row.last_accessed_at or row.updated_at
    return MemoryRecord.model_validate({**said, **own, "content": row.content, "last_accessed": used})


def _nearest(rows: Sequence[Memory], query: Sequence[float]) -> list[tuple[Memory, float]]:
    """Memories with the cosine of their vector and another; those without a vector of that length are left out."""
    wanted = np.asarray(query, dtype=np.float32)
    found: list[tuple[Memory, float]] = []
    for row in rows:
        held = row.metadata.get(FIELD)
        text = held.get("vector") if isinstance(held, Mapping) else None
        if not isinstance(text, str):
            continue
        vector = np.frombuffer(base64.b64decode(text), dtype=np.float16).astype(np.float32)
        if vector.shape == wanted.shape:
            norm = float(np.linalg.norm(vector) * np.linalg.norm(wanted))
            found.append((row, max(0.0, float(vector @ wanted) / norm) if norm else 0.0))
    return found


def _fits(record: MemoryRecord, categories: list[str] | None, wanted: Mapping[str, Any] | None) -> bool:
    chosen = not categories or any(one in record.categories for one in categories)
    return chosen and all(record.metadata.get(name) == value for name, value in (wanted or {}).items())


def _is_older(record: MemoryRecord, moment: datetime | None) -> bool:
    return moment is None or _moment(record.created_at) < _moment(moment)


def _moment(given: datetime) -> float:
    """A time that can be compared: CrewAI writes UTC without a zone."""
    return (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
