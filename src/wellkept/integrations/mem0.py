"""mem0: a class with the methods of mem0's `Memory`, so that a program changes one import.

It needs neither mem0 nor a key. Memories of a user, agent and run lie in a namespace of their own, so nobody's are
compared with somebody else's.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from wellkept.errors import InvalidField, NotFound
from wellkept.integrations.keyed import is_current, now
from wellkept.integrations.mem0_facts import FactsFromModel, model_of, statements_in, text_of
from wellkept.integrations.mem0_filters import (
    ENTITIES,
    certain,
    entities_of,
    fits,
    known,
    meant,
    metadata_of,
    owners_of,
    scope_of,
)
from wellkept.types import ALL_STATUSES, Filter, Hit, Version, WriteResult
from wellkept.types import Memory as Row

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

Extractor: TypeAlias = Callable[[list[dict[str, Any]]], Sequence[str]]
"""Finds the facts in messages, for `infer=True`: your own function, which may ask a model."""

FIELD = "mem0"
"""The field of the metadata that holds user, agent, run and role."""
_EVENTS = {"duplicate": "NONE", "restated": "NONE", "rejected": "NONE", "reused": "NONE", "evolved": "UPDATE"}
"""What mem0 calls the outcome of a write; all others are `ADD`."""
_MOST = 1000


class Memory:
    """The methods of mem0's `Memory` over a store of Wellkept.

    Args:
        memories: An open store, or where it is; by default `mem0.db` in the working folder.
        extract: Finds the facts in messages, for `add` with `infer=True`, which is mem0's default: a function, or the
            address of a chat model such as `http://127.0.0.1:11434/v1?model=NAME`. Without it, what people state in
            the messages is kept, sentence by sentence.
        kind: The kind of the memories, which selects their policy.

    Example:
        >>> import wellkept
        >>> memory = Memory(wellkept.open("memory:", embedder="hashing"))
        >>> added = memory.add("Ada drinks green tea.", user_id="ada", infer=False)
        >>> [item["event"] for item in added["results"]]
        ['ADD']
        >>> found = memory.search("What does Ada drink?", filters={"user_id": "ada"})
        >>> [item["memory"] for item in found["results"]]
        ['Ada drinks green tea.']
    """

    def __init__(
        self, memories: MemoryStore | str = "mem0.db", *, extract: Extractor | str | None = None, kind: str = "fact"
    ) -> None:
        facts = FactsFromModel(extract) if isinstance(extract, str) else extract
        if isinstance(memories, str):
            import wellkept

            memories = wellkept.open(memories)
        self.memories = memories
        self._extract, self._kind = facts, kind

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """A store from a configuration of mem0.

        Args:
            config: `history_db_path` or `path` names the file. A model under `llm` that has an address and speaks
                OpenAI's interface finds the facts; the other models and the vector store are not needed.

        Raises:
            ConfigError: The model is on another machine, and nothing allows that.
        """
        known(
            "from_config", config, ("path", "history_db_path", "version", "llm", "embedder", "vector_store", "reranker")
        )
        path = str(config.get("path") or config.get("history_db_path") or "mem0.db")
        return cls(path, extract=model_of(config))

    def add(self, messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]], **given: Any) -> dict[str, Any]:
        """Store messages: each as it is with `infer=False`, else the facts in them.

        Args:
            messages: A text, a message with role and content, or several.
            **given: `user_id`, `agent_id`, `run_id` (at least one), `metadata`, `expiration_date`, `infer`.

        Returns:
            `results`: id, memory and event of each; `NONE` where the text was known or not worth keeping.

        Raises:
            InvalidField: No id, no messages, a picture, or another `memory_type`.
            ModelError: The model that finds facts cannot be asked; nothing is stored.
        """
        known("add", given, (*ENTITIES, "metadata", "expiration_date", "infer", "prompt", "memory_type"))
        entities, extra = certain(entities_of(given)), metadata_of(given)
        parts = _messages(messages)
        _refuse_more(given)
        if given.get("infer", True):
            facts = statements_in(self.memories, parts) if self._extract is None else self._extract(parts)
            parts = [{"role": "user", "content": fact} for fact in facts]
        said_in = [(part, text_of(part)) for part in parts if part.get("role") != "system"]
        memories = self._at(entities)
        expires = _expiry(given.get("expiration_date"))
        results = []
        for part, text in said_in:
            if not text:
                continue
            said = {"role": part.get("role", "user"), **({"actor_id": part["name"]} if part.get("name") else {})}
            metadata = {**extra, FIELD: {**entities, **said}}
            written = memories.remember(text, kind=self._kind, metadata=metadata, expires_at=expires)
            results.append(_added(written, text, said))
        return {"results": results}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """One memory by its id; None if there is none."""
        found = self._find(memory_id)
        return None if found is None or found[1].status != "active" else _item(found[1])

    def get_all(self, *, filters: Mapping[str, Any] | None = None, top_k: int = 20, **given: Any) -> dict[str, Any]:
        """Memories that match a filter, oldest first."""
        known("get_all", given, ("show_expired", "limit"))
        limit = _count(given.get("limit", top_k))
        rows = [row for memories in self._scope(filters) for row in self._rows(memories, filters, given)]
        return {"results": [_item(row) for row in sorted(rows, key=lambda row: (row.created_at, row.id))[:limit]]}

    def search(
        self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = 20, **given: Any
    ) -> dict[str, Any]:
        """Memories relevant to a query, best first.

        Args:
            query: Any text.
            filters: At least one of user_id, agent_id and run_id; further fields of the metadata, with `eq`, `ne`,
                `gt`, `gte`, `lt`, `lte`, `in`, `nin`, `contains`, `icontains`, and AND, OR, NOT.
            top_k: Number of memories.
            **given: `threshold`, the least score; `limit` for `top_k`; `rerank` and `explain` change nothing.
        """
        known("search", given, ("threshold", "rerank", "explain", "show_expired", "limit"))
        limit, least = _count(given.get("limit", top_k)), _threshold(given.get("threshold"))
        if not str(query or "").strip():
            raise InvalidField("Invalid query: cannot be empty or whitespace-only", where="query", todo="Write a query")
        hits: list[Hit] = []
        for memories in self._scope(filters):
            ids = tuple(row.id for row in self._rows(memories, filters, given))
            if ids and limit:
                hits += memories.recall(query, limit=min(limit, _MOST), where=Filter(ids=ids), min_score=least)
        hits.sort(key=lambda hit: -hit.score)
        return {"results": [{**_item(hit.memory), "score": hit.score} for hit in hits[:limit]]}

    def update(self, memory_id: str, data: str | None = None, **given: Any) -> dict[str, str]:
        """Edit a memory: its text, its metadata or its expiry; the history keeps what it was."""
        known("update", given, ("text", "metadata", "expiration_date"))
        memories, row = self._there(memory_id)
        text = given.get("text", data)
        changes: dict[str, Any] = {} if text is None else {"content": text}
        if given.get("metadata") is not None:
            changes["metadata"] = {**metadata_of(given), FIELD: row.metadata.get(FIELD, {})}
        if "expiration_date" in given:
            changes["expires_at"] = _expiry(given["expiration_date"])
        if not changes:
            raise InvalidField(
                "At least one of text, metadata, or expiration_date must be provided", where="update", todo="Give one"
            )
        memories.revise(row.id, **changes)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory; `restore` of the store brings it back, `erase` removes it for good."""
        memories, row = self._there(memory_id)
        memories.forget(row.id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Forget all memories of a user, agent or run."""
        filters = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        wanted = certain({name: value for name, value in filters.items() if value is not None})
        for memories in self._scope(wanted):
            for row in self._rows(memories, wanted, {"show_expired": True}):
                memories.forget(row.id)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """What became of a memory, oldest first."""
        memories, row = self._there(memory_id, of_any_status=True)
        told: list[dict[str, Any]] = []
        before: Version | None = None
        for version in memories.history(row.id):
            told.append(_change(row.id, before, version))
            before = version
        return told

    def reset(self) -> None:
        """Forget everything, of everybody."""
        for memories in self._all():
            for row in memories.list():
                memories.forget(row.id)

    def close(self) -> None:
        """Close the store."""
        self.memories.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------ where memories lie

    def _at(self, entities: Mapping[str, str]) -> MemoryStore:
        return self.memories.in_namespace(f"{self.memories.namespace}/{scope_of(entities)}")

    def _all(self) -> list[MemoryStore]:
        return [memories for _, memories in self._named()]

    def _named(self) -> list[tuple[dict[str, str], MemoryStore]]:
        """Every namespace with the user, agent and run that it belongs to."""
        below = f"{self.memories.namespace}/"
        names = [name for name in self.memories.namespaces() if name.startswith(below)]
        owned = [(owners_of(name.removeprefix(below)), self.memories.in_namespace(name)) for name in names]
        return [(owners, memories) for owners, memories in owned if owners]

    def _scope(self, filters: Mapping[str, Any] | None) -> list[MemoryStore]:
        """The namespaces that a filter may mean.

        Raises:
            InvalidField: It names no user, agent or run.
        """
        wanted = entities_of(filters or {})
        return [memories for owners, memories in self._named() if meant(wanted, owners)]

    def _rows(self, memories: MemoryStore, filters: Mapping[str, Any] | None, given: Mapping[str, Any]) -> list[Row]:
        moment = now(memories)
        rows = memories.list()
        shown = rows if given.get("show_expired") else [row for row in rows if is_current(row, moment)]
        return [row for row in shown if fits(_fields(row), filters or {})]

    def _find(self, memory_id: str) -> tuple[MemoryStore, Row] | None:
        for memories in self._all():
            for row in memories.list(Filter(ids=(memory_id,), statuses=ALL_STATUSES)):
                return memories, row
        return None

    def _there(self, memory_id: str, *, of_any_status: bool = False) -> tuple[MemoryStore, Row]:
        found = self._find(memory_id)
        if found is None or (found[1].status != "active" and not of_any_status):
            raise NotFound(f"Memory with id {memory_id} not found", where="memory_id", todo="See get_all for the ids")
        return found


class AsyncMemory:
    """As `Memory`, each method awaited; it runs in a thread.

    Example:
        >>> import asyncio, wellkept
        >>> async def work():
        ...     memory = AsyncMemory(wellkept.open("memory:", embedder="hashing"))
        ...     await memory.add("Ada drinks green tea.", user_id="ada", infer=False)
        ...     return len((await memory.get_all(filters={"user_id": "ada"}))["results"])
        >>> asyncio.run(work())
        1
    """

    def __init__(
        self, memories: MemoryStore | str = "mem0.db", *, extract: Extractor | str | None = None, kind: str = "fact"
    ) -> None:
        self.sync = Memory(memories, extract=extract, kind=kind)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """As `Memory.from_config`, which is not awaited either."""
        made = cls.__new__(cls)
        made.sync = Memory.from_config(config)
        return made

    async def add(
        self, messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]], **given: Any
    ) -> dict[str, Any]:
        """As `Memory.add`."""
        return await asyncio.to_thread(self.sync.add, messages, **given)

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """As `Memory.get`."""
        return await asyncio.to_thread(self.sync.get, memory_id)

    async def get_all(self, **given: Any) -> dict[str, Any]:
        """As `Memory.get_all`."""
        return await asyncio.to_thread(self.sync.get_all, **given)

    async def search(self, query: str, **given: Any) -> dict[str, Any]:
        """As `Memory.search`."""
        return await asyncio.to_thread(self.sync.search, query, **given)

    async def update(self, memory_id: str, data: str | None = None, **given: Any) -> dict[str, str]:
        """As `Memory.update`."""
        return await asyncio.to_thread(self.sync.update, memory_id, data, **given)

    async def delete(self, memory_id: str) -> dict[str, str]:
        """As `Memory.delete`."""
        return await asyncio.to_thread(self.sync.delete, memory_id)

    async def delete_all(self, **given: Any) -> dict[str, str]:
        """As `Memory.delete_all`."""
        return await asyncio.to_thread(self.sync.delete_all, **given)

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """As `Memory.history`."""
        return await asyncio.to_thread(self.sync.history, memory_id)

    async def reset(self) -> None:
        """As `Memory.reset`."""
        await asyncio.to_thread(self.sync.reset)

    async def close(self) -> None:
        """As `Memory.close`."""
        await asyncio.to_thread(self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _refuse_more(given: Mapping[str, Any]) -> None:
    """Refuse what would change the facts in a way that is not known here."""
    for name in ("memory_type", "prompt"):
        if given.get(name) is not None:
            todo = "Leave it out; Memory(extract=…) takes a function of yours"
            raise InvalidField(f"Invalid {name!r}: nothing here depends on it", where=name, todo=todo)


def _messages(given: object) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    found = [given] if isinstance(given, Mapping) else given
    if not isinstance(found, list | tuple) or not all(isinstance(one, Mapping) for one in found):
        raise InvalidField("messages must be str, dict, or list[dict]", where="messages", todo="Pass one of them")
    return [dict(one) for one in found]


def _expiry(given: object) -> datetime | None:
    """The end of a day, given as a date or YYYY-MM-DD; None for never."""
    if given is None or given == "":
        return None
    if isinstance(given, datetime):
        return given if given.tzinfo else given.replace(tzinfo=UTC)
    try:
        day = given if isinstance(given, date) else date.fromisoformat(str(given))
    except ValueError as error:
        todo = "Write YYYY-MM-DD"
        raise InvalidField(f"{str(given)[:40]!r} is not a date", where="expiration_date", todo=todo) from error
    return datetime.combine(day, time(), UTC) + timedelta(days=1)


def _count(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise InvalidField(f"Invalid top_k: {given!r}. Must be a non-negative integer", where="top_k", todo="Change it")
    return given


def _threshold(given: object) -> float:
    if given is None:
        return 0.1
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        what = f"Invalid threshold: {given!r}. Must be between 0 and 1 (inclusive)"
        raise InvalidField(what, where="threshold", todo="Change it")
    return float(given)


def _fields(row: Row) -> dict[str, Any]:
    """What a filter of mem0 sees of a memory."""
    own = row.metadata.get(FIELD)
    rest = {name: value for name, value in row.metadata.items() if name != FIELD}
    return {**rest, **(own if isinstance(own, Mapping) else {})}


def _item(row: Row) -> dict[str, Any]:
    own = row.metadata.get(FIELD)
    rest = {name: value for name, value in row.metadata.items() if name != FIELD}
    item = {
        "id": row.id,
        "memory": row.content,
        "hash": hashlib.md5(row.content.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest(),
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
        **(own if isinstance(own, Mapping) else {}),
    }
    if row.expires_at is not None:
        item["expiration_date"] = (row.expires_at - timedelta(microseconds=1)).date().isoformat()
    return {**item, "metadata": rest} if rest else item


def _added(written: WriteResult, text: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """What mem0 tells of a write, and the sentence of the gate."""
    shown = written.memory.content if written.memory is not None else text
    event = _EVENTS.get(written.outcome, "ADD")
    return {
        "id": written.id, "memory": shown, "event": event, "actor_id": None, **said, "message": written.message
    }  # fmt: skip


def _change(memory_id: str, before: Version | None, version: Version) -> dict[str, Any]:
    old, new = before.memory if before else None, version.memory
    gone = new is None or new.status in ("archived", "erased")
    event = "DELETE" if gone else "UPDATE" if old else "ADD"
    return {
        "id": f"{memory_id}:{version.seq}",
        "memory_id": memory_id,
        "old_memory": old.content if old else None,
        "new_memory": None if gone or new is None else new.content,
        "event": event,
        "created_at": new.created_at.isoformat() if new else None,
        "updated_at": version.at.isoformat(),
        "is_deleted": int(gone),
    }
