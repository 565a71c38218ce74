"""Each verb as a call: its parameters as the JSON of its operation, and how its answer is read.

What a parameter may be is decided by the server; here stands only how it travels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from wellkept.client import from_json
from wellkept.client.exchange import Call, part
from wellkept.core.consolidation.plan_file import plan_from, plan_text
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.records.codec import to_plain
from wellkept.engine.consolidation.run_list import RunLine
from wellkept.errors import InvalidField
from wellkept.types import (
    BatchResult,
    Conflict,
    Filter,
    Graph,
    Hits,
    JournalEntry,
    Json,
    Link,
    Memory,
    NewMemory,
    Plan,
    Problem,
    Reached,
    Scope,
    Stats,
    UndoReport,
    Version,
    WriteResult,
)
from wellkept.types.packs import Pack
from wellkept.types.queue import Flushed, QueuedWrite

# --------------------------------------------------------------------------------------------
# Writing


def remember(content: str | NewMemory, fields: Mapping[str, Any]) -> Call[WriteResult]:
    """`remember`."""
    body = statement(content, fields)
    return Call(
        method="POST", path="/v1/memories", body=body, read=from_json.record(WriteResult), keyed=True, may_wait=True
    )


def check(content: str | NewMemory, fields: Mapping[str, Any]) -> Call[WriteResult]:
    """`check`."""
    body = statement(content, fields)
    return Call(method="POST", path="/v1/check", body=body, read=from_json.record(WriteResult), repeatable=True)


def remember_many(items: Iterable[str | NewMemory | Mapping[str, Any]], on_conflict: str | None) -> Call[BatchResult]:
    """`remember_many`; the same batch again changes nothing, so it may be sent again."""
    body = {"items": [_item(item) for item in items], **said({"on_conflict": on_conflict})}
    read = from_json.record(BatchResult)
    return Call(method="POST", path="/v1/memories/batch", body=body, read=read, repeatable=True, may_wait=True)


def revise(memory_id: str, changes: Mapping[str, Any]) -> Call[Memory]:
    """`revise`; not sent again, since a second change of the same fields is a second version."""
    return Call(method="PATCH", path=_memory(memory_id), body=plain(changes), read=from_json.record(Memory))


# --------------------------------------------------------------------------------------------
# Decisions and episodes


def record_decision(content: str, fields: Mapping[str, Any]) -> Call[WriteResult]:
    """`record_decision`."""
    return replace(_recorded("/v1/decisions", {"content": content, **fields}), may_wait=True)


def record_turn(response: str, fields: Mapping[str, Any]) -> Call[WriteResult]:
    """`record_turn`; not sent again, since a second time counts a second turn of the episode."""
    return replace(_recorded("/v1/turns", {"response": response, **fields}), keyed=False, may_wait=True)


def start_episode(content: str, fields: Mapping[str, Any]) -> Call[WriteResult]:
    """`start_episode`."""
    return _recorded("/v1/episodes", {"content": content, **fields})


def end_episode(episode_id: str, fields: Mapping[str, Any]) -> Call[Memory]:
    """`end_episode`; ending it again changes nothing."""
    path = f"/v1/episodes/{part(episode_id)}/end"
    return replace(_act(path, from_json.record(Memory), said(fields)), repeatable=True)


# --------------------------------------------------------------------------------------------
# Reading


def recall(query: str, fields: Mapping[str, Any]) -> Call[Hits]:
    """`recall`."""
    return _asked("/v1/recall", from_json.hits, {"query": query, **fields})


def pack(query: str, fields: Mapping[str, Any]) -> Call[Pack]:
    """`pack`."""
    return _asked("/v1/pack", from_json.record(Pack), {"query": query, **fields})


def subgraph(ids: Sequence[str], depth: int) -> Call[Graph]:
    """`subgraph`."""
    return _asked("/v1/links/subgraph", from_json.record(Graph), {"ids": list(ids), "depth": depth})


def get(memory_id: str, query: Mapping[str, Any]) -> Call[Memory]:
    """`get`."""
    return _read(_memory(memory_id), from_json.record(Memory), query)


def listing(query: Mapping[str, Any]) -> Call[tuple[Memory, ...]]:
    """`list`."""
    return _read("/v1/memories", from_json.records(Memory), query)


def history(memory_id: str) -> Call[tuple[Version, ...]]:
    """`history`."""
    return _read(f"/v1/history/{part(memory_id)}", from_json.records(Version))


def journal(query: Mapping[str, Any]) -> Call[tuple[JournalEntry, ...]]:
    """`journal`."""
    return _read("/v1/journal", from_json.records(JournalEntry), query)


def conflicts(query: Mapping[str, Any]) -> Call[tuple[Conflict, ...]]:
    """`conflicts`."""
    return _read("/v1/conflicts", from_json.records(Conflict), query)


def neighbors(memory_id: str, query: Mapping[str, Any]) -> Call[Reached]:
    """`neighbors`."""
    return _read(f"/v1/links/{part(memory_id)}", from_json.reached, query)


def stats() -> Call[Stats]:
    """`stats`."""
    return _read("/v1/stats", from_json.record(Stats))


def verify() -> Call[tuple[Problem, ...]]:
    """`verify`."""
    return _read("/v1/verify", from_json.records(Problem))


def runs() -> Call[tuple[RunLine, ...]]:
    """`runs`."""
    return _read("/v1/runs", from_json.records(RunLine))


# --------------------------------------------------------------------------------------------
# Acting. An act is sent again only where the second time would give the same answer.


def supersede(old_id: str, new_id: str) -> Call[int]:
    """`supersede`."""
    return _act(f"{_memory(old_id)}/supersede", _entry, {"new_id": new_id})


def restore(memory_id: str) -> Call[bool]:
    """`restore`."""
    return _act(f"{_memory(memory_id)}/restore", _truth)


def forget(memory_id: str) -> Call[int]:
    """`forget`."""
    return _act(f"{_memory(memory_id)}/forget", _entry)


def erase(memory_id: str) -> Call[int]:
    """`erase`."""
    return Call(method="DELETE", path=_memory(memory_id), read=_entry, repeatable=True)


def undo(entry: int) -> Call[int]:
    """`undo`."""
    return _act("/v1/undo", _entry, {"entry": entry})


def link(fields: Mapping[str, Any]) -> Call[Link]:
    """`link`; the same link twice is one."""
    return replace(_act("/v1/links", from_json.record(Link), plain(fields)), repeatable=True)


def unlink(query: Mapping[str, Any]) -> Call[int]:
    """`unlink`."""
    return Call(method="DELETE", path="/v1/links", query=_texts(query), read=_number)


def resolve(key: str, resolution: str) -> Call[Conflict]:
    """`resolve`."""
    return _act(f"/v1/conflicts/{part(key)}/resolve", from_json.record(Conflict), {"resolution": resolution})


# --------------------------------------------------------------------------------------------
# The queue


def queue_remember(content: str | NewMemory, fields: Mapping[str, Any]) -> Call[WriteResult]:
    """`queue.remember`; it may wait twice, and its key makes it written once."""
    return Call(
        method="POST", path="/v1/queue", body=statement(content, fields), read=from_json.record(WriteResult), keyed=True
    )


def queue_pending() -> Call[tuple[QueuedWrite, ...]]:
    """`queue.pending`."""
    return _read("/v1/queue", from_json.records(QueuedWrite))


def queue_flush(*, again: bool) -> Call[Flushed]:
    """`queue.flush`; whichever of two arrived, nothing waits afterwards and nothing is written twice."""
    return _asked("/v1/queue/flush", from_json.record(Flushed), {"again": again})


def queue_drop(queued_id: str) -> Call[QueuedWrite]:
    """`queue.drop`."""
    return Call(method="DELETE", path=f"/v1/queue/{part(queued_id)}", read=from_json.record(QueuedWrite))


# --------------------------------------------------------------------------------------------
# Plans and runs


def plan(config: Consolidation | None, scope: Scope | None) -> Call[Plan]:
    """`plan`. Its answer is a plan file, which is read as strictly as one from a disk."""
    body = said({"config": None if config is None else _figures(config), "scope": scope})
    return Call(method="POST", path="/v1/plans", body=body, read=_plan, repeatable=True)


def execute(planned: Plan, fields: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """`execute`; a plan executed twice is executed once."""
    body = {"plan": json.loads(plan_text(planned)), **plain(fields)}
    return Call(method="POST", path="/v1/plans/execute", body=body, read=dict, repeatable=True)


def undo_run(run_id: str, fields: Mapping[str, Any]) -> Call[UndoReport]:
    """`undo_run`."""
    return _act(f"/v1/runs/{part(run_id)}/undo", from_json.record(UndoReport), plain(fields))


def similar(body: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """`POST /v1/nodes/check-similar`."""
    return _asked("/v1/nodes/check-similar", dict, body)


# --------------------------------------------------------------------------------------------
# Parts


def statement(content: str | NewMemory, fields: Mapping[str, Any]) -> dict[str, Json]:
    """A statement as JSON; of a `NewMemory` what differs from its defaults, and what is said beside it wins."""
    beside = {name: plain(value) for name, value in fields.items() if name != "on_conflict" or value is not None}
    own = _differing(content) if isinstance(content, NewMemory) else {"content": plain(content)}
    return {**own, **beside}


def said(fields: Mapping[str, Any]) -> dict[str, Json]:
    """What a caller said, as JSON; None is what is not said."""
    return {name: plain(value) for name, value in fields.items() if value is not None}


def plain(value: Any) -> Json:
    """A parameter as JSON. A time without a zone is UTC, as in the library.

    Raises:
        InvalidField: It has no JSON form.
    """
    match value:
        case datetime():
            return to_plain(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
        case Mapping():
            return {_name(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted(plain(item) for item in value)
        case NewMemory() | Filter() | Scope():
            return _differing(value)
        case _:
            return to_plain(value)


def _differing(record: NewMemory | Filter | Scope) -> dict[str, Json]:
    """The fields of a record that do not hold their default, and its content."""
    blank: Any = NewMemory(content="") if isinstance(record, NewMemory) else type(record)()
    values = {item.name: getattr(record, item.name) for item in fields_of(record)}
    return {name: plain(value) for name, value in values.items() if name == "content" or value != getattr(blank, name)}


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidField(f"{key!r} is not a name", where="key", todo="Use text")
    return key


def _item(item: str | NewMemory | Mapping[str, Any]) -> Json:
    return plain(item)


def _recorded(path: str, fields: Mapping[str, Any]) -> Call[WriteResult]:
    return Call(method="POST", path=path, body=plain(fields), read=from_json.record(WriteResult), keyed=True)


def _memory(memory_id: str) -> str:
    return f"/v1/memories/{part(memory_id)}"


def _read(path: str, read: Any, query: Mapping[str, Any] | None = None) -> Call[Any]:
    return Call(method="GET", path=path, query=_texts(query or {}), read=read, repeatable=True)


def _asked(path: str, read: Any, fields: Mapping[str, Any]) -> Call[Any]:
    return Call(method="POST", path=path, body=plain(fields), read=read, repeatable=True)


def _act(path: str, read: Any, body: Json = None) -> Call[Any]:
    return Call(method="POST", path=path, body={} if body is None else body, read=read)


def _texts(query: Mapping[str, Any]) -> dict[str, str]:
    """A query: what is not said is left out, an object is JSON text."""
    told = {name: plain(value) for name, value in query.items() if value is not None}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in told.items()}


def _figures(config: Consolidation) -> dict[str, Json]:
    """A configuration without rules of its own, which have no way back to TOML.

    Raises:
        InvalidField: It has such rules.
    """
    given = {item.name: getattr(config, item.name) for item in fields_of(config)}
    if given.pop("rules") != Consolidation().rules:
        raise InvalidField("local rules are not sent to a server", where="config", todo="Plan on the server")
    return said(given)


def _plan(answer: Json) -> Plan:
    return plan_from(json.dumps(answer))


def _entry(answer: Json) -> int:
    return int(answer["entry"])


def _number(answer: Json) -> int:
    return int(from_json.only(answer))


def _truth(answer: Json) -> bool:
    return bool(from_json.only(answer))
